import { type LiveSession, openLiveSource } from "../event-sources/live-source.ts";
import { type InspectServer, startInspectServer } from "./inspect-server.ts";
import { loadViewer } from "./viewer-files.ts";

export { openBrowser } from "./open-browser.ts";

/** Serves a running session's lanes until it is closed. */
export async function inspectLive({
  say,
  port,
  ...session
}: LiveSession & { say: (words: string) => void; port: number | undefined }): Promise<InspectServer> {
  const viewer = await loadViewer(say);
  return startInspectServer({ source: openLiveSource(session), viewer, port });
}
