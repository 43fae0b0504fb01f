import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { EventPage, Overview } from "../../../../src/host/inspector/history/viewer-data.ts";
import { ROOT } from "../../../support/programs/run-cli.ts";
import { type Inspected, startInspect } from "../../../support/programs/run-inspect.ts";
import { writeLargeRecording } from "../../../support/recordings/recording-file.ts";
import { HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

const RECORDING = join(ROOT, "test/recordings/main-job.ndjson");

describe.skipIf(!HAS_CHROMIUM)("where the page opens, and links into it", { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-links-"));
  let browser: Browser;
  let served: Inspected | undefined;

  beforeAll(async () => {
    browser = await openChromium();
  });
  afterEach(async () => {
    await served?.stop();
    served = undefined;
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(dir, { recursive: true });
  });

  async function open(args: string[], hash = ""): Promise<Page> {
    served = await startInspect(args);
    const { page } = await openPage(browser, served.page + hash);
    return page;
  }
  const shows = (page: Page, number: number) =>
    page.locator(".event-line strong", { hasText: new RegExp(`^#${number}$`) }).waitFor();

  it("opens at the first decision", async () => {
    const page = await open([RECORDING]);
    await settled(page);
    const rows = (await served?.ask<EventPage>("events?from=0&count=100"))?.rows ?? [];
    const first = rows.find(({ decision, type }) => decision !== "" && type !== "session.opened");
    await shows(page, first?.number ?? 0);
    expect(await page.locator(".changes tr").count()).toBeGreaterThan(0);
  });

  it("opens at the event whose number the address has, and says that number in it", async () => {
    const page = await open([RECORDING], "#event=12");
    await shows(page, 12);
    await page.keyboard.press("ArrowRight");
    await shows(page, 13);
    await expect.poll(() => new URL(page.url()).hash).toBe("#event=13");
    await page.reload();
    await shows(page, 13);
    await page.evaluate(() => {
      location.hash = "#event=21";
    });
    await shows(page, 21);
  });

  it("goes by numbers also where a recording's middle is missing", async () => {
    const lines = readFileSync(RECORDING, "utf8").split("\n");
    const file = join(dir, "with-a-hole.ndjson");
    writeFileSync(file, lines.filter((line) => !/"seq":(?:5|6|7),/.test(line)).join("\n"));
    const page = await open([file, "--event", "30"]);
    await shows(page, 30);
    await page.locator(".scroller li.selected .number", { hasText: /^30$/ }).waitFor();
  });

  it("waits for an event that has not been read yet", async () => {
    const file = writeLargeRecording(20_000);
    const page = await open([file, "--event", "19000"]);
    await page.locator(".event-line strong", { hasText: /^#19,000$/ }).waitFor({ timeout: 40_000 });
  });

  it("copies a link that outlives the server: the command that opens the same event", async () => {
    const file = join(dir, "it's mine.ndjson");
    writeFileSync(file, readFileSync(RECORDING));
    const page = await open([file, "--set", "observeAfterTokens=4000"], "#event=14");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await shows(page, 14);
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(
      `memory-lanes inspect '${join(dir, "it")}'\\''s mine.ndjson' --set observeAfterTokens=4000 --event 14`,
    );
    const overview = await served?.ask<Overview>("overview");
    expect(overview?.source.command).toBe(copied.replace(" --event 14", ""));
  });
});
