import { setTimeout as sleep } from "node:timers/promises";
import type { PiProcess } from "./pi-process.ts";

const BUSY_LANE =
  /^ +(observer|reflect\/drop|compaction) +(running|reflecting|dropping|requested|compacting)/m;

/**
 * Waits until Pi is idle and no lane is at work, and gives the `/om:status` that says so. A lane may still be
 * `due`: it starts at its next trigger, which takes another prompt.
 */
export async function lanesAtRest(pi: PiProcess, timeoutMs = 60_000): Promise<string> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    await pi.idle();
    const status = (await pi.command("/om:status")).join("\n");
    if (!BUSY_LANE.test(status)) return status;
    if (performance.now() > deadline) {
      throw new Error(`The lanes did not come to rest within ${timeoutMs} ms:\n${status}`);
    }
    await sleep(20);
  }
}
