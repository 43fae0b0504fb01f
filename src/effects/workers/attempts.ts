import { catchError, defer, map, mergeMap, type Observable, of, tap } from "rxjs";
import type { Command } from "../../machines/commands.ts";
import { modelRest } from "../../machines/lanes/backoff.ts";
import { addUsage, noUsage } from "../../reducers/engine/engine-state.ts";
import type { Usage } from "../../reducers/engine/events.ts";
import {
  isOfTheModel,
  modelsToAsk,
  type StandingModel,
  standing,
  type WorkerModel,
  workerModels,
} from "../../reducers/engine/worker-models.ts";
import type { CostRecorded } from "../../reducers/ledger/records.ts";
import { messageOf } from "../../reducers/message-of.ts";
import type { SessionState } from "../../reducers/session.ts";
import type { LiveSession } from "../live-session.ts";
import { JOBS, type JobResult, NOTHING_DONE } from "./jobs.ts";
import type { LearntWindows } from "./model/learnt-windows.ts";
import { WindowTooSmallError } from "./model/prompt-room.ts";
import type { ModelAccess } from "./model/request.ts";
import { mayAskAgain } from "./run-budget.ts";

type StartRun = Extract<Command, { type: "startRun" }>;

/** What a run came to, with the session as the model that answered was shown it. */
export interface Attempted {
  result: JobResult;
  read: SessionState;
}

/** The models that a worker may be given as they stand now, in the order of the settings. */
export function modelsNow(session: LiveSession, worker: StartRun["worker"]): StandingModel[] {
  const { settings, modelFailures } = session.state();
  const own = session.workerModel(undefined);
  const sessionModel = "problem" in own ? "" : modelNameOf(own.access);
  return standing(workerModels(worker, settings, sessionModel), modelFailures, session.now(), modelRest);
}

/**
 * Does a worker's job with the first of its models that does not fail by a fault of its own. Each gathers anew what it reads, since
 * windows differ. The deadline is that of the whole run; what the failed attempts took counts as the run's.
 */
export function attemptsOf(
  command: StartRun,
  session: LiveSession,
  windows: LearntWindows,
): Observable<Attempted> {
  const deadline = session.now() + session.state().settings.workerTimeoutMs;

  function attempt([model, ...others]: readonly WorkerModel[], before?: JobResult): Observable<Attempted> {
    const read = session.state().session;
    return defer(() => askedOf(model, before?.usage ?? noUsage())).pipe(
      catchError((error: unknown) => of(failedResult(error))),
      map((result) => together(before, { ...result, ...(model?.name && { model: model.name }) })),
      mergeMap((result) => {
        const isTried = !result.failure || !isOfTheModel(result.failure.kind);
        const isOver =
          session.now() >= deadline ||
          session.isEnding() ||
          !session.isOpen() ||
          !mayAskAgain(session, result.usage);
        return isTried || isOver || others.length === 0 ? of({ result, read }) : attempt(others, result);
      }),
    );
  }

  function askedOf(model: WorkerModel | undefined, spent: Usage): Observable<JobResult> {
    const choice = session.workerModel(model?.setting);
    if ("problem" in choice) {
      return of({
        ...NOTHING_DONE,
        outcome: "failed",
        failure: { kind: "no-model", message: choice.problem },
      });
    }
    const access = whileOpen(session, windows.within(choice.access), spent);
    return JOBS[command.worker](session, command, access, Math.max(1, deadline - session.now())).pipe(
      tap(({ asked = 0, failure }) => windows.went(access, asked, failure)),
      map((result) => ({ ...result, ...paidIn(result, command, access) })),
    );
  }

  return attempt(modelsToAsk(modelsNow(session, command.worker)));
}

/** A run's result with what the attempts before it took. */
function together(before: JobResult | undefined, result: JobResult): JobResult {
  if (!before) return result;
  const { model = "", failure = { kind: "other", message: "" }, passedOver = [] } = before;
  const paid = paidTogether(before.paid, result.paid);
  return {
    ...result,
    requests: before.requests + result.requests,
    usage: addUsage(before.usage, result.usage),
    ...requestTimes(before, result),
    passedOver: [...passedOver, { model, failure: { kind: failure.kind, message: failure.message } }],
    ...(paid && { paid }),
  };
}

/** When all of their requests were made, where that is known */
function requestTimes(...results: readonly JobResult[]): Pick<JobResult, "requestTimes"> {
  const times = results.flatMap((result) => result.requestTimes ?? []);
  return times.length > 0 ? { requestTimes: times } : {};
}

/** The model is that of the later; what is known of the price is kept, so that a budget counts it. */
function paidTogether(
  before: CostRecorded | undefined,
  paid: CostRecorded | undefined,
): CostRecorded | undefined {
  if (!before || !paid) return paid ?? before;
  const { cost: _, ...rest } = paid;
  const { input, output, cacheRead, cacheWrite } = paid.usage;
  const isPriced = before.cost !== undefined || paid.cost !== undefined;
  return {
    ...rest,
    usage: {
      input: before.usage.input + input,
      output: before.usage.output + output,
      cacheRead: before.usage.cacheRead + cacheRead,
      cacheWrite: before.usage.cacheWrite + cacheWrite,
    },
    ...(isPriced && { cost: (before.cost ?? 0) + (paid.cost ?? 0) }),
  };
}

/** What a run took, if a model answered it. Pi knows no price of a model all of whose prices are zero. */
function paidIn(
  { usage }: { usage: Usage },
  { runId, worker }: StartRun,
  access: ModelAccess,
): Pick<JobResult, "paid"> {
  const { cost, ...tokens } = usage;
  if (Object.values(usage).every((amount) => amount === 0)) return {};
  const prices = Object.values(access.model.cost ?? {});
  const isPriced = cost > 0 || prices.some((price) => typeof price === "number" && price > 0);
  return {
    paid: { worker, model: modelNameOf(access), usage: tokens, ...(isPriced && { cost }), runId },
  };
}

/** The same access, for as long as there is a session to ask it for, and a budget after what the run has `spent` already. */
function whileOpen(session: LiveSession, access: ModelAccess, spent: Usage): ModelAccess {
  return {
    ...access,
    stream(context, options) {
      if (!session.isOpen()) throw new Error("the session has ended");
      return access.stream(context, options);
    },
    mayAskAgain: (used) => mayAskAgain(session, addUsage(spent, used)),
  };
}

/** `provider/id` */
function modelNameOf({ model: { provider, id } }: ModelAccess): string {
  return `${provider}/${id}`;
}

/** A run that something threw in. */
export function failedResult(error: unknown): JobResult {
  const kind = error instanceof WindowTooSmallError ? "window-too-small" : "other";
  return { ...NOTHING_DONE, outcome: "failed", failure: { kind, message: messageOf(error) } };
}
