import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventSource } from "../../../src/host/inspector/event-sources/event-source.ts";
import { openRecordingSource } from "../../../src/host/inspector/event-sources/recording-source.ts";
import type { LargeRecordingOptions } from "./large-recording.ts";
import { largeRecording } from "./large-recording.ts";

/** Writes a made-up recording of so many events to a scratch file and gives its path. */
export function writeLargeRecording(
  events: number,
  options: Omit<LargeRecordingOptions, "events"> = {},
): string {
  const file = join(mkdtempSync(join(tmpdir(), "memory-lanes-recording-")), "recording.ndjson");
  const lines = Array.from(largeRecording({ ...options, events }), (line) => JSON.stringify(line));
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

/** A recording that has been read to its end. */
export async function readRecording(file: string): Promise<EventSource> {
  const source = await openRecordingSource(file);
  await source.ready;
  return source;
}
