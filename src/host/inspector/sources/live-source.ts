import type { Observable } from "rxjs";
import type { Engine, Step } from "../../../machines/engine.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { storeOfEvents } from "../history/event-stores.ts";
import { createProgress } from "../history/progress.ts";
import { progressOf } from "../server/data-answers.ts";
import { watchEngine } from "./engine-watch.ts";
import type { InspectSource } from "./inspect-source.ts";
import { sourceInMemory } from "./memory-source.ts";

/** A running Pi: what has happened since its session was opened, and from now on what happens. */
export function openLiveSource(
  name: string,
  engine: Engine,
  steps$: Observable<Step>,
  history: readonly Step[],
  lookup: EntryLookup,
): InspectSource {
  const { source, take } = sourceInMemory("live", name, storeOfEvents(), lookup);
  for (const step of history) take(step);
  const live = { ...source, complete: false };
  const progress = createProgress(() => progressOf(live));
  const steps = steps$.subscribe({
    next(step) {
      take(step);
      progress.tell();
    },
    error: () => {},
  });
  return {
    ...live,
    streamMessages: (writer) => watchEngine(engine, writer),
    onProgress: progress.listen,
    close() {
      progress.close();
      steps.unsubscribe();
    },
  };
}
