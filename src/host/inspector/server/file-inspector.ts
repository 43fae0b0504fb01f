import { type InspectServer, startInspectServer } from "./inspect-server.ts";
import type { InspectSource } from "./inspect-source.ts";
import { loadViewer } from "./viewer-files.ts";

export { openBrowser } from "./open-browser.ts";
export { openFileSource } from "./open-file.ts";

/** Serves an opened file to a browser on this machine. */
export async function serveFile(
  source: InspectSource,
  port: number | undefined,
  say: (words: string) => void,
): Promise<InspectServer> {
  return startInspectServer({ source, viewer: await loadViewer(say), port });
}
