import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
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

/**
 * Reads the built viewer; in a checkout whose viewer has been changed, builds it first and says so. Throws, saying what to
 * run, when there is none and none can be built.
 */
export async function loadViewer(say: (words: string) => void = () => {}): Promise<ViewerFiles> {
  const built = builtFolder();
  const folder = built && !isOutdated(built) ? built : await buildFolder(built, say);
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
  const places = ["../../../../dist/viewer/", "./viewer/", "../viewer/"].map(
    (place) => new URL(place, import.meta.url),
  );
  return places.find((place) => existsSync(new URL(SCRIPT, place)));
}

const BUILDER = new URL("../../../../scripts/build-page.ts", import.meta.url);
const SOURCES = new URL("../page/", import.meta.url);

/** Whether a checkout's sources are newer than what was built of them. The package ships no sources. */
function isOutdated(built: URL): boolean {
  if (!existsSync(BUILDER)) return false;
  const changes = [
    BUILDER,
    ...readdirSync(SOURCES, { recursive: true }).map((name) => new URL(String(name), SOURCES)),
  ];
  const since = statSync(new URL(SCRIPT, built)).mtimeMs;
  return changes.some((source) => statSync(source).mtimeMs > since);
}

const ADVICE =
  'The viewer is not built; run "npm ci && npm run build:viewer" in the checkout of pi-memory-lanes.';

async function buildFolder(old: URL | undefined, say: (words: string) => void): Promise<URL> {
  if (!existsSync(BUILDER)) throw new Error(ADVICE);
  try {
    const { buildViewer }: { buildViewer: () => Promise<URL> } = await import(fileURLToPath(BUILDER));
    say("Building the viewer from this checkout, which takes some seconds…");
    return await buildViewer();
  } catch (error) {
    // Without the tools an old viewer is better than none.
    if (old) return old;
    throw new Error(`${ADVICE} (${error instanceof Error ? error.message.split("\n")[0] : error})`);
  }
}
