import { effect, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { LaneName } from "../../../../reducers/engine/lane-names.ts";
import { EVENT_LABELS, grouped, LANE_LABELS, timeOfDay } from "../../../../reducers/words.ts";
import type { EventFilter, EventPage, EventRow } from "../../history/viewer-data.ts";
import { askEvents, askPosition } from "../server-data.ts";
import { count, filter, following, LANES, select, selected } from "../store.ts";

const ROW = 22;
/** Browsers cut elements that are higher than some ten to thirty million pixels. */
const HIGHEST = 8_000_000;
const SPARE_ROWS = 20;

const page = signal<EventPage>({ matches: 0, searched: 0, from: 0, rows: [] });
/** The first row in sight, as a position among the matches */
const top = signal(0);
const rowsInSight = signal(20);
/** What the search field says, of which the filter hears a little later */
const typed = signal("");

const GROUPS: { label: string; types: string[] }[] = [
  { label: "entries", types: ["branch.extended", "branch.replaced"] },
  { label: "agent", types: ["agent.started", "turn.ended", "agent.settled"] },
  { label: "runs", types: ["run.demanded", "run.finished"] },
  {
    label: "compaction",
    types: [
      "compaction.started",
      "compaction.finished",
      "compaction.failed",
      "cache.expired",
      "cache.warmed",
    ],
  },
  { label: "session", types: ["session.opened", "session.closed", "model.selected"] },
];

/** The list of events. Only the rows in sight are ever on the page. */
export function EventsPanel() {
  const scroller = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const resized = new ResizeObserver(() => {
      rowsInSight.value = Math.max(1, Math.floor(element.clientHeight / ROW));
    });
    resized.observe(element);
    const stops = [effect(() => void loadRows()), effect(() => void showSelected())];
    return () => {
      resized.disconnect();
      for (const stop of stops) stop();
    };
  }, []);
  const { matches, from, rows } = page.value;
  useLayoutEffect(() => {
    const element = scroller.current;
    const place = placeOf(top.value, matches);
    // The scroll bar follows what is shown; a user's own scrolling is never further off than a row.
    if (element && Math.abs(element.scrollTop - place) > ROW) element.scrollTop = place;
  });
  const height = Math.min(HIGHEST, matches * ROW);
  const offset = placeOf(top.value, matches) - (top.value - from) * ROW;
  return (
    <section class="events" aria-label="Events">
      <FilterBar />
      <section
        class="scroller"
        aria-label="List of events"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        tabIndex={0}
        style={`--digits: ${String(count.value).length}`}
        ref={scroller}
        onWheel={({ deltaY }) => {
          if (deltaY < 0) following.value = false;
        }}
        onPointerDown={({ target, currentTarget }) => {
          // Nothing but the scroll bar is the scroller's own.
          if (target === currentTarget) following.value = false;
        }}
        onScroll={(event) => {
          top.value = positionAt(event.currentTarget.scrollTop, page.peek().matches);
        }}
      >
        {matches === 0 && <NoMatch searched={page.value.searched} />}
        <div style={{ height: `${height}px` }}>
          <ol style={{ transform: `translateY(${Math.max(0, offset)}px)` }}>
            {rows.map((row) => (
              <Row key={row.index} row={row} />
            ))}
          </ol>
        </div>
      </section>
    </section>
  );
}

function Row({ row: { index, number, at, type, modelled, words, decision, lanes } }: { row: EventRow }) {
  return (
    <li
      class={index === selected.value ? "selected" : ""}
      aria-current={index === selected.value}
      onPointerDown={() => select(index)}
      title={[modelled ? `${type}, modelled` : type, words, decision]
        .filter((part) => part !== "")
        .join("\n")}
    >
      <span class="number">{number}</span>
      <time>{timeOfDay(at)}</time>
      <span class="type">
        {modelled ? "~" : ""}
        {EVENT_LABELS[type]}
      </span>
      <span class={lanes.length > 0 ? "decision" : "words"}>
        {decision === "" ? words : `${words === "" ? "" : `${words} · `}${decision}`}
      </span>
    </li>
  );
}

function NoMatch({ searched }: { searched: number }) {
  if (searched === 0 || searched < count.value) return null;
  return (
    <p class="no-match">
      No event matches.{" "}
      <button type="button" title="Esc in the search" onClick={showAll}>
        Show all
      </button>
    </p>
  );
}

/** Takes the filter away, with what is being typed. */
function showAll(): void {
  clearTimeout(typing);
  typed.value = "";
  change({ types: [], lanes: [], text: "" });
}

function FilterBar() {
  const { types, lanes } = filter.value;
  return (
    <div class="filters">
      <input
        type="search"
        placeholder="Search (/): run, id, outcome, state…"
        aria-label="Search the events"
        value={typed.value}
        onInput={(event) => changeSoon(event.currentTarget.value)}
        onKeyDown={({ key }) => {
          if (key === "Escape") showAll();
        }}
      />
      <output class="muted">{matchWords(page.value)}</output>
      <div class="chips">
        {GROUPS.map((group) => (
          <Chip
            key={group.label}
            label={group.label}
            on={group.types.every((type) => types.includes(type))}
            toggle={(on) =>
              change({
                types: on ? [...types, ...group.types] : types.filter((type) => !group.types.includes(type)),
              })
            }
          />
        ))}
        <span class="muted">moved</span>
        {LANES.map((lane) => (
          <Chip
            key={lane}
            label={LANE_LABELS[lane]}
            name={`moved ${LANE_LABELS[lane]}`}
            on={lanes.includes(lane)}
            toggle={(on) =>
              change({ lanes: on ? [...lanes, lane] : lanes.filter((each: LaneName) => each !== lane) })
            }
          />
        ))}
      </div>
    </div>
  );
}

/** `1,234`, or `1,234 in 40 %` while the search goes on */
function matchWords({ matches, searched }: EventPage): string {
  const words = grouped(matches);
  const share = searched / Math.max(1, count.value);
  return share >= 1 ? words : `${words} in ${Math.floor(share * 100)} %`;
}

interface ChipProps {
  label: string;
  /** For who does not see what stands before it */
  name?: string;
  on: boolean;
  toggle: (on: boolean) => void;
}

function Chip({ label, name = label, on, toggle }: ChipProps) {
  return (
    <button type="button" class="chip" aria-label={name} aria-pressed={on} onClick={() => toggle(!on)}>
      {label}
    </button>
  );
}

function change(part: Partial<EventFilter>): void {
  filter.value = { ...filter.value, ...part };
  top.value = 0;
}

/** Long enough that a word in typing is one search. */
const TYPING_MS = 200;
let typing: ReturnType<typeof setTimeout> | undefined;

function changeSoon(text: string): void {
  typed.value = text;
  clearTimeout(typing);
  typing = setTimeout(() => change({ text }), TYPING_MS);
}

let asked = 0;

/** Loads the rows around those in sight, when they are not there yet or the source has grown; goes on while it is searched. */
async function loadRows(): Promise<void> {
  const wanted = filter.value;
  const first = Math.max(0, top.value - SPARE_ROWS);
  const size = rowsInSight.value + 2 * SPARE_ROWS;
  const events = count.value;
  if (events === 0) return;
  const turn = ++asked;
  for (let searched = 0; searched < events; ) {
    const answer = await askEvents(wanted, first, size).catch(() => undefined);
    if (!answer || turn !== asked) return;
    page.value = answer;
    searched = answer.searched;
  }
}

/** Keeps the selected event in sight. */
async function showSelected(): Promise<void> {
  const index = selected.value;
  const wanted = filter.value;
  const inSight = rowsInSight.value;
  if (count.value === 0) return;
  const isWanted = () => index === selected.peek() && wanted === filter.peek();
  const position = await askPosition(wanted, index, isWanted).catch(() => null);
  if (position === null || !isWanted()) return;
  const first = top.peek();
  if (position >= first && position < first + inSight) return;
  // With what comes before and after it, where there is room for that.
  const beside = Math.min(2, Math.floor((inSight - 1) / 2));
  top.value = Math.max(0, position < first ? position - beside : position - inSight + 1 + beside);
}

/** Where a row is in the scroller, and which row is at a place; the two differ from a plain product for very long lists. */
function placeOf(position: number, matches: number): number {
  const whole = matches * ROW;
  return whole <= HIGHEST ? position * ROW : (position / matches) * HIGHEST;
}

function positionAt(place: number, matches: number): number {
  const whole = matches * ROW;
  return Math.floor(whole <= HIGHEST ? place / ROW : (place / HIGHEST) * matches);
}
