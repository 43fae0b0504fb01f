// Makes the pictures in docs/images from a real session of Pi: node test/host/inspector/page/pictures.ts
import { mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { DEMO_TURNS } from "../../../../demo/conversation/demo-conversation.ts";
import { DEMO_SCRIPT } from "../../../../demo/conversation/demo-script.ts";
import { DEMO_MEMORY, runDemo } from "../../../../demo/demo-run.ts";
import { startScriptedModel } from "../../../../demo/model/scripted-model.ts";
import { createIo } from "../../../../src/host/cli/io.ts";
import {
  type OpenFileOptions,
  openFileSource,
} from "../../../../src/host/inspector/event-sources/file-source.ts";
import { startInspectServer } from "../../../../src/host/inspector/server/inspect-server.ts";
import { loadViewer } from "../../../../src/host/inspector/server/viewer-files.ts";
import { openTerminal } from "../../../pi/support/terminal.ts";
import { openChromium, openPage } from "./browser.ts";
import { terminalHtml } from "./terminal-html.ts";

const ROOT = resolve(import.meta.dirname, "../../../..");
const IMAGES = join(ROOT, "docs/images");

mkdirSync(IMAGES, { recursive: true });
const dir = mkdtempSync(join(tmpdir(), "memory-lanes-pictures-"));
const browser = await openChromium();
try {
  const { sessionFile, recordingsDir } = await runDemo({ dir }, new AbortController().signal);
  const [recording = ""] = readdirSync(recordingsDir);
  const file = join(recordingsDir, recording);
  const texts = { session: sessionFile };
  const opened = ["End", "p"];
  await viewerPictures(browser, file, texts, [
    { name: "viewer-light", theme: "light", keys: opened },
    { name: "viewer-charts-light", theme: "light", keys: [...opened, "c"] },
    { name: "viewer-dark", theme: "dark", keys: opened },
    { name: "viewer-charts-dark", theme: "dark", keys: [...opened, "c"] },
    { name: "viewer-memory-dark", theme: "dark", keys: [...opened, "y"], click: ".memory .new .line" },
    { name: "viewer-moments-light", theme: "light", keys: ["2", "2", "2", "2", "m", ...opened, "m"] },
    {
      name: "viewer-stretch-light",
      theme: "light",
      keys: ["n", "s", "n", "n", "n", "n", "n", "s", "z", "z"],
    },
    { name: "viewer-small-light", theme: "light", keys: opened, size: { width: 800, height: 600 } },
    { name: "viewer-wide-light", theme: "light", keys: opened, size: { width: 1920, height: 1080 } },
  ]);
  const patch = { observeAfterTokens: 3000 };
  await viewerPictures(browser, file, { ...texts, patch }, [
    { name: "viewer-what-if-light", theme: "light", keys: ["v"] },
  ]);
  await terminalPictures(browser);
} finally {
  await browser.close();
}

interface Picture {
  name: string;
  theme: "light" | "dark";
  keys: string[];
  /** What is clicked then */
  click?: string;
  /** Unset: as `openPage` has it */
  size?: { width: number; height: number };
}

async function viewerPictures(
  chromium: Browser,
  file: string,
  options: OpenFileOptions,
  pictures: Picture[],
): Promise<void> {
  const source = await openFileSource(createIo(), file, options);
  await source.ready;
  const server = await startInspectServer({ source, viewer: await loadViewer() });
  for (const { name, theme, keys, click, size } of pictures) {
    const { page, complaints } = await openPage(chromium, server.page, theme);
    if (size) await page.setViewportSize(size);
    await sleep(500);
    for (const key of keys) {
      await page.keyboard.press(key);
      await sleep(300);
    }
    if (click) await page.locator(click).first().click();
    if (click) await sleep(500);
    await page.screenshot({ path: join(IMAGES, `${name}.png`) });
    if (complaints.length > 0) throw new Error(`${name}: ${complaints.join("; ")}`);
    await page.context().close();
  }
  await server.close();
}

/** `/om:lanes` over a conversation, while the observer works. */
async function terminalPictures(chromium: Browser): Promise<void> {
  const model = await startScriptedModel(DEMO_SCRIPT);
  const terminal = openTerminal({
    dir: mkdtempSync(join(tmpdir(), "memory-lanes-pictures-")),
    modelUrl: model.url,
    settings: {
      quietStartup: true,
      compaction: { keepRecentTokens: 1500 },
      "observational-memory": DEMO_MEMORY,
    },
    extensions: [ROOT],
    env: { PATH: `${join(process.execPath, "..")}:${process.env.PATH ?? ""}` },
  });
  try {
    await terminal.shows(/observe/);
    // The screen that shows most of what the workers recorded
    let best = "";
    for (const { asks } of DEMO_TURNS.slice(0, 6)) {
      terminal.type(asks.replaceAll("\n", " "));
      terminal.press("Enter");
      await sleep(2500);
      const screen = terminal.screen({ styled: true });
      if (screen.split("◦ Memory").length > best.split("◦ Memory").length) best = screen;
    }
    if (best === "") throw new Error("no ledger line was ever in sight");
    await picture("transcript", best);
    terminal.type("/om:lanes");
    await sleep(500);
    terminal.press("Enter");
    await terminal.shows(/esc or q closes/);
    await sleep(500);
    await picture("om-lanes", terminal.screen({ styled: true }));
  } finally {
    terminal.close();
    await model.close();
  }

  async function picture(name: string, screen: string): Promise<void> {
    const page = await chromium.newPage({ deviceScaleFactor: 1.5, viewport: { width: 1080, height: 700 } });
    await page.setContent(terminalHtml(screen));
    await page.locator("body").screenshot({ path: join(IMAGES, `${name}.png`) });
    await page.close();
  }
}
