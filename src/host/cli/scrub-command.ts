import { readFileSync } from "node:fs";
import { Command } from "commander";
import { SessionFileError } from "../../reducers/entries/session-file.ts";
import { messageOf } from "../../reducers/message-of.ts";
import { fileFor } from "./input/session-files.ts";
import { scrubSession, secretsWords } from "./input/session-secrets.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { writeNewFile } from "./new-file.ts";
import { examples, SESSION_ARGUMENT } from "./options.ts";

interface ScrubOptions {
  output?: string;
  json?: boolean;
}

export function scrubCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("scrub")
    .description("Write a copy of a Pi session without the secrets in it, in which all ids and links hold")
    .argument(
      SESSION_ARGUMENT[0],
      "a Pi session: its file or the beginning of its id (default: the latest session of this folder)",
    )
    .option("-o, --output <out>", "the copy, which must not be there yet (default: FILE.scrubbed.jsonl)")
    .option("--json", "one JSON object: the copy, and what was replaced by kind and line")
    .addHelpText(
      "after",
      examples(
        ["scrub", "a copy of the latest session, beside it"],
        ["scrub 4f2a9c -o to-share.jsonl", "of the session 4f2a9c…, where you say"],
      ),
    )
    .action((argument: string | undefined, options: ScrubOptions) => exit(scrub(io, argument, options)));
}

function scrub(io: Io, argument: string | undefined, { output, json = false }: ScrubOptions): number {
  const file = fileFor(io, argument);
  const copy = output ?? `${file.replace(/\.jsonl$/, "")}.scrubbed.jsonl`;
  const { bytes, secrets } = scrubbed(read(file), file);
  writeNewFile(copy, bytes);
  if (json) io.json({ type: "scrub", file: copy, secrets: Object.fromEntries(secrets) });
  else
    io.line(
      `Wrote ${copy}: ${secrets.size === 0 ? "there was no secret to replace" : `replaced ${secretsWords(secrets)}`}`,
    );
  return EXIT.ok;
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`${file}: it cannot be read: ${messageOf(error)}`);
  }
}

function scrubbed(bytes: Buffer, file: string): ReturnType<typeof scrubSession> {
  try {
    return scrubSession(bytes);
  } catch (error) {
    if (error instanceof SessionFileError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}
