import type { LiveSession } from "../../../effects/live-session.ts";
import { modelsNow } from "../../../effects/workers/attempts.ts";
import { WORKERS, type Worker } from "../../../reducers/engine/lane-names.ts";
import { type ModelOrigin, modelsToAsk } from "../../../reducers/engine/worker-models.ts";
import { listed, timeOfDay } from "../../../reducers/words.ts";

const ORIGIN_WORDS: Readonly<Record<ModelOrigin, string>> = {
  own: "set for it alone",
  model: "set for the workers",
  session: "the session's own",
  fallback: "a fallback",
  sessionFallback: "the session's own, as a fallback",
};

/** Which model each worker would ask now and why, a line for each that differs: `provider/id (the session's own)` */
export function modelLines(session: LiveSession): string[] {
  const byWords = new Map<string, Worker[]>();
  for (const worker of WORKERS) {
    const words = modelWords(session, worker);
    byWords.set(words, [...(byWords.get(words) ?? []), worker]);
  }
  if (byWords.size === 1) return [...byWords.keys()];
  return [...byWords].map(([words, workers]) => `${listed(workers)}: ${words}`);
}

function modelWords(session: LiveSession, worker: Worker): string {
  const models = modelsNow(session, worker);
  const [asked] = modelsToAsk(models);
  if (!asked) return "none";
  const before = models.slice(
    0,
    models.findIndex(({ name }) => name === asked.name),
  );
  const resting = before.map(({ name, restsUntil }) => {
    const { kind = "", message = "" } = session.state().modelFailures[name] ?? {};
    const why = message === "" ? kind : message;
    return `${name} rests until ${timeOfDay(restsUntil ?? 0)}: ${why}`;
  });
  const choice = session.workerModel(asked.setting);
  if ("problem" in choice) return choice.problem;
  return `${asked.name} (${[ORIGIN_WORDS[asked.origin], ...resting].join("; ")})`;
}
