import { useEffect, useRef } from "preact/hooks";
import { grouped } from "../../../../reducers/words.ts";
import type { MemoryLine, MemoryView } from "../../history/viewer-data.ts";
import { detail, memory, memoryView, overview } from "../store.ts";
import { Lines } from "./memory-line.tsx";

const VIEWS: { name: MemoryView; label: string; title: string }[] = [
  { name: "full", label: "all that holds", title: "All that is recorded and was not dropped" },
  { name: "visible", label: "as the agent sees it", title: "What the latest fold put before the agent" },
  { name: "dropped", label: "dropped", title: "What was dropped, superseded or replaced" },
];

/** The memory at the selected event. */
export function MemoryPanel() {
  const shown = memory.value;
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => panel.current?.querySelector(".new")?.scrollIntoView({ block: "nearest" }), [shown]);
  return (
    <div class="memory" ref={panel}>
      <p class="event-line">
        {VIEWS.map(({ name, label, title }) => (
          <button
            key={name}
            type="button"
            class="chip"
            title={title}
            aria-pressed={memoryView.value === name}
            onClick={() => {
              memoryView.value = name;
            }}
          >
            {label}
          </button>
        ))}
        <span class="muted">at #{grouped(detail.value?.row.number ?? 0)}</span>
      </p>
      {!overview.value?.hasTexts && <NoTexts />}
      {shown?.notes.map((note) => (
        <p key={note} class="muted">
          {note}
        </p>
      ))}
      {shown && <Part title="Reflections" lines={shown.reflections} older={shown.older.reflections} />}
      {shown && <Part title="Observations" lines={shown.observations} older={shown.older.observations} />}
    </div>
  );
}

function Part({ title, lines, older }: { title: string; lines: MemoryLine[]; older: number }) {
  if (lines.length === 0) return null;
  return (
    <>
      <h2>
        {title} ({grouped(lines.length + older)})
      </h2>
      {older > 0 && <p class="muted">The newest {grouped(lines.length)}; the search finds the older ones.</p>}
      <Lines lines={lines} />
    </>
  );
}

function NoTexts() {
  return (
    <p class="muted">
      A recording holds no text, and the file of its session was not found on this machine:{" "}
      <code>--session FILE</code> names it, and its memory and messages are shown here.
    </p>
  );
}
