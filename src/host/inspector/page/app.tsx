import { dateOf, grouped, timeOfDay } from "../../../reducers/words.ts";
import { keptEvents, saveRecording } from "./kept-recording.ts";
import { toggleTheme } from "./keys.ts";
import { ChartsPanel } from "./panels/charts.tsx";
import { ComparePanel } from "./panels/compare.tsx";
import { EventDetailPanel } from "./panels/event-detail.tsx";
import { EventsPanel } from "./panels/events.tsx";
import { Help } from "./panels/help.tsx";
import { MemoryPanel } from "./panels/memory.tsx";
import { Transport } from "./panels/transport.tsx";
import {
  axis,
  connected,
  count,
  failure,
  follow,
  following,
  grows,
  helpShown,
  isBusy,
  isWide,
  overview,
  type Panel,
  panel,
  setAxis,
} from "./store.ts";
import { ClocksPlot } from "./timeline/clocks.tsx";
import { Hover, hovered, noteHover } from "./timeline/hover.tsx";
import { Minimap } from "./timeline/minimap.tsx";
import { StretchBar } from "./timeline/stretch-bar.tsx";
import { Swimlanes } from "./timeline/swimlanes.tsx";

/** The whole page: the time line above, the events and what is known of the selected one below. */
export function App() {
  if (!overview.value) return <p class="alone">{failure.value ?? "Reading…"}</p>;
  if (count.value === 0) return <p class="alone">No event yet.</p>;
  const shown = isWide.value && panel.value === "memory" ? "event" : panel.value;
  return (
    <>
      <Header />
      <section
        class="timeline"
        aria-label="Time line"
        onPointerMove={noteHover}
        onPointerLeave={() => {
          hovered.value = null;
        }}
      >
        <Minimap />
        <Swimlanes />
        <ClocksPlot />
        <Hover />
      </section>
      <Transport />
      <StretchBar />
      <main class={isWide.value ? "wide" : ""}>
        <EventsPanel />
        <section class="panel" aria-label="Selected event" aria-busy={isBusy.value}>
          <Tabs />
          {shown === "event" && <EventDetailPanel />}
          {shown === "charts" && <ChartsPanel />}
          {shown === "memory" && <MemoryPanel />}
          {shown === "compare" && <ComparePanel />}
        </section>
        {isWide.value && (
          <section class="panel beside" aria-label="Memory">
            <h2>Memory</h2>
            <MemoryPanel />
          </section>
        )}
      </main>
      {helpShown.value && <Help />}
    </>
  );
}

function Header() {
  const known = overview.value;
  if (!known) return null;
  const { source, notes, firstAt, lastAt } = known;
  return (
    <header>
      <h1>Memory Lanes</h1>
      <span class="source" title={source.name}>
        {source.kind} · {source.name}
      </span>
      <span class="muted">
        {grouped(count.value)} events, {dateOf(firstAt)} {timeOfDay(firstAt)} to{" "}
        {dateOf(lastAt) === dateOf(firstAt) ? "" : `${dateOf(lastAt)} `}
        {timeOfDay(lastAt)}
      </span>
      {notes.length > 0 && (
        <>
          <button type="button" class="notes" title="All notes" popovertarget="notes">
            {notes[0]}
          </button>
          <ul id="notes" popover="auto">
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
      {failure.value && <span class="failure">{failure.value}</span>}
      {known.reading && <span class="muted">reading…</span>}
      <span class="spring" />
      {source.saveAs !== null && <SaveButton name={source.saveAs} />}
      {grows.value && <FollowButton isLive={source.kind === "live"} />}
      <button
        type="button"
        title="The time line's axis (t)"
        onClick={() => setAxis(axis.value === "event" ? "time" : "event")}
      >
        by {axis.value}
      </button>
      <button type="button" title="Light, dark (d)" aria-label="Light or dark" onClick={toggleTheme}>
        ◐
      </button>
      <button
        type="button"
        title="Keys (?)"
        aria-label="Keys"
        onClick={() => {
          helpShown.value = true;
        }}
      >
        ?
      </button>
    </header>
  );
}

function SaveButton({ name }: { name: string }) {
  return (
    <button
      type="button"
      disabled={keptEvents.value === 0}
      title={`Save what has happened so far as a recording, ${name}; it holds no text`}
      onClick={() => saveRecording(name)}
    >
      Save recording
    </button>
  );
}

const KEPT = "What was shown here before can still be looked at";

function FollowButton({ isLive }: { isLive: boolean }) {
  if (!connected.value) {
    return (
      <strong class="gone" role="status" title={isLive ? `${KEPT}, and all of it can be saved` : KEPT}>
        {isLive ? "Pi has gone; this is as far as it came" : "The inspector has stopped"}
      </strong>
    );
  }
  return (
    <button
      type="button"
      class={following.value ? "live on" : "live"}
      aria-pressed={following.value}
      title={`Go to the newest event and follow ${isLive ? "Pi" : "the file"} (f)`}
      onClick={follow}
    >
      {following.value ? (isLive ? "● live" : "● following") : "○ follow"}
    </button>
  );
}

const TABS: { name: Panel; label: string; key: string }[] = [
  { name: "event", label: "Event", key: "e" },
  { name: "charts", label: "Charts", key: "c" },
  { name: "memory", label: "Memory", key: "y" },
  { name: "compare", label: "Compare", key: "v" },
];

function Tabs() {
  return (
    <fieldset class="tabs" aria-label="What to show of it">
      {TABS.filter(({ name }) => name !== "memory" || !isWide.value).map(({ name, label, key }) => (
        <button
          key={name}
          type="button"
          aria-pressed={panel.value === name}
          title={`${label} (${key})`}
          onClick={() => {
            panel.value = name;
          }}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}
