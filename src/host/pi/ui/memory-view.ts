import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { isPinned } from "../../../reducers/ledger/hand/hand.ts";
import type { Ledger } from "../../../reducers/ledger/ledger.ts";
import {
  isVisibleMemoryStale,
  resolveSelection,
  selectFull,
  visibleMemory,
} from "../../../reducers/ledger/projections.ts";
import type { Projection } from "../../../reducers/ledger/records.ts";
import { renderObservation, renderReflection } from "../../../reducers/ledger/summary.ts";
import type { SessionState } from "../../../reducers/session.ts";
import { countOf } from "../../../reducers/words.ts";

export type ViewMode = "visible" | "full";

/** What the agent sees, or all that the ledger holds. */
export function memoryIn(session: SessionState, lookup: EntryLookup, mode: ViewMode): Projection {
  const { branch, ledger } = session;
  return mode === "full"
    ? resolveSelection(selectFull(ledger), branch, lookup)
    : visibleMemory(branch, ledger, lookup);
}

/** What `/om:view` shows: the memory that the agent sees, or the full ledger truth at the branch tip. */
export function memoryView(session: SessionState, lookup: EntryLookup, mode: ViewMode): string {
  const shown = memoryIn(session, lookup, mode);
  const { observations, reflections } = shown;
  const title =
    mode === "full"
      ? "Full memory (the ledger at the branch tip)"
      : "Visible memory (what the agent sees since the last compaction)";
  const lines = [title, ...memoryNotes(session, mode, shown)];
  if (observations.length === 0 && reflections.length === 0) return lines.join("\n");
  lines.push("", `Reflections (${reflections.length})`, ...reflections.map(renderReflection));
  const { hand } = session.ledger;
  const observationLines = observations.map(
    (observation) => `${renderObservation(observation)}${isPinned(hand, observation.id) ? " · pinned" : ""}`,
  );
  lines.push("", `Observations (${observations.length})`, ...observationLines);
  return lines.join("\n");
}

/** What to know of the memory that is shown: that the agent sees another summary, or why there is none. */
export function memoryNotes(
  { ledger }: SessionState,
  mode: ViewMode,
  { observations, reflections }: { observations: readonly unknown[]; reflections: readonly unknown[] },
): string[] {
  const notes: string[] = [];
  if (mode === "visible" && isVisibleMemoryStale(ledger)) {
    notes.push("The latest compaction was not ours: the agent sees that summary, and not this.");
  }
  if (observations.length === 0 && reflections.length === 0) {
    notes.push(mode === "full" ? "Nothing recorded yet." : nothingVisible(ledger));
  }
  return notes;
}

function nothingVisible({ counts }: Ledger): string {
  const nothing = "Nothing yet: no compaction has folded memory on this branch.";
  if (counts.active + counts.reflections === 0) return nothing;
  const recorded = [countOf(counts.active, "active observation"), countOf(counts.reflections, "reflection")];
  return `${nothing} ${recorded.join(" and ")} are recorded; the full view shows them.`;
}
