import { signal } from "@preact/signals";
import {
  compact,
  dateOf,
  EVENT_LABELS,
  grouped,
  LANE_LABELS,
  stateLabel,
  timeOfDay,
} from "../../../../reducers/words.ts";
import type { Change, MemoryChanges } from "../../history/viewer-data.ts";
import { pinNext, pins } from "../moments.ts";
import { stateStyle } from "../state-style.ts";
import { detail, fail, jump, LANES, overview } from "../store.ts";
import { Lines } from "./memory-line.tsx";

/** The selected event: what it changed first, then why each lane is where it is, then everything else. */
export function EventDetailPanel() {
  const shown = detail.value;
  if (!shown) return null;
  const { row, changes, lanes, commands, memory, result, ledger, spend } = shown;
  return (
    <div class="detail">
      <p class="event-line">
        <strong>#{grouped(row.number)}</strong> <span title={row.type}>{EVENT_LABELS[row.type]}</span>{" "}
        <span class="said">{row.words}</span>
        {row.modelled && <span class="modelled">~ modelled</span>}
        <LinkButton number={row.number} />
        <button type="button" class="link" title="To compare it with another moment (m)" onClick={pinNext}>
          Pin as {pins.value.a ? "B" : "A"}
        </button>
        <span class="muted">
          {dateOf(row.at)} {timeOfDay(row.at)}
        </span>
      </p>
      <div class="columns">
        <div>
          <MemoryChangesPart changes={memory} />
          <h2>What changed</h2>
          {changes.length === 0 ? <NothingChanged /> : <Changes changes={changes} />}
          {commands.length > 0 && (
            <>
              <h2>What the lanes do</h2>
              <ul class="commands">
                {commands.map((command) => (
                  <li key={command}>{command}</li>
                ))}
              </ul>
            </>
          )}
          {result && (
            <>
              <h2>Result</h2>
              <Rows rows={result} />
            </>
          )}
        </div>
        <div>
          <h2>Why</h2>
          <dl class="why">
            {LANES.map((lane) => (
              <div key={lane}>
                <dt>{LANE_LABELS[lane]}</dt>
                <dd>
                  <span class="state" style={stateStyle(lanes[lane].state)}>
                    {stateLabel(lanes[lane].state)}
                  </span>{" "}
                  {lanes[lane].why}
                </dd>
              </div>
            ))}
          </dl>
          <h2>Ledger</h2>
          <Rows rows={ledger} wide />
          <h2>Spend since the session was opened</h2>
          <table class="spend">
            <thead>
              <tr>
                <td />
                {["runs", "requests", "in", "out", "cost"].map((name) => (
                  <th key={name}>{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {spend.map(({ worker, runs, requests, input, output, cost }) => (
                <tr key={worker}>
                  <th>{worker}</th>
                  <td>{grouped(runs)}</td>
                  <td>{grouped(requests)}</td>
                  <td title={grouped(input)}>{fitting(input)}</td>
                  <td title={grouped(output)}>{fitting(output)}</td>
                  <td>{cost}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <details>
            <summary>The event as recorded</summary>
            <pre>{JSON.stringify(shown.event, null, 1)}</pre>
          </details>
        </div>
      </div>
    </div>
  );
}

function MemoryChangesPart({ changes: { added, dropped } }: { changes: MemoryChanges }) {
  return (
    <>
      {added.length > 0 && (
        <>
          <h2>Memory added</h2>
          <Lines lines={added} />
        </>
      )}
      {dropped.length > 0 && (
        <>
          <h2>Memory dropped</h2>
          <Lines lines={dropped} />
        </>
      )}
    </>
  );
}

/** The command that shows this event again, also when nobody serves this page any more. */
function LinkButton({ number }: { number: number }) {
  const source = overview.value?.source;
  if (!source?.command) return null;
  const link = `${source.command} --event ${number}`;
  return (
    <button
      type="button"
      class="link"
      title={source.saveAs === null ? link : `${link}\n(after Save recording, in the folder with that file)`}
      onClick={() => copyLink(link)}
    >
      {copied.value === link ? "Copied" : "Copy link"}
    </button>
  );
}

const copied = signal("");

function copyLink(link: string): void {
  navigator.clipboard.writeText(link).then(() => {
    copied.value = link;
  }, fail);
}

function NothingChanged() {
  return (
    <p class="muted">
      Nothing.{" "}
      <button type="button" class="to-event" title="p" onClick={() => jump(null, -1)}>
        The last change before it
      </button>
    </p>
  );
}

/** In full while that has room in its column */
function fitting(value: number): string {
  return value < 1_000_000 ? grouped(value) : compact(value);
}

function Changes({ changes }: { changes: Change[] }) {
  return (
    <table class="changes">
      <tbody>
        {changes.map(({ name, before, after, delta }) => (
          <tr key={name}>
            <th>{name}</th>
            <td class="before" title={before}>
              {before}
            </td>
            <td class="arrow">→</td>
            <td class="after" title={after}>
              {after}
            </td>
            <td class={delta !== null && delta < 0 ? "delta less" : "delta more"}>
              {delta === null || Math.abs(delta) > 1e12
                ? ""
                : `${delta > 0 ? "+" : "−"}${grouped(Math.abs(delta))}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A value of more characters has a line of its own. */
const LONG = 16;

function Rows({ rows, wide = false }: { rows: { name: string; value: string }[]; wide?: boolean }) {
  return (
    <dl class={wide ? "rows wide" : "rows"}>
      {rows.map(({ name, value }) => (
        <div key={name} class={wide && value.length > LONG ? "long" : ""}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
