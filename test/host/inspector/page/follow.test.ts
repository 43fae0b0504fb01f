import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../../support/programs/run-cli.ts";
import { type Inspected, startInspect } from "../../../support/programs/run-inspect.ts";
import { HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

const LINES = readFileSync(join(ROOT, "test/recordings/main-job.ndjson"), "utf8").trimEnd().split("\n");
/** Lines up to the 20th, the 40th and the last event, and the numbers of these */
const [EARLY, LATER, END] = [20, 40, 57].map((number) => ({
  number,
  text: LINES.slice(0, LINES.findIndex((line) => line.includes(`"seq":${number},`)) + 1).join("\n"),
})) as [Stretch, Stretch, Stretch];

interface Stretch {
  number: number;
  text: string;
}

describe.skipIf(!HAS_CHROMIUM)("a recording that another Pi is writing", { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-follow-"));
  const file = join(dir, "recording.ndjson");
  let browser: Browser;
  let served: Inspected;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    writeFileSync(file, `${EARLY.text}\n`);
    browser = await openChromium();
    served = await startInspect([file]);
    ({ page, complaints } = await openPage(browser, `${served.page}#newest`));
  });
  afterAll(async () => {
    await served?.stop();
    await browser?.close();
    rmSync(dir, { recursive: true });
  });

  const shows = (number: number) => page.locator(".event-line strong", { hasText: `#${number}` }).waitFor();
  const follows = () => page.getByRole("button", { name: "following", pressed: true }).waitFor();
  const counts = (number: number) => page.locator("header", { hasText: `${number} events` }).waitFor();

  it("shows what is appended, at the live end", async () => {
    await shows(EARLY.number);
    await follows();
    // In two pieces, the first of which ends within a line.
    const more = `${LATER.text.slice(EARLY.text.length + 1)}\n`;
    appendFileSync(file, more.slice(0, 333));
    await page.waitForTimeout(400);
    appendFileSync(file, more.slice(333));
    await counts(LATER.number);
    await shows(LATER.number);
  });

  it("leaves a user alone who looks at something else, and goes on when asked to", async () => {
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "follow", pressed: false }).waitFor();
    await settled(page);
    const stays = (await page.locator(".event-line strong").textContent()) ?? "";
    const scrolled = await page.locator(".scroller").evaluate(({ scrollTop }) => scrollTop);
    appendFileSync(file, `${END.text.slice(LATER.text.length + 1)}\n`);
    await counts(END.number);
    await page.waitForTimeout(500);
    expect(await page.locator(".event-line strong").textContent()).toBe(stays);
    expect(await page.locator(".scroller").evaluate(({ scrollTop }) => scrollTop)).toBe(scrolled);
    await page.keyboard.press("f");
    await shows(END.number);
  });

  it("does not pull a user back who scrolls the events", async () => {
    await page.keyboard.press("f");
    await follows();
    await settled(page);
    await page.locator(".scroller").hover();
    await page.mouse.wheel(0, -300);
    await page.getByRole("button", { name: "follow", pressed: false }).waitFor();
    await shows(END.number);
  });

  it("follows again after it was loaded anew, and keeps a chosen event", async () => {
    await page.keyboard.press("f");
    await follows();
    await page.reload();
    await follows();
    await page.keyboard.press("ArrowLeft");
    await shows(END.number - 1);
    await page.reload();
    await shows(END.number - 1);
    await page.getByRole("button", { name: "follow", pressed: false }).waitFor();
  });

  it("says when the inspector has stopped, and complains of nothing else", async () => {
    expect(complaints).toEqual([]);
    await served.stop();
    await page.getByText("the inspector has stopped").waitFor();
  });
});
