import { StringDecoder } from "node:string_decoder";

/** Makes lines of the bytes of a file as they come. */
interface LineSplitter {
  /** The lines that these bytes complete, without their line feeds. */
  take(bytes: Buffer): string[];
  /** What came after the last line feed, if anything. */
  takeRest(): string[];
  /** The same, which stays. */
  peekRest(): string;
}

export function createLineSplitter(): LineSplitter {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let isStart = true;

  /** A byte order mark is no part of the first line. */
  function append(text: string): void {
    rest += isStart ? text.replace(/^\uFEFF/, "") : text;
    isStart &&= text === "";
  }

  return {
    take(bytes) {
      const text = decoder.write(bytes);
      append(text);
      // Only what is new can end a line: a long one is not to be gone through again with each piece of it.
      if (!text.includes("\n")) return [];
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      return lines;
    },
    takeRest() {
      append(decoder.end());
      const last = rest;
      rest = "";
      return last === "" ? [] : [last];
    },
    peekRest: () => rest,
  };
}
