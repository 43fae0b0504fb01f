import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Overview } from "../../../../src/host/inspector/history/viewer-data.ts";
import { lanesAtRest, openHost, type PiHost, prose, SMALL } from "../../../pi/support/harness.ts";
import { run } from "../../../support/programs/run-cli.ts";
import { startInspect } from "../../../support/programs/run-inspect.ts";
import { HAS_CHROMIUM, openChromium, openPage, settled } from "./browser.ts";

/** A port that nobody listens on just now */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

describe.skipIf(!HAS_CHROMIUM)("the page of a running Pi", { timeout: 60_000 }, () => {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-live-page-"));
  let browser: Browser;
  let host: PiHost;
  let page: Page;
  let complaints: string[];
  let port: number;

  beforeAll(async () => {
    browser = await openChromium();
    host = await openHost({
      memory: SMALL,
      script: { agent: (_request, nth) => ({ text: prose(700, nth) }) },
    });
    await host.pi.prompt("Begin.");
    await lanesAtRest(host.pi);
    port = await freePort();
    const told = (await host.pi.command(`/om:inspect --port ${port}`)).join("\n");
    ({ page, complaints } = await openPage(browser, /http:\S+/.exec(told)?.[0] ?? ""));
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await host?.close();
    rmSync(dir, { recursive: true });
  });

  const number = async () =>
    Number((await page.locator(".event-line strong").textContent())?.replace(/\D/g, ""));

  async function save(): Promise<string> {
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save recording" }).click();
    const download = await downloading;
    const file = join(dir, download.suggestedFilename());
    await download.saveAs(file);
    return file;
  }

  it("is served on the port that was asked for, and refuses what is none", async () => {
    expect(new URL(page.url()).port).toBe(String(port));
    for (const wrong of ["--port 70000", "--port 0", "shut"]) {
      expect((await host.pi.command(`/om:inspect ${wrong}`)).join("\n")).toContain(
        "/om:inspect does not know",
      );
    }
  });

  it("saves the session as a recording that verifies and has its events under the same numbers", async () => {
    for (const words of ["Go on.", "And on."]) {
      await host.pi.prompt(words);
      await lanesAtRest(host.pi);
    }
    await page.locator(".run.outcome-recorded").first().waitFor();
    await settled(page);
    const shown = await number();
    const words = await page.locator(".event-line .said").textContent();
    const type = await page.locator(".event-line > span").first().textContent();
    const file = await save();
    expect(await run(["replay", file, "--verify"])).toMatchObject({
      code: 0,
      out: expect.stringContaining("all as recorded"),
    });
    const served = await startInspect([file, "--event", String(shown)]);
    const again = await openPage(browser, served.page);
    await again.page.locator(".event-line strong", { hasText: `#${shown}` }).waitFor();
    expect(await again.page.locator(".event-line .said").textContent()).toBe(words);
    expect(await again.page.locator(".event-line > span").first().textContent()).toBe(type);
    expect((await served.ask<Overview>("overview")).source.saveAs).toBeNull();
    await served.stop();
  });

  it("says so when Pi goes, still shows what it has shown, and can save it", async () => {
    await host.pi.prompt("The last one.");
    await lanesAtRest(host.pi);
    await page.keyboard.press("Home");
    await settled(page);
    await page.keyboard.press("ArrowRight");
    await settled(page);
    await host.pi.stop();
    await page.getByText("Pi has gone").waitFor();
    await page.keyboard.press("ArrowLeft");
    await page.locator(".event-line strong", { hasText: /^#1$/ }).waitFor();
    await page.keyboard.press("p");
    await page.getByText("has not shown before").waitFor();
    const file = await save();
    expect(await run(["replay", file, "--verify"])).toMatchObject({ code: 0 });
    expect(complaints).toEqual([]);
  });
});
