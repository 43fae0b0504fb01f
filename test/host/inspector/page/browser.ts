import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Up to how many milliseconds each of the server's answers comes late: shows which test does not wait for what it reads. */
const LATE_MS = Number(process.env.VIEWER_LATE_MS ?? 0);

/** Whether tests can have a real browser here. */
export const HAS_CHROMIUM = existsSync(CHROMIUM);

export function openChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A page of the size that the viewer must be readable at, with everything that its console complained of. */
export async function openPage(
  browser: Browser,
  address: string,
  colorScheme: "light" | "dark" = "light",
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (new URL(request.url()).host !== new URL(address).host) complaints.push(`asked ${request.url()}`);
  });
  if (LATE_MS > 0) {
    await page.route("**/data/**", async (route) => {
      await sleep(LATE_MS * Math.random());
      await route.continue();
    });
  }
  await page.goto(address);
  await page.locator(".event-line").first().waitFor();
  return { page, complaints };
}

/** Everything that axe finds wrong with the page as it stands, in words; empty when it finds nothing. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} (${help}): ${target.join(" ")} ${failureSummary}`),
  );
}

/** Resolves when the page shows what it has selected, its row among the events in sight. */
export async function settled(page: Page): Promise<void> {
  await page.locator(".panel[aria-busy=false]").waitFor();
  await page.waitForFunction(() => {
    const row = document.querySelector(".scroller li.selected")?.getBoundingClientRect();
    const sight = document.querySelector(".scroller")?.getBoundingClientRect();
    return row && sight && row.top > sight.top - 1 && row.bottom < sight.bottom + 1;
  });
}
