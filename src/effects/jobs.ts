import type { Command } from "../machines/commands.ts";
import type { EngineEventOf } from "../machines/events.ts";
import { idAt, isSourceAt, NOWHERE, positionOf, tokensAt } from "../reducers/branch.ts";
import { type EntryLike, timeOf } from "../reducers/entry.ts";
import {
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_RECORDED,
  type ObservationsDropped,
  type ObservationsRecorded,
  REFLECTIONS_RECORDED,
  type ReflectionsRecorded,
} from "../reducers/ledger-entries.ts";
import { coverageTiers, maximumDrops } from "../reducers/pool.ts";
import { resolveSelection, selectFull } from "../reducers/projections.ts";
import { recordById } from "../reducers/record-index.ts";
import { firstUnobserved } from "../reducers/session-state.ts";
import { observerChunkBudget } from "../reducers/settings.ts";
import { renderSources } from "../reducers/sources.ts";
import { runDropper } from "./dropper.ts";
import { runObserver } from "./observer.ts";
import { runReflector } from "./reflector.ts";
import type { WorkerResult } from "./worker-result.ts";
import type { World } from "./world.ts";

type StartRun = Extract<Command, { type: "startRun" }>;

/** How a job ended: the facts of a `run.finished` event, and the ledger entry to append if it recorded. */
export type JobEnd = Omit<
  EngineEventOf<"run.finished">,
  "v" | "seq" | "at" | "type" | "runId" | "worker" | "durationMs"
> & {
  entry?: {
    customType: string;
    data: ObservationsRecorded | ReflectionsRecorded | ObservationsDropped;
  };
};

/** Gathers what a worker reads, runs it, and says how it ended. Appends nothing itself. */
export type Job = (world: World, command: StartRun, signal: AbortSignal) => Promise<JobEnd>;

export const runObserverJob: Job = async (world, command, signal) => {
  const { session, settings } = world.state();
  const model = world.workerModel();
  if ("problem" in model) return noModel(model.problem);
  const { branch, ledger } = session;
  // Each failure in a row halves the chunk, so that a prompt which is too long for the model mends itself.
  const budget = Math.max(
    SMALLEST_CHUNK,
    Math.floor(observerChunkBudget(settings, model.access.model.contextWindow) / 2 ** command.failures),
  );
  const start = firstUnobserved(session, budget, command.emptyThroughId);
  if (start === NOWHERE) return { ...NOTHING_DONE, outcome: "empty" };
  // Entries after the chunk are passed too: a context edit among them may take one of its entries back.
  const entries = entriesFrom(world, start);
  const chunk = renderSources(entries, { maxTokens: budget });
  const throughId = chunk.sourceEntryIds.at(-1);
  if (throughId === undefined) return { ...NOTHING_DONE, outcome: "empty" };
  const { observations, reflections } = resolveSelection(selectFull(ledger), branch, world.lookup);
  const result = await runObserver(
    {
      chunk: chunk.text,
      sources: new Map(chunk.sourceEntryIds.map((id) => [id, timeOfId(world, id)])),
      isKnown: (id) => recordById(ledger.observations, id) !== undefined,
      priorObservations: observations,
      priorReflections: reflections,
      now: world.now(),
    },
    model.access,
    limitsOf(world, model.access, signal),
  );
  const data: ObservationsRecorded = { observations: result.records, coversUpToId: throughId };
  return endOf(result, throughId, tokensOf(world, chunk.sourceEntryIds), {
    customType: OBSERVATIONS_RECORDED,
    data,
  });
};
