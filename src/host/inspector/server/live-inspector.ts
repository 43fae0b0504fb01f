import type { Observable } from "rxjs";
import type { Engine, Step } from "../../../machines/engine.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { openLiveSource } from "../event-sources/live-source.ts";
import { type InspectServer, startInspectServer } from "./inspect-server.ts";
import { loadViewer } from "./viewer-files.ts";

export { openBrowser } from "./open-browser.ts";

/** Serves a running session's lanes until it is closed. */
export async function inspectLive(
  name: string,
  engine: Engine,
  steps$: Observable<Step>,
  history: readonly Step[],
  lookup: EntryLookup,
  say: (words: string) => void,
): Promise<InspectServer> {
  const viewer = await loadViewer(say);
  return startInspectServer({ source: openLiveSource(name, engine, steps$, history, lookup), viewer });
}
