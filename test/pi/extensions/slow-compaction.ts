import { setTimeout as sleep } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** A Pi extension for tests: one that takes its time before a compaction, and then leaves it to the others. */
export default function slowCompaction(pi: ExtensionAPI): void {
  pi.on("session_before_compact", async () => {
    await sleep(150);
  });
}
