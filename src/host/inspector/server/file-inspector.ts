import type { InspectSource } from "../sources/inspect-source.ts";
import { type InspectServer, startInspectServer } from "./inspect-server.ts";
import { loadViewer } from "./viewer-files.ts";

export { openFileSource } from "../sources/open-file.ts";
export { openBrowser } from "./open-browser.ts";

/** Serves an opened file to a browser on this machine. */
export async function serveFile(
  source: InspectSource,
  port: number | undefined,
  say: (words: string) => void,
): Promise<InspectServer> {
  return startInspectServer({ source, viewer: await loadViewer(say), port });
}
