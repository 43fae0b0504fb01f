import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";

/**
 * A recording on disk, and the files that take its place when the recorder begins a new one. All of them stay open: by
 * what name they go by then does not matter.
 */
export interface RecordingFile {
  /** How many files there are by now */
  readonly parts: number;
  /** Opens the file that has taken the last one's place, if one has; from then on nothing is written to the last. */
  openNext(): void;
  /** Bytes of a file from a place on; none at its end. */
  read(part: number, position: number, size: number): Buffer;
  close(): void;
}

export function openRecordingFile(path: string): RecordingFile {
  const descriptors = [openSync(path, "r")];
  const last = () => descriptors[descriptors.length - 1] ?? -1;

  return {
    get parts() {
      return descriptors.length;
    },
    openNext() {
      const there = statSync(path, { throwIfNoEntry: false });
      if (!there) return;
      const known = fstatSync(last());
      if (there.ino !== known.ino || there.dev !== known.dev) descriptors.push(openSync(path, "r"));
    },
    read(part, position, size) {
      const descriptor = descriptors[part] ?? -1;
      const there = fstatSync(descriptor).size - position;
      if (there < 0) throw new Error("the file became shorter while it was read");
      const bytes = Buffer.allocUnsafe(Math.min(size, there));
      return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, position));
    },
    close() {
      for (const descriptor of descriptors) closeSync(descriptor);
    },
  };
}
