import { existsSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadViewer } from "../../../src/host/inspector/server/viewer-files.ts";
import { ROOT } from "../../support/programs/run-cli.ts";

const BUILT = join(ROOT, "dist/viewer/viewer.js");

it("builds the viewer of a checkout anew when its sources have changed, and says so, once", async () => {
  await loadViewer();
  const before = statSync(BUILT).mtimeMs;
  const said: string[] = [];
  await loadViewer((words) => said.push(words));
  expect(said).toEqual([]);
  // As old as if the sources had been changed since.
  utimesSync(BUILT, new Date(0), new Date(0));
  const viewer = await loadViewer((words) => said.push(words));
  expect(said).toEqual([expect.stringMatching(/^Building the viewer from this checkout/)]);
  expect(statSync(BUILT).mtimeMs).toBeGreaterThanOrEqual(before);
  expect(viewer.file("/viewer.js", "token")?.body.length).toBeGreaterThan(50_000);
  expect(existsSync(join(ROOT, "dist/viewer/THIRD-PARTY-LICENSES.txt"))).toBe(true);
});
