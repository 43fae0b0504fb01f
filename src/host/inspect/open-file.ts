import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { basename } from "node:path";
import type { InspectSource } from "./inspect-source.ts";
import { openSessionSource } from "./memory-source.ts";
import { openRecordingSource } from "./recording-source.ts";

const HEAD_BYTES = 4096;

/** Opens a recording, or a Pi session file, whichever it is. Throws with the file's name for anything else. */
export async function openFileSource(file: string): Promise<InspectSource> {
  const head = headOf(file);
  if (/^\uFEFF?\s*\{[^\n]*"type"\s*:\s*"session"/.test(head))
    return openSessionSource(basename(file), readFileSync(file, "utf8"));
  const source = await openRecordingSource(file);
  if (source.chronicle.length > 0) return source;
  await source.close();
  throw new Error(`${file}: neither a recording nor a Pi session; ${source.notes[0] ?? "it holds no event"}`);
}

function headOf(file: string): string {
  const descriptor = openSync(file, "r");
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.toString("utf8", 0, readSync(descriptor, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}
