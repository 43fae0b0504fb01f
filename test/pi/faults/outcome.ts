import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { customEntries, type SessionLine } from "../../../demo/pi/session-file.ts";
import { OBSERVATIONS_RECORDED, type ObservationsRecorded } from "../../../src/reducers/ledger/records.ts";
import { type PiHost, prose, waitFor } from "../support/harness.ts";

/** An agent whose every answer has about 700 tokens. */
export const agent = (_request: unknown, nth: number) => ({ text: prose(700, nth) });

/** What Pi was asked to tell the user so far, oldest first. */
export function notices({ pi }: PiHost, type?: "info" | "warning"): string[] {
  return pi.uiRequests
    .filter(({ method, notifyType }) => method === "notify" && (type === undefined || notifyType === type))
    .map(({ message }) => message ?? "");
}

/** Our own warnings, which is all that a fault may show. */
export function warnings(host: PiHost): string[] {
  return notices(host, "warning");
}

export async function status({ pi }: PiHost): Promise<string> {
  return (await pi.command("/om:status")).join("\n");
}

/** A lane's state as `/om:status` has it. */
export async function laneState(
  host: PiHost,
  lane: "observer" | "reflect/drop" | "compaction",
): Promise<string> {
  return new RegExp(`^ +${lane} +(.+?) \\(`, "m").exec(await status(host))?.[1] ?? "";
}

/** Waits until a lane stands like this. */
export async function laneStands(
  host: PiHost,
  lane: "observer" | "reflect/drop" | "compaction",
  state: string | RegExp,
): Promise<void> {
  let last = "";
  await waitFor(
    async () => {
      last = await laneState(host, lane);
      return typeof state === "string" ? last === state : state.test(last);
    },
    `the ${lane} lane to be ${state}`,
    { everyMs: 25 },
  ).catch((error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : error}; it is ${last}`);
  });
}

/** Runs a worker now and gives the words for its result. */
export async function runNow(host: PiHost, worker: "observer" | "reflector"): Promise<string> {
  const from = notices(host).length;
  await host.pi.command(`/om:run ${worker}`);
  return waitFor(
    () =>
      notices(host)
        .slice(from)
        .find((words) => /^Memory: the \w+ (?!runs now|is running)/.test(words)),
    `the result of /om:run ${worker}`,
  );
}

export async function observations(host: PiHost): Promise<ObservationsRecorded[]> {
  return observationsIn(await host.pi.entries());
}

export function observationsIn(entries: readonly SessionLine[]): ObservationsRecorded[] {
  return customEntries<ObservationsRecorded>(entries, OBSERVATIONS_RECORDED).map(({ data }) => data);
}

/** Nothing went wrong that Pi or the script would report, but for these words of others. */
export function expectNoErrors({ pi, model }: PiHost, stderr = /^$/): void {
  expect(pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
  expect(pi.events.filter((record) => record.type === "stray_output")).toEqual([]);
  expect(pi.stderr).toMatch(stderr);
  expect(model.scriptErrors).toEqual([]);
}

/** Writes a session file that Pi can be switched to, one message after another; gives its path. */
export function writeSession(
  { dir, pi }: PiHost,
  name: string,
  messages: readonly Record<string, unknown>[],
): string {
  const at = (n: number) => new Date(Date.UTC(2026, 0, 15, 9, 0, n)).toISOString();
  const header = { type: "session", version: 3, id: name, timestamp: at(0), cwd: pi.dirs.work };
  const entries = messages.map((message, n) => ({
    type: "message",
    id: `${n + 1}`.padStart(8, "0"),
    parentId: n === 0 ? null : `${n}`.padStart(8, "0"),
    timestamp: at(n + 1),
    message: { timestamp: Date.UTC(2026, 0, 15, 9, 0, n + 1), ...message },
  }));
  const path = join(dir, "sessions", `${name}.jsonl`);
  writeFileSync(path, [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}

/** An assistant message as Pi keeps it. */
export function assistantMessage(content: readonly unknown[], stopReason = "stop"): Record<string, unknown> {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return {
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "scripted",
    model: "scripted",
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
    stopReason,
  };
}
