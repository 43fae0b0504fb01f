import { writeFileSync } from "node:fs";
import { messageOf } from "../../reducers/message-of.ts";
import { UsageError } from "./io.ts";

/**
 * Writes a file that nobody else may read, since what it holds was private. Throws `UsageError` when there is one already, which
 * is somebody's, or when it cannot be written.
 */
export function writeNewFile(file: string, content: string | Uint8Array): void {
  try {
    writeFileSync(file, content, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    throw new UsageError(
      `${file}: ${isThere ? "it is there already; name another with -o" : messageOf(error)}`,
    );
  }
}
