import { z } from "zod";
import { idAt } from "../../../reducers/branch.ts";
import { WorkerSchema } from "../../../reducers/engine/lane-names.ts";
import { describeEntry } from "../../../reducers/entries/describe-entry.ts";
import { type EntryLike, fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { sessionOfEntries } from "../../../reducers/memory.ts";
import type { Io } from "../io.ts";
import { runReplay } from "../replay/replay-run.ts";
import { openSource, type RecordingSource, type SessionSource } from "../replay/replay-source.ts";

const OutcomesSchema = z.record(z.string(), z.record(z.string(), z.int()));

/** A run that a session's entries tell the cost of. A fork has those of its past, by the same ids. */
const StatsRunSchema = z.object({
  /** Of its entry */
  id: z.string(),
  /** ISO 8601 */
  at: z.string(),
  worker: WorkerSchema,
  model: z.string(),
  /** Model tokens */
  input: z.number(),
  output: z.number(),
  /** Unset where the model has no price */
  usd: z.number().optional(),
});

/** What memory did in a Pi session, as its entries tell. Tokens are source tokens but those of runs. */
const SessionStatsSchema = z.object({
  source: z.literal("session"),
  session: z.string(),
  /** ISO 8601, of its first and its last entry; empty for none */
  from: z.string(),
  to: z.string(),
  entries: z.int(),
  tokens: z.number(),
  observations: z.object({ active: z.int(), dropped: z.int(), takenOut: z.int() }),
  reflections: z.int(),
  compactions: z.object({ all: z.int(), folded: z.int() }),
  runs: z.array(StatsRunSchema),
});

/** What happened in a recording. */
const RecordingStatsSchema = z.object({
  source: z.literal("recording"),
  events: z.int(),
  /** By worker, then by outcome */
  outcomes: OutcomesSchema,
  /** Failed runs, by worker, then by kind of failure */
  failures: OutcomesSchema,
  compactions: z.int(),
  /** USD */
  cost: z.number(),
});

export const StatsSchema = z.discriminatedUnion("source", [SessionStatsSchema, RecordingStatsSchema]);
export type Stats = z.infer<typeof StatsSchema>;
export type SessionStats = z.infer<typeof SessionStatsSchema>;

/** Counts what memory did, cost and failed in a file. Throws `UsageError` where it is neither a session nor a recording. */
export async function statsOf(io: Io, argument: string | undefined): Promise<Stats> {
  const source = await openSource(io, argument);
  return source.kind === "session" ? statsOfSession(source) : statsOfRecording(io, source);
}

function statsOfSession({ session: { entries, header } }: SessionSource): SessionStats {
  const { branch, ledger } = sessionOfEntries(entries).session;
  const { active, dropped, takenOut, reflections } = ledger.counts;
  return {
    source: "session",
    session: textOf(fieldsOf(header).id),
    from: textOf(entries.at(0)?.timestamp),
    to: textOf(entries.at(-1)?.timestamp),
    entries: entries.length,
    tokens: entries.reduce((sum, entry) => sum + describeEntry(entry, () => undefined).tokens, 0),
    observations: { active, dropped, takenOut },
    reflections,
    compactions: { all: ledger.compactions, folded: entries.filter(isFolded).length },
    runs: entries.flatMap((entry, at) => (idAt(branch, at) === entry.id ? runOf(entry) : [])),
  };
}

function isFolded(entry: EntryLike): boolean {
  return describeEntry(entry, () => undefined).compaction?.folded === true;
}

function runOf(entry: EntryLike): z.infer<typeof StatsRunSchema>[] {
  const { cost } = describeEntry(entry, () => undefined);
  if (!cost) return [];
  const { worker, input, output, usd } = cost;
  const model = textOf(fieldsOf(fieldsOf(entry).data).model);
  const at = textOf(entry.timestamp);
  return [{ id: entry.id, at, worker, model, input, output, ...(usd !== undefined && { usd }) }];
}

async function statsOfRecording(io: Io, source: RecordingSource): Promise<Stats> {
  const failures: Record<string, Record<string, number>> = {};
  const { events, runs, compactions, cost } = await runReplay(source, io, {
    onStep({ event }) {
      if (event.type !== "run.finished" || !event.failure) return true;
      const { worker, failure } = event;
      const kinds = failures[worker] ?? {};
      failures[worker] = { ...kinds, [failure.kind]: (kinds[failure.kind] ?? 0) + 1 };
      return true;
    },
  });
  return { source: "recording", events, outcomes: runs, failures, compactions, cost };
}
