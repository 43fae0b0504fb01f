import { signal } from "@preact/signals";
import { askRecording } from "./server-data.ts";

/** The lines of a running Pi's recording, kept here so that they can be saved also when it has gone */
const lines: string[] = [];
let next = 0;
let asking = false;

/** How many events are kept */
export const keptEvents = signal(0);

/** Fetches what has come since. */
export async function keepRecording(count: number): Promise<void> {
  if (asking) return;
  asking = true;
  try {
    while (next < count) {
      const part = await askRecording(next);
      lines.push(...part.lines);
      next = part.next;
      keptEvents.value = next;
    }
  } finally {
    asking = false;
  }
}

/** Gives the user what is kept, as a file. */
export function saveRecording(name: string): void {
  const url = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
