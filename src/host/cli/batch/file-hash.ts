import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { messageOf } from "../../../reducers/message-of.ts";
import { UsageError } from "../io.ts";

/** SHA-256 of a file's content, in hex. Throws `UsageError` for a file that cannot be read. */
export async function fileHash(file: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(file)) hash.update(piece);
  } catch (error) {
    throw new UsageError(`${file}: it cannot be read: ${messageOf(error)}`);
  }
  return hash.digest("hex");
}
