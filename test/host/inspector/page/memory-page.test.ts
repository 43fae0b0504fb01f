import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runDemo } from "../../../../demo/demo-run.ts";
import type { EventDetail, EventPage, Overview } from "../../../../src/host/inspector/history/viewer-data.ts";
import { fieldsOf, textOf } from "../../../../src/reducers/entries/entry.ts";
import { start } from "../../../support/programs/run-cli.ts";
import { type Inspected, startInspect } from "../../../support/programs/run-inspect.ts";
import { axeFindings, HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

describe.skipIf(!HAS_CHROMIUM)("the memory on the page", { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-memory-page-"));
  let browser: Browser;
  let served: Inspected;
  let page: Page;
  let complaints: string[];
  let recording: string;
  let sessionFile: string;

  beforeAll(async () => {
    const demo = await runDemo({ dir }, new AbortController().signal);
    ({ sessionFile } = demo);
    recording = join(demo.recordingsDir, readdirSync(demo.recordingsDir)[0] ?? "");
    browser = await openChromium();
    // The recording alone is named: its session is found among Pi's.
    served = await startInspect([recording], { PI_CODING_AGENT_SESSION_DIR: dirname(sessionFile) });
    ({ page, complaints } = await openPage(browser, served.page));
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await served?.stop();
    rmSync(dir, { recursive: true });
  });

  /** What the session's file says of the ledger entries of a type */
  const recorded = (type: string) =>
    readFileSync(sessionFile, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => fieldsOf(JSON.parse(line)))
      .filter(({ customType }) => customType === `om.${type}`)
      .map(({ id, data }) => ({ entry: textOf(id), data: fieldsOf(data) }));
  const firstOf = (list: unknown) => fieldsOf(Array.isArray(list) ? list[0] : undefined);
  async function rows(query = ""): Promise<EventPage["rows"]> {
    for (;;) {
      const found = await served.ask<EventPage>(`events?from=0&count=500${query}`);
      if (found.searched >= 141) return found.rows;
    }
  }
  /** The event that brought an entry */
  async function eventOf(entry: string): Promise<EventPage["rows"][number]> {
    const found = (await rows(`&text=${entry}`)).find(({ type }) => type === "branch.extended");
    return found ?? expect.fail(`no event brought ${entry}`);
  }
  async function goTo(number: number): Promise<void> {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#event=${number}`);
    await page.locator(".where", { hasText: new RegExp(`^#${number} `) }).waitFor();
    await settled(page);
  }
  const line = (within: Locator, id: string) =>
    within.locator(`.lines > li:has(> button code:text-is("${id}"))`).first();

  it("finds the session of a recording by itself", async () => {
    expect(await served.ask<Overview>("overview")).toMatchObject({
      source: { kind: "recording" },
      hasTexts: true,
    });
  });

  it("shows the lines that an event added, and opens one to its messages and the event that recorded it", async () => {
    const [batch] = recorded("observations.recorded");
    const observation = firstOf(batch?.data.observations);
    const event = await eventOf(batch?.entry ?? "");
    await goTo(event.number);
    const shown = line(page.locator(".detail"), textOf(observation.id));
    expect(await shown.textContent()).toContain(observation.content);
    await shown.getByRole("button").first().click();
    await shown.getByText("Recorded by").waitFor();
    await shown.getByRole("button", { name: `#${event.number}` }).waitFor();
    const [source = ""] = observation.sourceEntryIds as string[];
    await shown.getByText(source).waitFor();
    expect(await shown.locator(".source-text pre").first().textContent()).toMatch(/\S/);
    // The event that brought the message is one click away.
    await shown.locator(".source-text .to-event").first().click();
    await expect.poll(() => page.locator(".event-line strong").textContent()).not.toBe(`#${event.number}`);
  });

  it("marks in the memory what the event added, also at the end of the run that did", async () => {
    const [batch] = recorded("reflections.recorded");
    const id = textOf(firstOf(batch?.data.reflections).id);
    const { number } = await eventOf(batch?.entry ?? "");
    await page.keyboard.press("y");
    const ended =
      (await rows()).find(({ type, number: at }) => type === "run.finished" && at > number)?.number ?? 0;
    for (const at of [number, ended]) {
      await goTo(at);
      await line(page.locator(".memory"), id).and(page.locator(".new")).waitFor();
    }
    await goTo(ended + 1);
    await line(page.locator(".memory"), id).and(page.locator(":not(.new)")).waitFor();
    await line(page.locator(".memory"), id).getByRole("button").first().click();
    await page.locator(".memory").getByText("It rests on").first().waitFor();
    // What it rests on opens in its turn.
    await page.locator(".memory .behind .line[aria-expanded=false]").first().click();
    await page.locator(".memory .behind .behind .source-text pre").first().waitFor();
    await page.keyboard.press("e");
  });

  it("says what became of a line that was dropped, before and after that happened", async () => {
    const [drop] = recorded("observations.dropped");
    const [id = ""] = fieldsOf(drop?.data).observationIds as string[];
    const { number } = await eventOf(drop?.entry ?? "");
    await goTo(number);
    await line(page.locator(".detail"), id).locator(".fate").waitFor();
    await page.keyboard.press("y");
    await page.getByRole("button", { name: "dropped", exact: true }).click();
    await line(page.locator(".memory"), id).locator(".fate").waitFor();
    await goTo(number - 1);
    await page.getByRole("button", { name: "all that holds" }).click();
    const before = line(page.locator(".memory"), id);
    await before.waitFor();
    expect(await before.locator(".fate").count()).toBe(0);
    await before.getByRole("button").first().click();
    await before.getByText(/Now (dropped|superseded)/).waitFor();
    await before.getByRole("button", { name: `#${number}` }).click();
    await page
      .locator(".event-line", { hasText: `#${number}` })
      .first()
      .waitFor();
  });

  it("finds memory by its words and its id", async () => {
    const [batch] = recorded("observations.recorded");
    const { content, id } = firstOf(batch?.data.observations);
    const words = textOf(content).split(" ").slice(2, 6).join(" ");
    for (const wanted of [words, words.toUpperCase(), textOf(id)]) {
      const found = await rows(`&text=${encodeURIComponent(wanted)}`);
      expect(found.map(({ number }) => number)).toContain((await eventOf(batch?.entry ?? "")).number);
    }
    await page.keyboard.press("e");
    await page.keyboard.press("/");
    await page.keyboard.type(words);
    await page.locator(".scroller li", { hasText: "observation" }).first().waitFor();
    await page.locator(".scroller li", { hasText: "observation" }).first().dispatchEvent("pointerdown");
    await page.locator(".detail mark").first().waitFor();
    await page.keyboard.press("Escape");
  });

  it("gives axe nothing to find in an open line, and stays within the window at every size", async () => {
    const [batch] = recorded("observations.recorded");
    await goTo((await eventOf(batch?.entry ?? "")).number);
    for (const [width, height, colorScheme] of [
      [800, 600, "light"],
      [1280, 800, "dark"],
      [1920, 1080, "light"],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await settled(page);
      expect(await axeFindings(page), `${width}`).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    }
    // There is room for the memory beside everything else.
    await page.getByRole("region", { name: "Memory" }).locator(".lines li").first().waitFor();
  });

  it("complains of nothing", () => expect(complaints).toEqual([]));

  it("takes the session that it is told, tells the command of it, and knows lines and fates without one", async () => {
    const told = await startInspect([recording, "--session", sessionFile]);
    expect((await told.ask<Overview>("overview")).source.command).toMatch(/ --session \S+\.jsonl$/);
    await told.stop();
    const copy = join(dir, "moved.ndjson");
    copyFileSync(recording, copy);
    const alone = await startInspect([copy], { PI_CODING_AGENT_DIR: join(dir, "nobody") });
    expect(await alone.ask<Overview>("overview")).toMatchObject({ hasTexts: false });
    const [batch] = recorded("observations.recorded");
    const { index } = await eventOf(batch?.entry ?? "");
    const { memory } = await alone.ask<EventDetail>(`event?index=${index}`);
    const made = fieldsOf(batch?.data).observations as { id: string }[];
    expect(memory.added.map(({ id, text }) => [id, text])).toEqual(made.map(({ id }) => [id, null]));
    await alone.stop();
    const refused = start(["inspect", sessionFile, "--session", sessionFile, "--json"]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("--session is for recordings") });
    const swapped = start(["inspect", recording, "--session", recording, "--json"]);
    expect(swapped).toMatchObject({ code: 2, err: expect.stringContaining("takes the session's own file") });
  });
});
