import { UsageError } from "../../src/host/cli/io.ts";
import { timelineOf } from "../../src/machines/what-if/session-timeline.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import type { EntryFact } from "../../src/reducers/entries/entry-fact.ts";
import { DEFAULT_SETTINGS } from "../../src/reducers/settings.ts";
import type { Fold, PlayedSession } from "./played-session.ts";

/** Where to compact: after so many source tokens of the session, after an entry, or at its end. */
export type Cut = number | string;
export const END = "end";

/** One step of a session's life: an entry that came, or what the agent did in between. */
type Moment =
  | { type: "entry"; entry: EntryLike; tokens: number }
  | { type: "agentStarted" }
  | { type: "turnEnded" };

/** A session without its memory, and where it is to be compacted. */
export interface Script {
  moments: readonly Moment[];
  /** Source tokens of all of it */
  sourceTokens: number;
  /** Numbers of the moments after which to compact, in order */
  cuts: readonly number[];
}

/** A compaction on the way through a session. */
export interface FoldMade {
  /** Source tokens that had been played by then */
  sourceTokens: number;
  /** Undefined when there was nothing to cut or nothing to fold */
  fold: Fold | undefined;
}

/**
 * What is to be played of a branch, root first: its conversation, without the memory and the compactions that it had. Without
 * cuts it is compacted where the session was, and at its end. Throws a `UsageError` for a cut that is not in it.
 */
export function scriptOf(entries: readonly EntryLike[], cuts: readonly Cut[]): Script {
  const lived = entries.filter((entry) => entry.type !== "compaction" && !isMemory(entry));
  const byId = new Map(lived.map((entry) => [entry.id, entry]));
  const timeline = timelineOf({
    sessionId: "",
    entries: lived,
    settings: DEFAULT_SETTINGS,
    ledgerIsResult: false,
  });
  const moments = timeline.flatMap(({ event }): Moment[] => {
    if (event.type === "agent.started") return [{ type: "agentStarted" }];
    if (event.type === "turn.ended") return [{ type: "turnEnded" }];
    return event.type === "branch.extended" ? event.entries.flatMap((fact) => entryMoment(fact, byId)) : [];
  });
  const sourceTokens = moments.reduce((sum, moment) => sum + tokensOf(moment), 0);
  const wanted = cuts.length > 0 ? cuts : [...compactionsIn(entries), END];
  const places = wanted.map((cut) => placeOf(cut, moments, sourceTokens));
  return { moments, sourceTokens, cuts: [...new Set(places)].sort((a, b) => a - b) };
}

/** Lives through a session up to its last cut. Gives the compactions; what is told of each moment is `onMoment`'s. */
export async function play(
  { moments, cuts }: Script,
  session: PlayedSession,
  onMoment: (sourceTokens: number) => void,
): Promise<FoldMade[]> {
  const folds: FoldMade[] = [];
  let sourceTokens = 0;
  for (const [at, moment] of moments.entries()) {
    if (at > (cuts.at(-1) ?? -1)) break;
    sourceTokens += tokensOf(moment);
    if (moment.type === "entry") session.append(moment.entry);
    else if (moment.type === "agentStarted") session.agentStarted();
    else await session.turnEnded();
    onMoment(sourceTokens);
    if (cuts.includes(at)) folds.push({ sourceTokens, fold: await session.compact() });
  }
  return folds;
}

function entryMoment({ id, tokens }: EntryFact, byId: ReadonlyMap<string, EntryLike>): Moment[] {
  const entry = byId.get(id);
  return entry ? [{ type: "entry", entry, tokens }] : [];
}

function tokensOf(moment: Moment): number {
  return moment.type === "entry" ? moment.tokens : 0;
}

function isMemory(entry: EntryLike): boolean {
  const { customType } = entry as { customType?: unknown };
  return entry.type === "custom" && typeof customType === "string" && customType.startsWith("om.");
}

/** The entries after which a session was compacted */
function compactionsIn(entries: readonly EntryLike[]): string[] {
  let last: string | undefined;
  return entries.flatMap((entry) => {
    if (entry.type === "compaction") return last === undefined ? [] : [last];
    if (!isMemory(entry)) last = entry.id;
    return [];
  });
}

/** The end of the turn in which a cut lies: Pi compacts between turns. */
function placeOf(cut: Cut, moments: readonly Moment[], sourceTokens: number): number {
  let tokens = 0;
  const found =
    cut === END
      ? moments.length - 1
      : moments.findIndex((moment) => {
          tokens += tokensOf(moment);
          return (
            moment.type === "entry" && (typeof cut === "number" ? tokens >= cut : moment.entry.id === cut)
          );
        });
  if (found < 0) {
    throw new UsageError(
      typeof cut === "number"
        ? `the session cannot be compacted after ${cut} source tokens: it has ${sourceTokens}`
        : `the session cannot be compacted after the entry ${cut}: its branch has no conversation entry of this id`,
    );
  }
  const turnEnd = moments.findIndex(({ type }, at) => at >= found && type === "turnEnded");
  return turnEnd < 0 ? moments.length - 1 : turnEnd;
}
