import { setTimeout as sleep } from "node:timers/promises";
import { createInspectorFeed } from "../../../effects/inspector-feed.ts";
import { createEngine, type Engine } from "../../../machines/engine.ts";
import type { Keyframe } from "../../../machines/keyframe.ts";
import type { RecordingLine } from "../../../machines/recording/recording.ts";
import { parseRecordingLine } from "../../../machines/recording/recording-line.ts";
import type { MessageWriter } from "./inspect-source.ts";
import type { RecordingFile } from "./recording-file.ts";
import { linesOf } from "./recording-lines.ts";

const WAIT_MS = 20;

/** Replays a recording once more, this time with somebody watching, as fast as the receiver takes it. */
export async function streamRecording(
  file: RecordingFile,
  writer: MessageWriter,
  signal: AbortSignal,
): Promise<void> {
  const feed = createInspectorFeed();
  let engine: Engine | undefined;
  let keyframe: Keyframe | undefined;
  const open = () => {
    const opened = createEngine(keyframe ? { keyframe } : {});
    keyframe = undefined;
    opened.watch((message, cause) => {
      const told = feed.observe(message, cause);
      if (told && !signal.aborted) writer.send(told);
    });
    for (const told of feed.latest()) writer.send(told);
    return opened;
  };
  for await (const { lines } of linesOf(file, signal)) {
    for (const written of lines) {
      while (writer.isFull() && !signal.aborted) await sleep(WAIT_MS);
      if (signal.aborted) break;
      const line = readable(written);
      if (!line || line.type === "decision") continue;
      if (line.type === "header" || line.type === "keyframe") {
        engine?.stop();
        engine = undefined;
        keyframe = line.type === "keyframe" ? line : undefined;
        continue;
      }
      engine ??= open();
      engine.step(line);
    }
  }
  engine?.stop();
}

function readable(line: string): RecordingLine | undefined {
  try {
    return parseRecordingLine(line);
  } catch {
    return undefined;
  }
}
