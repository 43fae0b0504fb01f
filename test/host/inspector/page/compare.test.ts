import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runDemo } from "../../../../demo/demo-run.ts";
import type {
  Memory,
  MomentsCompared,
  RunsCompared,
  Timeline,
} from "../../../../src/host/inspector/history/viewer-data.ts";
import { type Inspected, startInspect } from "../../../support/programs/run-inspect.ts";
import { axeFindings, HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

describe.skipIf(!HAS_CHROMIUM)("two moments and two runs side by side", { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-compare-"));
  let browser: Browser;
  let served: Inspected;
  let recording: string;
  let sessionFile: string;

  beforeAll(async () => {
    const demo = await runDemo({ dir }, new AbortController().signal);
    ({ sessionFile } = demo);
    recording = join(dir, "recording.ndjson");
    copyFileSync(join(demo.recordingsDir, readdirSync(demo.recordingsDir)[0] ?? ""), recording);
    browser = await openChromium();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    rmSync(dir, { recursive: true });
  });

  it("shows two pinned moments with the memory that only one of them has", async () => {
    served = await startInspect([recording, "--session", sessionFile]);
    const { page, complaints } = await openPage(browser, `${served.page}#event=29`);
    await page.locator(".where", { hasText: "#29 " }).waitFor();
    await settled(page);
    await page.getByRole("button", { name: "Pin as A" }).click();
    await page.keyboard.press("End");
    await settled(page);
    await page.keyboard.press("m");
    await page.getByRole("columnheader", { name: "A, #29" }).waitFor();
    const { count } = await served.ask<{ count: number }>("overview");
    const compared = await served.ask<MomentsCompared>(`moments?a=28&b=${count - 1}`);
    const idsAt = async (index: number) => {
      const memory = await served.ask<Memory>(`memory?view=full&index=${index}`);
      return [...memory.reflections, ...memory.observations].map(({ id }) => id);
    };
    const [before, after] = [await idsAt(28), await idsAt(count - 1)];
    const sorted = (ids: string[]) => [...ids].sort();
    const ids = (lines: readonly { id: string }[]) => sorted(lines.map(({ id }) => id));
    expect(ids(compared.onlyA)).toEqual(sorted(before.filter((id) => !after.includes(id))));
    expect(ids(compared.onlyB)).toEqual(sorted(after.filter((id) => !before.includes(id))));
    expect(compared.both.length + compared.onlyA.length).toBe(before.length);
    for (const { id, text } of [...compared.onlyA, ...compared.onlyB]) {
      expect(text).toMatch(/\S/);
      expect(await page.locator(".compare .columns").textContent()).toContain(id);
    }
    await page.locator(".compare .columns .line").last().click();
    await page.locator(".compare .behind .source-text pre, .compare .behind .line").first().waitFor();
    expect(await page.locator(".pin-mark").count()).toBe(2);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "#29 run finished" }).click();
    await page.locator(".where", { hasText: "#29 " }).waitFor();
    await page.getByRole("button", { name: "Unpin both" }).click();
    await page.locator(".pin-mark").first().waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await served.stop();
  });

  it.each(["recording", "session"])(
    "shows a what-if of a %s under the run as it was, and counts the differences",
    async (kind) => {
      const file = kind === "recording" ? recording : sessionFile;
      served = await startInspect([file, "--set", "observeAfterTokens=3000"]);
      const { page, complaints } = await openPage(browser, served.page);
      await page.getByRole("button", { name: "by time" }).waitFor();
      await expect.poll(() => page.locator(".swimlanes .run-name").count()).toBe(3);
      await page.keyboard.press("v");
      await page.getByText(/\d+ sums? differs? of \d+/).waitFor();
      const { sums, lanes } = await served.ask<RunsCompared>("runs");
      const runs = sums.find(({ name }) => name === "observer runs");
      expect(Number(runs?.whatIf) - Number(runs?.real)).toBe(runs?.delta);
      if (kind === "recording") expect(runs?.real).toBe("6");
      const observer = lanes.find(({ lane }) => lane === "observer");
      expect(observer?.share).toBeLessThanOrEqual(1);
      const timeline = await served.ask<Timeline>("timeline?axis=time&width=900");
      expect(timeline.real?.runs.filter(({ lane }) => lane === "observer").length).toBe(Number(runs?.real));
      for (const { times, share, firstAt } of lanes) {
        expect(times === 0).toBe(share === 0);
        expect(times === 0).toBe(firstAt === null);
      }
      expect(await axeFindings(page)).toEqual([]);
      expect(complaints).toEqual([]);
      await served.stop();
    },
  );

  it("finds no difference between a run and itself", async () => {
    // The setting is the one that it was recorded under.
    served = await startInspect([recording, "--set", "observeAfterTokens=1200"]);
    const { sums, lanes } = await served.ask<RunsCompared>("runs");
    expect(sums.filter(({ delta }) => delta !== 0)).toEqual([]);
    expect(lanes.map(({ times }) => times)).toEqual([0, 0, 0]);
    await served.stop();
  });
});
