import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startInspectServer } from "../../../../src/host/inspector/server/inspect-server.ts";
import { loadViewer } from "../../../../src/host/inspector/server/viewer-files.ts";
import { ROOT } from "../../../support/programs/run-cli.ts";
import { type Inspected, startInspect } from "../../../support/programs/run-inspect.ts";
import { readRecording, writeLargeRecording } from "../../../support/recordings/recording-file.ts";
import { axeFindings, HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

const RECORDING = join(ROOT, "test/recordings/main-job.ndjson");
const SETTINGS = { observeAfterTokens: 2000, reflectAfterTokens: 5000, compactAfterTokens: 9000 };

describe.skipIf(!HAS_CHROMIUM)("the time line", { timeout: 60_000 }, () => {
  let browser: Browser;
  let served: Inspected;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    browser = await openChromium();
    served = await startInspect([RECORDING]);
    ({ page, complaints } = await openPage(browser, served.page));
  });
  afterAll(async () => {
    await browser?.close();
    await served?.stop();
  });

  /** A point of the lanes, by its share of the time line's width */
  async function pointAt(share: number): Promise<{ x: number; y: number }> {
    const box = await page.locator(".swimlanes").boundingBox();
    const { x = 0, y = 0, width = 0 } = box ?? {};
    return { x: x + 104 + share * (width - 128), y: y + 40 };
  }

  it("zooms by buttons, says so, shows where it is in the whole, and moves there", async () => {
    const button = (name: string) => page.getByRole("button", { name });
    expect(await button("Zoom out").isDisabled()).toBe(true);
    expect(await page.locator(".minimap").count()).toBe(0);
    await button("Zoom in").click();
    await button("Zoom in").click();
    await button("4× · show all").waitFor();
    await page.locator(".minimap .window").waitFor();
    const left = () => page.locator(".minimap .window").evaluate((rect) => Number(rect.getAttribute("x")));
    const before = await left();
    const box = await page.locator(".minimap").boundingBox();
    await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) - 60, (box?.y ?? 0) + 5);
    await expect.poll(left).toBeGreaterThan(before + 50);
    await button("Zoom out").click();
    await button("show all").click();
    await page.locator(".minimap").waitFor({ state: "detached" });
  });

  it("tells the values on the curves and the lanes' states under the pointer", async () => {
    const { x, y } = await pointAt(0.5);
    await page.mouse.move(x, y);
    const values = page.locator(".hover .values");
    await values.waitFor();
    expect(await values.textContent()).toMatch(/^#\d+observe[\d,]+ of [\d,]+\S.*reflect.*compact/);
    await page.mouse.move(x, y + 400);
    await values.waitFor({ state: "detached" });
  });

  it("sums a stretch that is drawn with the shift key, and one that is marked by the keyboard", async () => {
    const bar = page.getByRole("region", { name: "Selected stretch" });
    const [from, to] = [await pointAt(0.1), await pointAt(0.7)];
    await page.keyboard.down("Shift");
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await bar.waitFor();
    await expect.poll(() => bar.textContent()).toMatch(/\d+ events in .*observer run.*spend [\d,]+ in/);
    await page.locator(".stretch").waitFor();
    await bar.getByRole("button").click();
    await bar.waitFor({ state: "detached" });

    await page.keyboard.press("Home");
    await settled(page);
    await page.keyboard.press("s");
    await bar.getByText("#1 to #1").waitFor();
    await page.keyboard.press("Shift+ArrowRight");
    await settled(page);
    await page.keyboard.press("s");
    await bar.getByText("#1 to #11").waitFor();
    await expect.poll(() => bar.textContent()).toContain("11 events");
    // On the other axis it is the same stretch.
    await page.keyboard.press("t");
    await page.locator(".stretch").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("t");
    await page.keyboard.press("s");
    await bar.waitFor({ state: "detached" });
  });

  it("draws what a clock has until its next event as a step", async () => {
    // On a step, the pixel right of an event has the event's own height; a slope would have left it.
    const heights = await page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>(".clocks canvas");
      const context = canvas?.getContext("2d");
      if (!canvas || !context) return [];
      const { data, width } = context.getImageData(0, 0, canvas.width, canvas.height);
      const rows: number[] = [];
      for (let x = Math.round(width * 0.3); x < width * 0.9; x++) {
        let top = -1;
        for (let y = 25; y < canvas.height - 30 && top < 0; y++) {
          const [r = 0, g = 0, b = 0, a = 0] = data.slice((y * width + x) * 4, (y * width + x) * 4 + 4);
          if (a > 200 && b > 150 && r < 60 && g > 80 && g < 130) top = y;
        }
        rows.push(top);
      }
      return rows;
    });
    const seen = heights.filter((height) => height >= 0);
    expect(seen.length).toBeGreaterThan(50);
    const level = seen.filter((height, at) => height === seen[at - 1]).length;
    expect(level / seen.length).toBeGreaterThan(0.85);
  });

  it("thins to a histogram where there are too many events, and back to stretches on zooming in", async () => {
    const source = await readRecording(writeLargeRecording(30_000, { settings: SETTINGS }));
    const server = await startInspectServer({ source, viewer: await loadViewer() });
    const large = await openPage(browser, server.page);
    await large.page.locator(".bars").first().waitFor();
    expect(await large.page.locator(".run").count()).toBe(0);
    expect(await large.page.locator(".swimlanes path").count()).toBeLessThan(60);
    for (let time = 0; time < 8; time++) await large.page.keyboard.press("z");
    await large.page.locator(".run").first().waitFor();
    await large.page.locator(".minimap path").first().waitFor();
    expect(large.complaints).toEqual([]);
    await server.close();
  });

  it("complains of nothing", () => expect(complaints).toEqual([]));
});
