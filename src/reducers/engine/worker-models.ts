import type { ModelSetting, Settings } from "../settings.ts";
import type { EngineEventOf } from "./events.ts";
import type { Worker } from "./lane-names.ts";

/** How a model has failed, row by row: by `provider/id`, since it last answered. */
export type ModelFailures = Readonly<Record<string, ModelFailure>>;

export interface ModelFailure {
  /** Runs in a row in which it failed */
  readonly failures: number;
  /** When it last did; ISO 8601 */
  readonly at: string;
  readonly kind: string;
  readonly message: string;
}

/** Where the choice of a model comes from. */
export type ModelOrigin = "own" | "model" | "session" | "fallback" | "sessionFallback";

/** A model that a worker may be given. */
export interface WorkerModel {
  /** `provider/id`; `""` where the session has no model */
  readonly name: string;
  /** Unset: the session's own */
  readonly setting: ModelSetting | undefined;
  readonly origin: ModelOrigin;
}

/** The same as it stands at a moment. */
export interface StandingModel extends WorkerModel {
  /** When it may be asked again, in milliseconds since the epoch; undefined where nothing keeps it from being asked */
  readonly restsUntil: number | undefined;
}

/**
 * Failures that are the provider's or the model's, so that another may well do what this one did not. Too long a prompt, an
 * output that met its limit and a reply that cannot be read are none: the next attempt reads less, and so mends them.
 */
const FAILED_BY_THE_MODEL: readonly string[] = [
  ...["overloaded", "connection", "rate-limit", "timeout"],
  ...["quota", "auth", "refused", "no-model"],
];

/** Whether a failure of this kind is a reason to ask another model. */
export function isOfTheModel(kind: string): boolean {
  return FAILED_BY_THE_MODEL.includes(kind);
}

/**
 * The models that a worker may be given, in the order of the settings, each once. The session's own stands there only where the
 * settings name no model for this worker, name this very one, or say `sessionFallback`.
 *
 * @param sessionModel `provider/id`; `""` where the session has none
 */
export function workerModels(worker: Worker, settings: Settings, sessionModel: string): WorkerModel[] {
  const own = settings.workers?.[worker]?.model;
  const first = own ?? settings.model;
  const models: WorkerModel[] = [
    first
      ? named(first, own ? "own" : "model")
      : { name: sessionModel, setting: undefined, origin: "session" },
    ...settings.fallbackModels.map((model) => named(model, "fallback")),
  ];
  if (settings.sessionFallback && sessionModel !== "")
    models.push({ name: sessionModel, setting: undefined, origin: "sessionFallback" });
  return models.filter(({ name }, at) => models.findIndex((model) => model.name === name) === at);
}

function named(setting: ModelSetting, origin: ModelOrigin): WorkerModel {
  return { name: `${setting.provider}/${setting.id}`, setting, origin };
}

/** Each model with its rest, in the same order. `delayOf` is the time to wait after so many failures in a row, in milliseconds. */
export function standing(
  models: readonly WorkerModel[],
  failed: ModelFailures,
  at: number,
  delayOf: (failures: number) => number,
): StandingModel[] {
  return models.map((model) => {
    const failure = failed[model.name];
    const until = failure ? Date.parse(failure.at) + delayOf(failure.failures) : 0;
    return { ...model, restsUntil: until > at ? until : undefined };
  });
}

/**
 * Those to ask in one run, one after the other until one does not fail. While all rest it is the one that comes back first: when
 * to try at all is the lane's to say, and there may be but one.
 */
export function modelsToAsk(models: readonly StandingModel[]): StandingModel[] {
  const ready = models.filter(({ restsUntil }) => restsUntil === undefined);
  if (ready.length > 0) return ready;
  return models.toSorted((a, b) => (a.restsUntil ?? 0) - (b.restsUntil ?? 0)).slice(0, 1);
}

/** What is known of models after a run: those that failed in it, and the one that then did not. */
export function failuresAfter(
  failed: ModelFailures,
  { model, outcome, failure, passedOver = [], at }: EngineEventOf<"run.finished">,
): ModelFailures {
  const isModelsFault = failure !== undefined && isOfTheModel(failure.kind);
  const failures = isModelsFault && model !== undefined ? [...passedOver, { model, failure }] : passedOver;
  const hasAnswered = model !== undefined && !isModelsFault && outcome !== "stale" && outcome !== "aborted";
  if (failures.length === 0 && !(hasAnswered && Object.hasOwn(failed, model))) return failed;
  const next = new Map(Object.entries(failed));
  if (hasAnswered) next.delete(model);
  for (const one of failures) {
    const row = (failed[one.model]?.failures ?? 0) + 1;
    next.set(one.model, { failures: row, at, kind: one.failure.kind, message: one.failure.message });
  }
  return Object.fromEntries(next);
}
