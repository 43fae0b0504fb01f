import { resolve } from "node:path";
import Table from "cli-table3";
import { Command } from "commander";
import { z } from "zod";
import { clipped, compact, countOf, dateTime } from "../../reducers/words.ts";
import { type SessionHealth, sessionHealth } from "./doctor/session-health.ts";
import { headerOf, type SessionFileName, sessionFiles, sessionsHere } from "./input/session-files.ts";
import { ownSettings, type Surroundings, sessionsDir, surroundings } from "./input/surroundings.ts";
import { EXIT, type Io } from "./io.ts";
import { ordinalOf } from "./options.ts";

interface SessionsOptions {
  all?: boolean;
  last: number;
  json?: boolean;
}

/** One line of `memory-lanes sessions --json`. Times are ISO 8601, `unobserved` is in source tokens. */
export const SessionLineSchema = z.object({
  type: z.literal("session"),
  id: z.string(),
  file: z.string(),
  cwd: z.string(),
  /** When it was last written */
  at: z.string(),
  entries: z.int(),
  observations: z.int(),
  reflections: z.int(),
  unobserved: z.number(),
  /** What is not well with it, the gravest first */
  problems: z.array(z.object({ message: z.string(), advice: z.string() })),
});

export function sessionsCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("sessions")
    .description(
      "List this folder's Pi sessions and their memory, latest first; also what the bare command does",
    )
    .option("--all", "those of all folders")
    .option("--last <n>", "so many of them", ordinalOf, 10)
    .option("--json", "NDJSON, a session a line")
    .action((options: SessionsOptions) => exit(list(io, options)));
}

interface Listed extends SessionFileName {
  id: string;
  cwd: string;
  health: SessionHealth;
}

function list(io: Io, { all = false, last, json = false }: SessionsOptions): number {
  const around = surroundings();
  const { settings } = ownSettings(around);
  const found = all ? sessionFiles(around) : [...sessionsHere(around)];
  const sessions = found.slice(0, last).map((named) => ({
    ...named,
    ...headerOf(named.file),
    health: sessionHealth(named.file, settings),
  }));
  if (json) {
    for (const { id, file, cwd, at, health } of sessions)
      io.json({ type: "session", id, file, cwd, at: new Date(at).toISOString(), ...health });
    return EXIT.ok;
  }
  for (const line of listWords(io, around, sessions, found.length, all)) io.line(line);
  return EXIT.ok;
}

function listWords(
  io: Io,
  around: Surroundings,
  sessions: readonly Listed[],
  found: number,
  all: boolean,
): string[] {
  const where = all ? sessionsDir(around) : resolve(around.cwd);
  if (sessions.length === 0) {
    const others = all ? 0 : sessionFiles(around).length;
    const more = others > 0 ? `; --all lists ${countOf(others, "session")} of other folders` : "";
    return [`There is no Pi session of ${where} in ${sessionsDir(around)}${more}.`, HELP];
  }
  const rest = found > sessions.length ? ` (the latest ${sessions.length} of ${found})` : "";
  return [
    `Sessions of ${where}${rest}`,
    "",
    tableOf(io, sessions),
    "",
    "Each command takes the beginning of an id, or else the latest session of this folder:",
    "memory-lanes view, replay, inspect, recall, tune. memory-lanes --help tells more.",
  ];
}

const HELP = "memory-lanes --help tells what can be done with one.";
/** Enough of an id to tell sessions apart: one begins with the time at which it was made. */
const SHOWN_ID = 13;
const TABLE_WITHOUT_PROBLEM = 66;
const NARROWEST_PROBLEM = 16;

function tableOf(io: Io, sessions: readonly Listed[]): string {
  const room = Math.max(NARROWEST_PROBLEM, (io.columns ?? 120) - TABLE_WITHOUT_PROBLEM);
  const table = new Table({
    head: ["last written", "id", "entries", "observations", "reflections", "problem"],
    style: { head: [], border: [], compact: true },
    colAligns: ["left", "left", "right", "right", "right", "left"],
    chars: PLAIN,
  });
  for (const { at, id, health } of sessions) {
    const { entries, observations, reflections, problems } = health;
    const problem = problems[0] ? clipped(problems[0].message, room) : "";
    table.push([
      dateTime(at),
      id.slice(0, SHOWN_ID),
      compact(entries),
      compact(observations),
      compact(reflections),
      problem,
    ]);
  }
  return table.toString().replace(/ +$/gm, "");
}

const PLAIN = Object.fromEntries(
  [
    "top",
    "top-mid",
    "top-left",
    "top-right",
    "bottom",
    "bottom-mid",
    "bottom-left",
    "bottom-right",
    "left",
    "left-mid",
    "mid",
    "mid-mid",
    "right",
    "right-mid",
    "middle",
  ].map((part) => [part, ""]),
);
