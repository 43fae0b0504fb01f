import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { largeRecording } from "../test/support/large-recording.ts";

/**
 * How fast `memory-lanes replay` goes through a long recording, as a user starts it, and what memory it takes:
 *
 *   node bench/replay.ts [events] [tokens per entry]
 *
 * Fewer tokens per entry mean fewer runs: with 10, nearly all events move no lane.
 */
const [events = 1_000_000, tokensPerEntry = 120] = process.argv.slice(2).map(Number);
const BIN = join(import.meta.dirname, "../src/host/bin.js");
const dir = mkdtempSync(join(tmpdir(), "memory-lanes-bench-"));

try {
  const file = join(dir, "recording.ndjson");
  await write(file);
  const megabytes = (statSync(file).size / 1e6).toFixed(0);
  console.log(
    `${events.toLocaleString("en-US")} events, ${tokensPerEntry} tokens per entry, ${megabytes} MB`,
  );
  for (const args of [["--verify"], [], ["--json"]]) measure(file, args);
} finally {
  rmSync(dir, { recursive: true });
}

async function write(file: string): Promise<void> {
  const stream = createWriteStream(file);
  let text = "";
  for (const line of largeRecording({ events, tokensPerEntry })) {
    text += `${JSON.stringify(line)}\n`;
    if (text.length < 1e6) continue;
    if (!stream.write(text)) await once(stream, "drain");
    text = "";
  }
  stream.end(text);
  await once(stream, "finish");
}

/** Time is that of the process's own work, so that what else the machine does counts less. */
function measure(file: string, args: readonly string[]): void {
  const report = `process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    require("node:fs").writeSync(3, JSON.stringify({ seconds: (userCPUTime + systemCPUTime) / 1e6, maxRSS }));
  })`;
  const preload = `data:text/javascript,import { createRequire } from "node:module"; const require = createRequire("/"); ${encodeURIComponent(report)}`;
  const started = performance.now();
  const { status, output } = spawnSync(
    process.execPath,
    ["--import", preload, BIN, "replay", file, ...args],
    {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      encoding: "utf8",
    },
  );
  const wall = (performance.now() - started) / 1000;
  if (status !== 0) throw new Error(`replay ${args.join(" ")} ended with ${status}`);
  const { seconds, maxRSS } = JSON.parse(output[3] ?? "") as { seconds: number; maxRSS: number };
  const rate = Math.round(events / seconds).toLocaleString("en-US");
  console.log(
    `replay ${args.join(" ").padEnd(8)}  ${rate} events per CPU second  ${seconds.toFixed(1)} s CPU, ${wall.toFixed(1)} s wall  ${(maxRSS / 1024).toFixed(0)} MB`,
  );
}
