import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { piBin } from "../demo/pi/pi-launch.ts";

export interface StartUp {
  /** Medians in milliseconds, from the start of `pi --mode rpc` to its first response */
  oneLine: number;
  ours: number;
  /** Median of the paired differences */
  difference: number;
}

const CHECKOUT = resolve(import.meta.dirname, "..");

/** Starts Pi in turns with a one-line extension and with this package, each in a folder of its own. */
export async function measureStartUp(pairs = 9): Promise<StartUp> {
  const scratch = mkdtempSync(join(tmpdir(), "memory-lanes-bench-"));
  const oneLine = join(scratch, "one-line.ts");
  writeFileSync(oneLine, "export default function () {}\n");
  try {
    // The first start of each fills caches that every later one finds filled.
    for (const extension of [oneLine, CHECKOUT]) await firstResponse(extension, scratch);
    const runs: { oneLine: number; ours: number }[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      runs.push({
        oneLine: await firstResponse(oneLine, scratch),
        ours: await firstResponse(CHECKOUT, scratch),
      });
    }
    return {
      oneLine: median(runs.map((run) => run.oneLine)),
      ours: median(runs.map((run) => run.ours)),
      difference: median(runs.map((run) => run.ours - run.oneLine)),
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function firstResponse(extension: string, scratch: string): Promise<number> {
  const start = performance.now();
  const pi = spawn(process.execPath, [piBin(), "--mode", "rpc", "--no-session", "-e", extension], {
    cwd: scratch,
    env: { ...process.env, PI_OFFLINE: "1", PI_CODING_AGENT_DIR: join(scratch, "agent") },
    stdio: ["pipe", "pipe", "ignore"],
  });
  return new Promise((done, fail) => {
    let output = "";
    pi.once("error", fail);
    pi.stdout.on("data", (data: Buffer) => {
      output += data;
      if (!output.includes('"type":"response"')) return;
      pi.stdout.removeAllListeners("data");
      pi.once("exit", () => done(elapsed));
      const elapsed = performance.now() - start;
      pi.stdin.end();
      pi.kill();
    });
    pi.stdin.write(`${JSON.stringify({ id: "1", type: "get_state" })}\n`);
  });
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
