import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { wrapped } from "../../../src/host/cli/io.ts";
import { main } from "../../../src/host/cli/main.ts";

export const ROOT = resolve(import.meta.dirname, "../../..");
export const BIN = join(ROOT, "src/host/cli/bin.js");

/** What a command printed, and its exit code. */
export interface Result {
  out: string;
  err: string;
  code: number | null;
}

/** The command in this process, in a terminal of so many columns; without, as in a pipe. */
export async function run(args: readonly string[], columns?: number): Promise<Result> {
  let out = "";
  let err = "";
  const code = await main(args, {
    line: (text) => {
      out += `${text}\n`;
    },
    prose: (text, indent) => {
      for (const line of wrapped(text, columns, indent)) out += `${line}\n`;
    },
    json: (value) => {
      out += `${JSON.stringify(value)}\n`;
    },
    ready: async () => {},
    end: async () => {},
    closed: false,
    complain: (text) => {
      err += `${text}\n`;
    },
    progress: () => {},
    paint: (_style, text) => text,
    columns,
  });
  return { out, err, code };
}

/** The command as a user starts it. */
export function start(
  args: readonly string[],
  { cwd, input = "", env = {} }: { cwd?: string; input?: string; env?: Record<string, string> } = {},
): Result {
  const { stdout, stderr, status } = spawnSync(process.execPath, [BIN, ...args], {
    cwd,
    input,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return { out: stdout, err: stderr, code: status };
}

export function linesOf(text: string): string[] {
  return text.trimEnd().split("\n");
}
