import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface ServedFile {
  type: string;
  body: string | Buffer;
  /** Instead of the usual Content-Security-Policy */
  policy?: string;
}

/** The viewer's bundle. Only these names are ever served; nothing is looked up on the disk by what a request says. */
export interface ViewerFiles {
  file(path: string, token: string): ServedFile | undefined;
}

const SCRIPT = "viewer.js";
const STYLES = "viewer.css";

/** Reads the built viewer. Throws, saying what to run, when there is none and none can be built. */
export async function loadViewer(): Promise<ViewerFiles> {
  const folder = builtFolder() ?? (await buildFolder());
  const script = readFileSync(new URL(SCRIPT, folder));
  const styles = readFileSync(new URL(STYLES, folder));
  return {
    file(path, token) {
      if (path === "/") return { type: "text/html; charset=utf-8", body: pageHtml(token) };
      if (path === `/${SCRIPT}`) return { type: "text/javascript; charset=utf-8", body: script };
      if (path === `/${STYLES}`) return { type: "text/css; charset=utf-8", body: styles };
      return undefined;
    },
  };
}

function pageHtml(token: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Memory Lanes</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/${STYLES}?token=${token}">
<script type="module" src="/${SCRIPT}?token=${token}"></script>
</head>
<body></body>
</html>`;
}

/** Beside this module in the package, under the checkout's `dist` when it runs from source. */
function builtFolder(): URL | undefined {
  const places = ["../../../dist/viewer/", "./viewer/", "../viewer/"].map(
    (place) => new URL(place, import.meta.url),
  );
  return places.find((place) => existsSync(new URL(SCRIPT, place)));
}

/** In a checkout, the sources are built on first use. */
async function buildFolder(): Promise<URL> {
  const builder = new URL("./viewer-build.ts", import.meta.url);
  const advice =
    'The viewer is not built; run "npm ci && npm run build:viewer" in the checkout of pi-memory-lanes.';
  if (!existsSync(builder)) throw new Error(advice);
  try {
    const { buildViewer }: { buildViewer: () => Promise<URL> } = await import(fileURLToPath(builder));
    return await buildViewer();
  } catch (error) {
    throw new Error(`${advice} (${error instanceof Error ? error.message.split("\n")[0] : error})`);
  }
}
