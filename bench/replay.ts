import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { largeRecording } from "../test/support/recordings/large-recording.ts";

/**
 * How fast `memory-lanes replay` goes through a long recording, built as users have it, and what memory it takes:
 *
 *   npm run build && node bench/replay.ts [events] [tokens per entry]
 *
 * Fewer tokens per entry mean fewer runs: with 10, nearly all events move no lane. The yardstick is a program that does
 * nothing but parse every line as JSON.
 */
const [events = 1_000_000, tokensPerEntry = 120] = process.argv.slice(2).map(Number);
const COMMAND = `
  const { main } = await import(${JSON.stringify(pathToFileURL(join(import.meta.dirname, "../dist/cli.js")))});
  process.exitCode = await main(process.argv.slice(1));`;
const YARDSTICK = `
  import { readFileSync } from "node:fs";
  for (const line of readFileSync(process.argv[1], "utf8").split("\\n")) if (line) JSON.parse(line);`;
const dir = mkdtempSync(join(tmpdir(), "memory-lanes-bench-"));

try {
  const file = join(dir, "recording.ndjson");
  await write(file);
  const megabytes = (statSync(file).size / 1e6).toFixed(0);
  console.log(
    `${events.toLocaleString("en-US")} events, ${tokensPerEntry} tokens per entry, ${megabytes} MB`,
  );
  measure("JSON.parse", YARDSTICK, [file]);
  for (const args of [["--verify"], [], ["--json"]]) {
    measure(`replay ${args.join(" ")}`, COMMAND, ["replay", file, ...args]);
  }
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
function measure(name: string, program: string, args: readonly string[]): void {
  const report = `process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    require("node:fs").writeSync(3, JSON.stringify({ seconds: (userCPUTime + systemCPUTime) / 1e6, maxRSS }));
  })`;
  const preload = `data:text/javascript,import { createRequire } from "node:module"; const require = createRequire("/"); ${encodeURIComponent(report)}`;
  const started = performance.now();
  const { status, output } = spawnSync(
    process.execPath,
    ["--import", preload, "--input-type=module", "--eval", program, "--", ...args],
    {
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      encoding: "utf8",
    },
  );
  const wall = (performance.now() - started) / 1000;
  if (status !== 0) throw new Error(`${name} ended with ${status}`);
  const { seconds, maxRSS } = JSON.parse(output[3] ?? "") as { seconds: number; maxRSS: number };
  const rate = Math.round(events / seconds).toLocaleString("en-US");
  console.log(
    `${name.padEnd(15)}  ${rate} events per CPU second  ${seconds.toFixed(1)} s CPU, ${wall.toFixed(1)} s wall  ${(maxRSS / 1024).toFixed(0)} MB`,
  );
}
