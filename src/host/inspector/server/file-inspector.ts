import type { EventSource } from "../event-sources/event-source.ts";
import { type InspectServer, startInspectServer } from "./inspect-server.ts";
import { loadViewer } from "./viewer-files.ts";

export { openFileSource } from "../event-sources/file-source.ts";
export { openBrowser } from "./open-browser.ts";

/** Serves an opened file to a browser on this machine. */
export async function serveFile(
  source: EventSource,
  port: number | undefined,
  say: (words: string) => void,
): Promise<InspectServer> {
  return startInspectServer({ source, viewer: await loadViewer(say), port });
}
