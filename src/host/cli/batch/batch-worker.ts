import { messageOf } from "../../../reducers/message-of.ts";
import { EXIT, type Io, UsageError } from "../io.ts";
import type { BatchRecord, BatchTask } from "./batch-record.ts";
import { BATCH_VERBS } from "./batch-verbs.ts";
import { fileHash } from "./file-hash.ts";

/** Runs a verb on a file. A fault of the file's is a record like any other. */
export default async function runTask({ verb, file, options }: BatchTask): Promise<BatchRecord> {
  let hash = "";
  try {
    hash = await fileHash(file);
    const values: unknown[] = [];
    const { exit, result } = await BATCH_VERBS[verb].run(quietIo(values), file, options, values);
    return { type: "file", file, hash, exit, result };
  } catch (error) {
    // Whatever one file does to us, the others have their turn.
    const exit = error instanceof UsageError ? EXIT.usage : EXIT.difference;
    const message = messageOf(error);
    return {
      type: "file",
      file,
      hash,
      exit,
      error: message.replace(file, "").replace(/^[:,]\s*/, ""),
      result: null,
    };
  }
}

/** Keeps the last few values; a file's events need not be in memory all at once. */
function quietIo(values: unknown[]): Io {
  return {
    line: () => {},
    prose: () => {},
    json(value) {
      values.push(value);
      if (values.length > MOST_VALUES) values.shift();
    },
    ready: async () => {},
    end: async () => {},
    closed: false,
    complain: () => {},
    progress: () => {},
    paint: (_style, text) => text,
    columns: undefined,
  };
}

const MOST_VALUES = 2;
