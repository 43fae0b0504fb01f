import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type InspectServer,
  startInspectServer,
} from "../../../../src/host/inspector/server/inspect-server.ts";
import { loadViewer } from "../../../../src/host/inspector/server/viewer-files.ts";
import { lanesAtRest, openHost, prose, SMALL } from "../../../pi/support/harness.ts";
import { readRecording, writeLargeRecording } from "../../../support/recordings/recording-file.ts";
import { HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

const LIVE_TURNS = 20;
const SETTINGS = { observeAfterTokens: 2000, reflectAfterTokens: 5000, compactAfterTokens: 9000 };

if (!HAS_CHROMIUM)
  console.warn("The viewer's tests are skipped: there is no /usr/bin/chromium (set CHROMIUM).");

describe.skipIf(!HAS_CHROMIUM)("the viewer in a real browser", { timeout: 90_000 }, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await openChromium();
  });
  afterAll(() => browser?.close());

  const number = (page: Page) => page.locator(".event-line strong").first().textContent();
  /** How many stretches of states are drawn; the narrow ones share a shape. */
  const stretches = (page: Page) =>
    page
      .locator(".span")
      .evaluateAll((spans) =>
        spans.reduce(
          (sum, span) => sum + (span.querySelector("path")?.getAttribute("d")?.split("M").length ?? 2) - 1,
          0,
        ),
      );
  const shows = (page: Page, expected: string) =>
    page.waitForFunction(
      (text) => document.querySelector(".event-line strong")?.textContent === text,
      expected,
    );

  describe("on a recording", () => {
    let server: InspectServer;
    let page: Page;
    let complaints: string[];

    beforeAll(async () => {
      const source = await readRecording(writeLargeRecording(30_000, { settings: SETTINGS }));
      server = await startInspectServer({ source, viewer: await loadViewer() });
      ({ page, complaints } = await openPage(browser, server.page));
    });
    afterAll(() => server?.close());

    it("shows the first decision, the lanes and the rows in sight only", async () => {
      expect(await page.locator("header").textContent()).toMatch(/30,0\d\d events/);
      await settled(page);
      await expect.poll(() => stretches(page)).toBeGreaterThan(20);
      expect(await page.locator(".scroller li").count()).toBeLessThan(80);
      expect(await page.locator(".clocks canvas").count()).toBe(1);
      expect(await page.locator(".scroller li.selected").count()).toBe(1);
    });

    it("steps with the keyboard", async () => {
      await page.keyboard.press("Home");
      await shows(page, "#1");
      await page.keyboard.press("ArrowRight");
      await shows(page, "#2");
      await page.keyboard.press("Shift+ArrowRight");
      await shows(page, "#12");
      await page.keyboard.press("k");
      await shows(page, "#11");
      expect(await page.locator(".changes tr").count()).toBeGreaterThanOrEqual(0);
    });

    it("jumps to the next change of a lane and says why", async () => {
      await page.keyboard.press("Home");
      await shows(page, "#1");
      await page.keyboard.press("1");
      // The first event changes every lane, from nothing.
      await page.waitForFunction(() =>
        /observer lane ?idle/.test(document.querySelector(".changes")?.textContent ?? ""),
      );
      expect(await page.locator(".why").textContent()).toMatch(/observerdue /);
      await page.keyboard.press("3");
      await page.waitForFunction(() =>
        /compaction lane ?idle/.test(document.querySelector(".changes")?.textContent ?? ""),
      );
    });

    it("filters and searches; the steps follow the filter", async () => {
      await page.keyboard.press("Home");
      await page.getByRole("button", { name: "runs", exact: true }).click();
      await page.waitForFunction(() =>
        [...document.querySelectorAll(".scroller .type")].every(
          ({ textContent }) => textContent === "run finished",
        ),
      );
      await page.keyboard.press("Escape");
      await page.locator("h1").click();
      await page.keyboard.press("ArrowRight");
      await page.locator(".event-line", { hasText: "run finished" }).waitFor();
      expect(await page.locator(".detail").textContent()).toMatch(/tokens in/);
      await page.getByRole("button", { name: "runs", exact: true }).click();

      await page.keyboard.press("/");
      await page.keyboard.type("startRun observer-2 ");
      await page.waitForFunction(() => {
        const rows = [...document.querySelectorAll(".scroller li")];
        return rows.length > 0 && rows.every(({ textContent }) => textContent?.includes("observer-2"));
      });
      await page.locator("input[type=search]").fill("");
      await page.keyboard.press("Enter");
    });

    it("keeps what is being typed while something else is drawn", async () => {
      const search = page.locator("input[type=search]");
      await page.keyboard.press("/");
      await page.keyboard.type("observ");
      // Sooner than the search begins
      await page.evaluate(() => {
        for (const chip of document.querySelectorAll<HTMLButtonElement>(".chip"))
          if (chip.textContent === "runs") chip.click();
      });
      await page.keyboard.type("er-2 ");
      await page.getByRole("button", { name: "runs", pressed: true }).waitFor();
      expect(await search.inputValue()).toBe("observer-2 ");
      await page.waitForFunction(() => {
        const rows = [...document.querySelectorAll(".scroller li")];
        return rows.length > 0 && rows.every(({ textContent }) => textContent?.includes("run finished"));
      });
      await page.getByRole("button", { name: "runs", exact: true }).click();
      await search.fill("");
      await search.press("Enter");
    });

    it("plays, and stops when asked to", async () => {
      await page.keyboard.press("Home");
      await shows(page, "#1");
      await page.keyboard.press("+");
      await page.keyboard.press(" ");
      await page.waitForFunction(
        () => Number(document.querySelector(".event-line strong")?.textContent?.slice(1)) > 5,
      );
      await page.keyboard.press(" ");
      await page.getByRole("button", { name: "Play" }).waitFor();
      await settled(page);
      const stopped = await number(page);
      await page.waitForTimeout(500);
      expect(await number(page)).toBe(stopped);
    });

    it("lights the active state and the arrow just taken in the charts", async () => {
      await page.keyboard.press("1");
      await page.keyboard.press("c");
      await expect.poll(() => page.locator("figure").count()).toBe(3);
      await page.locator(".edge.last").first().waitFor();
      expect(await page.locator(".node.active").count()).toBeGreaterThanOrEqual(3);
      expect(await page.locator(".edge.never").count()).toBeGreaterThan(3);
      expect(await page.locator(".edge-count").count()).toBeGreaterThan(5);
      await page.keyboard.press("e");
    });

    it("zooms, moves, and shows time instead of events", async () => {
      await page.locator(".bars").first().waitFor();
      // Where playing was stopped there need not be a run.
      await page.keyboard.press("Home");
      for (let time = 0; time < 2; time++) await page.keyboard.press("1");
      await settled(page);
      for (let time = 0; time < 6; time++) await page.keyboard.press("z");
      await page.locator(".run").first().waitFor();
      await expect.poll(() => stretches(page)).toBeGreaterThan(20);
      await page.keyboard.press("a");
      await page.keyboard.press("t");
      await page.getByRole("button", { name: "by time" }).waitFor();
      await page.keyboard.press("t");
    });

    it("fits into 1280 by 720 without scrolling, and complains of nothing", async () => {
      const [width, height] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.scrollHeight,
      ]);
      expect(width).toBeLessThanOrEqual(1280);
      expect(height).toBeLessThanOrEqual(720);
      expect(complaints).toEqual([]);
    });
  });

  it(`follows a live Pi for ${LIVE_TURNS} turns`, async () => {
    const script = { agent: (_request: unknown, nth: number) => ({ text: prose(500, nth) }) };
    const host = await openHost({ memory: SMALL, script });
    try {
      await host.pi.prompt("Turn 0.");
      const text = (await host.pi.command("/om:inspect")).join("\n");
      const { page, complaints } = await openPage(browser, /http:\S+/.exec(text)?.[0] ?? "");
      for (let turn = 1; turn <= LIVE_TURNS; turn++) {
        await host.pi.prompt(`Turn ${turn}: what leaves bay ${turn}?`);
        await lanesAtRest(host.pi);
      }
      const url = new URL(page.url());
      const { count } = (await (await fetch(new URL(`/data/overview${url.search}`, url))).json()) as {
        count: number;
      };
      expect(count).toBeGreaterThan(LIVE_TURNS * 3);
      await shows(page, `#${count.toLocaleString("en-US")}`);
      await expect.poll(() => page.locator(".run.outcome-recorded").count()).toBeGreaterThan(2);
      await page.keyboard.press("y");
      await page.locator(".memory .lines li").first().waitFor();
      expect(complaints).toEqual([]);
      await host.pi.stop();
      await page.getByText("Pi has gone").waitFor();
      await page.keyboard.press("p");
      await page.getByText("has not shown before").waitFor();
      expect(complaints).toEqual([]);
    } finally {
      await host.close();
    }
  });
});
