import { countOf, EVENT_LABELS, grouped, LANE_LABELS, timeOfDay } from "../../../../reducers/words.ts";
import type { EventRow, MemoryLine, MomentsCompared, RunsCompared } from "../../history/viewer-data.ts";
import { moments, type PinName, pin, pins, runs, unpin } from "../moments.ts";
import { detail, overview, select } from "../store.ts";
import { Lines } from "./memory-line.tsx";

/** Two runs side by side, where there are two, and two moments, memory included. */
export function ComparePanel() {
  const { a, b } = pins.value;
  return (
    <div class="detail compare">
      {overview.value?.hasReal && <Runs compared={runs.value} />}
      <h2>Two moments</h2>
      <p class="event-line">
        <Pin name="a" row={a} />
        <Pin name="b" row={b} />
        {(a || b) && (
          <button type="button" onClick={unpin}>
            Unpin both
          </button>
        )}
      </p>
      {!(a && b) && (
        <p class="muted">
          Pin two events as A and B (or press m at each), and what lies between them is shown here, line by
          line.
        </p>
      )}
      {a && b && moments.value && <Moments compared={moments.value} />}
    </div>
  );
}

function Pin({ name, row }: { name: PinName; row: EventRow | null }) {
  const label = name.toUpperCase();
  const here = detail.value?.row.number;
  return (
    <span class="pin">
      <b class="pin-name">{label}</b>{" "}
      {row && (
        <button type="button" class="to-event" title="Go to this event" onClick={() => select(row.index)}>
          #{grouped(row.number)} {EVENT_LABELS[row.type]}, {timeOfDay(row.at)}
        </button>
      )}{" "}
      <button type="button" onClick={() => pin(name)}>
        Pin #{grouped(here ?? 0)} as {label}
      </button>
    </span>
  );
}

function Moments({ compared: { a, b, changes, onlyA, onlyB, both } }: { compared: MomentsCompared }) {
  return (
    <>
      <div class="columns">
        <Side title={`Memory of A alone (${grouped(onlyA.length)})`} lines={onlyA} />
        <Side title={`Memory of B alone (${grouped(onlyB.length)})`} lines={onlyB} />
      </div>
      <details>
        <summary>{countOf(both.length, "line")} of memory in both</summary>
        <Lines lines={both} />
      </details>
      <table class="sides">
        <thead>
          <tr>
            <td />
            <th>A, #{grouped(a.number)}</th>
            <th>B, #{grouped(b.number)}</th>
            <th>difference</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ name, before, after, delta }) => (
            <tr key={name}>
              <th>{name}</th>
              <td>{before}</td>
              <td>{after}</td>
              <td>{delta === null ? "" : signed(delta, grouped(Math.abs(delta)))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {changes.length === 0 && <p class="muted">Nothing is another way.</p>}
    </>
  );
}

function Side({ title, lines }: { title: string; lines: readonly MemoryLine[] }) {
  return (
    <div>
      <h2>{title}</h2>
      {lines.length === 0 ? <p class="muted">None.</p> : <Lines lines={lines} />}
    </div>
  );
}

function Runs({ compared }: { compared: RunsCompared | null }) {
  if (!compared) return <p class="muted">Reading…</p>;
  const differing = compared.sums.filter(({ delta }) => delta !== 0).length;
  return (
    <>
      <h2>As it was, and what if</h2>
      <p>
        {countOf(differing, "sum differs", "sums differ")} of {grouped(compared.sums.length)}.{" "}
        {compared.lanes.map(({ lane, times, share, firstAt }) => (
          <span key={lane}>
            {LANE_LABELS[lane]}:{" "}
            {times === 0
              ? "the same all the time"
              : `otherwise ${countOf(times, "time")}, ${Math.round(share * 100)} % of the time, first at ${timeOfDay(firstAt ?? 0)}`}
            .{" "}
          </span>
        ))}
      </p>
      <table class="sides">
        <thead>
          <tr>
            <td />
            <th>as it was</th>
            <th>what if</th>
            <th>difference</th>
          </tr>
        </thead>
        <tbody>
          {compared.sums.map(({ name, real, whatIf, delta, more }) => (
            <tr key={name} class={delta === 0 ? "muted" : ""}>
              <th>{name}</th>
              <td>{real}</td>
              <td>{whatIf}</td>
              <td>{delta === 0 ? "" : signed(delta, more)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function signed(delta: number, shown: string): string {
  return `${delta < 0 ? "−" : "+"}${shown}`;
}
