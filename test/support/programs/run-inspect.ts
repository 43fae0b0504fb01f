import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { BIN } from "./run-cli.ts";

/** `memory-lanes inspect` as a user starts it, and what its page asks. */
export interface Inspected {
  page: string;
  socket: string;
  /** Asks for data as the page does, by what comes after `/data/`. */
  ask<T>(path: string): Promise<T>;
  /** Ends it as Ctrl+C does, and gives its exit code. */
  stop(): Promise<number | null>;
}

export async function startInspect(
  args: readonly string[],
  env: Record<string, string> = {},
  bin = BIN,
): Promise<Inspected> {
  const child = spawn(process.execPath, [bin, "inspect", ...args, "--json"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const line = await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(([code]) => {
      throw new Error(`memory-lanes inspect ended with ${code}`);
    }),
  ]);
  const { page, socket }: { page: string; socket: string } = JSON.parse(String(line[0]));
  return {
    page,
    socket,
    async ask<T>(path: string): Promise<T> {
      const url = new URL(`/data/${path}`, page);
      url.searchParams.set("token", new URL(page).searchParams.get("token") ?? "");
      const response = await fetch(url);
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    },
    async stop() {
      child.kill("SIGINT");
      const [code] = await ended;
      return code;
    },
  };
}
