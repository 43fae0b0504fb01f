import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../../support/programs/run-cli.ts";
import { type Inspected, startInspect } from "../../../support/programs/run-inspect.ts";
import { axeFindings, HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

const RECORDING = join(ROOT, "test/recordings/main-job.ndjson");

describe.skipIf(!HAS_CHROMIUM)(
  "the viewer for who has no mouse, or no large screen",
  {
    timeout: 60_000,
  },
  () => {
    let browser: Browser;
    let served: Inspected;
    let page: Page;
    let complaints: string[];

    beforeAll(async () => {
      browser = await openChromium();
      // Under other settings, so that there are notes.
      served = await startInspect([RECORDING, "--set", "observeAfterTokens=4000"]);
      ({ page, complaints } = await openPage(browser, served.page));
    });
    afterAll(async () => {
      await browser?.close();
      await served?.stop();
    });

    const focused = () =>
      page.evaluate(() => {
        const { activeElement } = document;
        return activeElement?.getAttribute("aria-label") ?? activeElement?.textContent ?? "";
      });
    const selected = () => page.locator(".event-line strong").first().textContent();

    it("lets Tab through every control, each of which has a name, and round again", async () => {
      const names: string[] = [];
      for (let press = 0; press < 60 && !names.slice(0, -1).includes(names.at(-1) ?? "-"); press++) {
        await page.keyboard.press("Tab");
        names.push(await focused());
      }
      for (const name of ["Play", "Selected event", "Speed", "Search the events", "runs", "Charts", "Keys"]) {
        expect(names).toContain(name);
      }
      expect(names.filter((name) => /^\W*$/.test(name))).toEqual([]);
    });

    it("gives Space and Enter to the control that the keyboard has gone to", async () => {
      await page.locator("input[type=search]").focus();
      await page.keyboard.press("Tab");
      expect(await focused()).toBe("entries");
      await page.keyboard.press(" ");
      await page.getByRole("button", { name: "entries", pressed: true }).waitFor();
      await page.getByRole("button", { name: "Play" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "entries", pressed: false }).waitFor();
      // Who clicked something still plays with Space.
      await page.getByRole("button", { name: "Charts" }).click();
      await page.getByRole("button", { name: "Event", exact: true }).click();
      await page.keyboard.press("Home");
      await page.keyboard.press(" ");
      await page.getByRole("button", { name: "Pause" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Play" }).waitFor();
    });

    it("says what the selected event is and did", async () => {
      await page.keyboard.press("Home");
      await page.keyboard.press("1");
      await page
        .getByRole("status")
        .filter({ hasText: /^#\d+ .*observer: idle → due/ })
        .waitFor();
      const slider = page.getByRole("slider", { name: "Selected event" });
      expect(await slider.getAttribute("aria-valuetext")).toMatch(/^#\d+, \d\d:\d\d:\d\d$/);
    });

    it("opens its help as a dialog that takes the focus and gives it back", async () => {
      await settled(page);
      await page.getByRole("button", { name: "Keys" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      expect(await focused()).toMatch(/Close/);
      const before = await selected();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await focused()).toBe("Keys");
      expect(await selected()).toBe(before);
    });

    it("shows all notes on request", async () => {
      await page.getByRole("button", { name: /^Under observeAfterTokens=4000/ }).press("Enter");
      await page.getByText("~ is modelled: nothing was recorded for").last().waitFor();
      await page.keyboard.press("Escape");
      expect(await page.locator("#notes").isVisible()).toBe(false);
    });

    it("scrolls what is known of an event by the keyboard", async () => {
      await page.setViewportSize({ width: 1280, height: 480 });
      await page.keyboard.press("PageDown");
      await page.waitForFunction(() => (document.querySelector(".detail")?.scrollTop ?? 0) > 20);
      await page.keyboard.press("PageUp");
      await page.waitForFunction(() => document.querySelector(".detail")?.scrollTop === 0);
    });

    it.each([
      [480, 800],
      [720, 900],
      [1280, 720],
      [3440, 1440],
    ])("fits into %i by %i", async (width, height) => {
      await page.setViewportSize({ width, height });
      const size = () =>
        page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
      await expect.poll(size).toEqual([width, height]);
      for (const name of ["Next change of compaction", "Play", "Keys"]) {
        const box = await page.getByRole("button", { name }).boundingBox();
        expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
      }
      expect((await page.locator(".scroller").boundingBox())?.height).toBeGreaterThan(100);
      expect((await page.locator(".detail").boundingBox())?.height).toBeGreaterThan(100);
    });

    it.each(["light", "dark"] as const)("gives axe nothing to find in the %s theme", async (colorScheme) => {
      await page.setViewportSize({ width: 1280, height: 720 });
      await page.emulateMedia({ colorScheme });
      const found: string[] = [];
      for (const key of ["e", "c", "?"]) {
        await page.keyboard.press(key);
        await settled(page);
        found.push(...(await axeFindings(page)));
      }
      await page.keyboard.press("Escape");
      expect(found).toEqual([]);
    });

    it.each([
      [800, 600],
      [1280, 800],
      [1920, 1080],
    ])("keeps the selected event in sight at %i by %i", async (width, height) => {
      await page.setViewportSize({ width, height });
      for (const key of ["Home", "n", "n", "n", "n", "End", "p", "p"]) {
        await page.keyboard.press(key);
        await settled(page).catch(() => expect.fail(`not in sight after ${key}`));
      }
    });

    it("says when nothing matches, and Escape in the search clears the whole filter", async () => {
      await page.getByRole("button", { name: "runs", exact: true }).click();
      await page.keyboard.press("/");
      await page.keyboard.type("no such word");
      await page.getByText("No event matches.").waitFor();
      await page.keyboard.press("Escape");
      await page.getByText("No event matches.").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "runs", exact: true, pressed: false }).waitFor();
      expect(await page.getByRole("searchbox").inputValue()).toBe("");
      expect(await page.locator(".scroller li").count()).toBeGreaterThan(3);
      // The same for who has no keyboard at hand
      await page.keyboard.press("/");
      await page.keyboard.type("no such word");
      await page.getByRole("button", { name: "Show all" }).click();
      expect(await page.getByRole("searchbox").inputValue()).toBe("");
      await settled(page);
    });

    it("complains of nothing", () => expect(complaints).toEqual([]));
  },
);
