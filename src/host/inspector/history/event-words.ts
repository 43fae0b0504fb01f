import type { Command } from "../../../machines/commands.ts";
import type { Decided } from "../../../machines/recording/verify.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import type { EntryFact } from "../../../reducers/entries/entry-fact.ts";
import { countOf, grouped, LANE_LABELS, resultWords, stateLabel } from "../../../reducers/words.ts";

/** What an event says, in one line. */
export function eventWords(event: EngineEvent): string {
  switch (event.type) {
    case "session.opened":
      return `${event.reason}: ${countOf(event.branch.length, "entry", "entries")}`;
    case "session.closed":
      return event.reason;
    case "branch.extended":
      return entriesWords(event.entries);
    case "branch.replaced":
      return `another branch, ${countOf(event.branch.length, "entry", "entries")}`;
    case "model.selected":
      return event.contextWindow === undefined ? "" : `window ${grouped(event.contextWindow)}`;
    case "cache.expired":
      return `${grouped(event.contextTokens)} tokens to read again${event.reason === "model" ? ", by another model" : ""}`;
    case "cache.warmed":
    case "agent.started":
    case "turn.ended":
      return "";
    case "agent.settled":
      return event.aborted ? "aborted" : "";
    case "run.demanded":
      return LANE_LABELS[event.lane];
    case "run.finished":
      return `${event.worker} ${resultWords(event)}`;
    case "compaction.started":
      // That it is modelled is said beside it already.
      return event.reason === "modelled" ? "" : event.reason;
    case "compaction.finished":
      if (event.folded) return "folded from the ledger";
      if (!event.offered) return "not ours";
      return `our fold replaced by ${event.fromExtension ? "another's" : "Pi's own"}`;
    case "compaction.failed":
      return event.failure.kind;
  }
}

const ENTRIES_NAMED = 3;

type DropsFact = Extract<EntryFact["ledger"], { type: "drops" }>;

function entriesWords(entries: readonly EntryFact[]): string {
  const named = entries.slice(0, ENTRIES_NAMED).map(entryWords);
  const more = entries.length - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}

function entryWords({ kind, tokens: count, ledger, compaction }: EntryFact): string {
  if (ledger?.type === "observations") return countOf(ledger.records.length, "observation");
  if (ledger?.type === "reflections") return countOf(ledger.records.length, "reflection");
  if (ledger?.type === "drops") return dropWords(ledger);
  if (compaction) return compaction.folded ? `fold${compaction.fullFold ? " (full)" : ""}` : "compaction";
  const words = stateLabel(kind);
  return count > 0 ? `${words} ${grouped(count)}` : words;
}

function dropWords({ observationIds, reflectionIds = [], replacedBy = {} }: DropsFact): string {
  const isReplaced = Object.keys(replacedBy).length > 0;
  if (reflectionIds.length > 0)
    return `${countOf(reflectionIds.length, "reflection")} ${isReplaced ? "replaced" : "dropped"}`;
  return isReplaced
    ? `${countOf(observationIds.length, "observation")} superseded`
    : countOf(observationIds.length, "drop");
}

/** The same for who does not know the charts. */
export function plainDecision({ transitions, commands }: Decided): string {
  return [
    ...transitions.map(
      ({ lane, from, to }) => `${LANE_LABELS[lane]}: ${stateLabel(from)} → ${stateLabel(to)}`,
    ),
    ...commands.flatMap((command) => commandWords(command)),
  ].join(", ");
}

/** What a lane asks for, in words */
export function commandWords(command: Command): string {
  switch (command.type) {
    case "startRun":
      return `starts ${command.runId}`;
    case "abortRun":
      return `breaks off ${command.runId}`;
    case "requestCompaction":
      return "asks Pi to compact";
    case "notify":
      return command.about === "recorded" ? "says what was recorded" : "says that it failed";
  }
}

/** What the lanes made of an event, in one line. */
export function decisionWords({ transitions, commands }: Decided): string {
  return [
    ...transitions.map(({ lane, from, to }) => `${LANE_LABELS[lane]} ${from} → ${to}`),
    ...commands.map((command) =>
      command.type === "notify" ? `notify ${command.about}` : `${command.type} ${command.runId}`,
    ),
  ].join(", ");
}
