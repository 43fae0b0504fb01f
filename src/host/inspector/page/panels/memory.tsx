import { signal } from "@preact/signals";
import { detail, memory } from "../store.ts";

const which = signal<"visible" | "full">("visible");

/** The memory's text at the selected event: what the agent sees, or the whole ledger. */
export function MemoryPanel() {
  const shown = memory.value;
  return (
    <div class="memory">
      <p class="event-line">
        {(["visible", "full"] as const).map((name) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={which.value === name}
            onClick={() => {
              which.value = name;
            }}
          >
            {name === "visible" ? "as the agent sees it" : "full"}
          </button>
        ))}
        <span class="muted">at #{detail.value?.row.number}</span>
      </p>
      {shown && (
        <div class="lines">
          {shown[which.value].split("\n").map((line, at) => (
            // Lines have no identity but their place.
            <Line key={at} line={line} />
          ))}
        </div>
      )}
    </div>
  );
}

function Line({ line }: { line: string }) {
  const [, id, rest] = /^\[([0-9a-f]{12})\] (.*)$/.exec(line) ?? [];
  if (id === undefined) return <p class={line === "" ? "gap" : "heading"}>{line}</p>;
  return (
    <p>
      <code>{id}</code> {rest}
    </p>
  );
}
