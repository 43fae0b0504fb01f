import { effect, signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { countOf } from "../../../../reducers/words.ts";
import type { EventRef, MemoryLine, MemoryRecord, SourceText } from "../../history/viewer-data.ts";
import { askMemoryRecord } from "../server-data.ts";
import { detail, fail, filter, select } from "../store.ts";

/** More lines than this are shown when somebody asks: a browser is slow with tens of thousands. */
const AT_ONCE = 400;

/** Lines of memory, each of which opens what stands behind it, unless it is shown there `above` already. */
export function Lines({ lines, above = [] }: { lines: readonly MemoryLine[]; above?: readonly string[] }) {
  const [most, setMost] = useState(AT_ONCE);
  return (
    <>
      {lines.length > most && (
        <button type="button" onClick={() => setMost(most * 4)}>
          {countOf(lines.length - most, "older line")}
        </button>
      )}
      <ul class="lines">
        {lines.slice(-most).map((line) => (
          <Line key={keyOf(line)} line={line} above={above} />
        ))}
      </ul>
    </>
  );
}

/** The lines that are open, wherever they are shown */
const opened = signal<ReadonlySet<string>>(new Set());
const records = signal<ReadonlyMap<string, MemoryRecord>>(new Map());

/** An observation and a reflection of one text share their id. */
function keyOf({ kind, id }: Pick<MemoryLine, "kind" | "id">): string {
  return `${kind} ${id}`;
}

function toggle(line: MemoryLine): void {
  const key = keyOf(line);
  const next = new Set(opened.value);
  if (!next.delete(key)) next.add(key);
  opened.value = next;
}

// What stands behind a line may be another thing at another event.
effect(() => {
  const index = detail.value?.row.index;
  for (const key of opened.value) {
    const [kind = "", id = ""] = key.split(" ");
    if (index === undefined) return;
    askMemoryRecord(index, { kind, id }).then((record) => {
      records.value = new Map(records.peek()).set(key, record);
    }, fail);
  }
});

function Line({ line, above }: { line: MemoryLine; above: readonly string[] }) {
  const key = keyOf(line);
  const isOpen = opened.value.has(key);
  if (above.includes(key)) {
    return (
      <li class="line muted">
        <LineWords line={line} /> (above)
      </li>
    );
  }
  return (
    <li class={line.isNew ? "new" : ""}>
      <button
        type="button"
        class="line"
        aria-expanded={isOpen}
        title="What stands behind it"
        onClick={() => toggle(line)}
      >
        <LineWords line={line} />
      </button>
      {isOpen && <Behind record={records.value.get(key)} above={[...above, key]} />}
    </li>
  );
}

function LineWords({ line: { id, text, when, relevance, isNew, fate } }: { line: MemoryLine }) {
  return (
    <>
      {isNew && <b title="This event did it">●</b>} <code>{id}</code> {when && <time>{when}</time>}{" "}
      {text === null ? <i class="muted">its text is in the session's file</i> : <Marked text={text} />}
      {relevance && relevance !== "medium" && <span class={`tag ${relevance}`}>{relevance}</span>}
      {fate && <span class="tag fate">{fate}</span>}
    </>
  );
}

/** A text, with what is searched for marked in it */
function Marked({ text }: { text: string }) {
  const wanted = filter.value.text.trim();
  const at = wanted === "" ? -1 : text.toLowerCase().indexOf(wanted.toLowerCase());
  if (at < 0) return <span>{text}</span>;
  return (
    <span>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + wanted.length)}</mark>
      {text.slice(at + wanted.length)}
    </span>
  );
}

function Behind({ record, above }: { record: MemoryRecord | undefined; above: readonly string[] }) {
  if (!record) return <p class="behind muted">Reading…</p>;
  const { note, kind, fate, recorded, dropped, sources, supporting, replacedBy, restOnIt } = record;
  if (note !== null) return <p class="behind">{note}</p>;
  return (
    <div class="behind" ref={showOnce}>
      <p>
        {recorded ? (
          <>Recorded by {<Event at={recorded} />}. </>
        ) : (
          "Recorded before the first event shown here. "
        )}
        {fate === "" ? "It holds." : `Now ${fate}`}
        {dropped && (
          <>
            {fate === "" ? " Dropped" : ""} by {<Event at={dropped} />}
          </>
        )}
        {fate !== "" && "."}
      </p>
      <p class="muted">
        In Pi:{" "}
        {commandsFor(record).map((command) => (
          <Copy key={command} text={command} />
        ))}
      </p>
      <Group title="In its place" lines={replacedBy} above={above} />
      <Group title="It rests on" lines={supporting} above={above} />
      <Group title="Reflections that rest on it" lines={restOnIt} above={above} />
      {sources.map((source) => (
        <Source key={source.entryId} source={source} />
      ))}
      {kind === "observation" && sources.length === 0 && (
        <p class="muted">Its messages are in the session's file.</p>
      )}
    </div>
  );
}

/** What a user can say of a line by hand */
function commandsFor({ id, kind, fate }: MemoryRecord): string[] {
  const keep = kind === "reflection" ? [] : [`/om:${fate === "pinned" ? "unpin" : "pin"} ${id}`];
  return [...keep, `/om:forget ${id}`, `/om:promote ${id}`];
}

/** A text that a click copies */
function Copy({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true), fail);
  return (
    <button type="button" class="command" title="Copy" onClick={copy}>
      <code>{text}</code> {isCopied && "copied"}
    </button>
  );
}

/** What has just been opened at the lower end of a list is moved into sight. */
function showOnce(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

interface GroupProps {
  title: string;
  lines: readonly MemoryLine[];
  above: readonly string[];
}

function Group({ title, lines, above }: GroupProps) {
  if (lines.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <Lines lines={lines} above={above} />
    </>
  );
}

function Source({ source: { entryId, at, text, isMissing } }: { source: SourceText }) {
  return (
    <figure class="source-text">
      <figcaption>
        Source message <code>{entryId}</code>
        {at && (
          <>
            , of <Event at={at} />
          </>
        )}
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      {isMissing ? <p class="muted">{text}</p> : <pre tabIndex={0}>{text}</pre>}
    </figure>
  );
}

/** An event's number, which goes there. */
function Event({ at }: { at: EventRef }) {
  return (
    <button type="button" class="to-event" title="Go to this event" onClick={() => select(at.index)}>
      #{at.number}
    </button>
  );
}
