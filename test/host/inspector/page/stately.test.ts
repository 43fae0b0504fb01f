import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../../support/programs/run-cli.ts";
import { startInspect } from "../../../support/programs/run-inspect.ts";
import { HAS_CHROMIUM, openChromium } from "./browser.ts";

it.skipIf(!HAS_CHROMIUM)(
  "says why Stately's frame is empty where there is no network, and where to look instead",
  { timeout: 30_000 },
  async () => {
    const browser = await openChromium();
    const served = await startInspect([join(ROOT, "test/recordings/main-job.ndjson")]);
    try {
      const page = await browser.newPage();
      await page.route("https://stately.ai/**", (route) => route.abort("internetdisconnected"));
      await page.goto(served.page.replace("/?", "/stately?"));
      await page.getByText("stately.ai does not answer").waitFor();
      await page.getByRole("link", { name: "The local page" }).click();
      await page.locator(".event-line").first().waitFor();
      expect(new URL(page.url()).pathname).toBe("/");
    } finally {
      await browser.close();
      await served.stop();
    }
  },
);
