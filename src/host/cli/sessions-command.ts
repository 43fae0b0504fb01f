import { resolve } from "node:path";
import { Command } from "commander";
import { z } from "zod";
import { formatLocalMinute } from "../../reducers/entries/sources.ts";
import { isPartial, type Spend, totalOf } from "../../reducers/spend.ts";
import { moneyWords } from "../../reducers/spend-words.ts";
import { clipped, compact, countOf } from "../../reducers/words.ts";
import { readSession, type SessionHealth, sessionHealth } from "./doctor/session-health.ts";
import { type PiSession, sessionFiles, sessionsHere, withHeader } from "./input/session-files.ts";
import { ownSettings, type Surroundings, sessionsDir, surroundings } from "./input/surroundings.ts";
import { EXIT, type Io } from "./io.ts";
import { examples, ordinalOf } from "./options.ts";
import { plainTable } from "./plain-table.ts";

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
  /** What its memory took since the branch's first entry */
  spend: z.object({
    runs: z.int(),
    /** Model tokens */
    input: z.number(),
    output: z.number(),
    /** USD; null where no price is known */
    usd: z.number().nullable(),
    /** More was spent than is known. */
    isPartial: z.boolean(),
  }),
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
    .addHelpText(
      "after",
      examples(
        ["sessions", "this folder's sessions"],
        ["sessions --all --last 30", "the latest thirty, wherever they were"],
      ),
    )
    .action((options: SessionsOptions) => exit(list(io, options)));
}

interface Listed extends PiSession {
  health: SessionHealth;
}

function list(io: Io, { all = false, last, json = false }: SessionsOptions): number {
  const around = surroundings();
  const { settings } = ownSettings(around);
  const found = all ? sessionFiles(around) : [...sessionsHere(around)];
  const sessions = found
    .slice(0, last)
    .map(
      (named): Listed => ({ ...withHeader(named), health: sessionHealth(readSession(named.file), settings) }),
    );
  if (json) {
    for (const session of sessions) io.json(sessionLine(session));
    return EXIT.ok;
  }
  for (const line of listWords(io, around, sessions, found.length, all)) io.line(line);
  return EXIT.ok;
}

function sessionLine({ id, file, cwd, at, health }: Listed): z.infer<typeof SessionLineSchema> {
  return {
    ...{ type: "session", id, file, cwd, at: new Date(at).toISOString() },
    ...{ ...health, spend: spendIn(health.spend) },
  };
}

function spendIn(spend: Spend): z.infer<typeof SessionLineSchema>["spend"] {
  const { runs, input, output, usd, unpriced } = totalOf(spend);
  const isUnknown = runs === unpriced && (runs > 0 || isPartial(spend));
  return {
    ...{ runs, input, output, usd: isUnknown ? null : usd },
    isPartial: isPartial(spend) || unpriced > 0,
  };
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
const INDENT = "    ";

/** A line for each session; its gravest problem stands below it, where there is room for the words. */
function tableOf(io: Io, sessions: readonly Listed[]): string {
  const [head = "", ...rows] = plainTable({
    head: ["last written", "id", "entries", "observations", "reflections", "spend"],
    rows: sessions.map(({ at, id, health: { entries, observations, reflections, spend } }) => [
      formatLocalMinute(at),
      id.slice(0, SHOWN_ID),
      ...[entries, observations, reflections].map(compact),
      moneyWords(totalOf(spend), isPartial(spend)),
    ]),
    colAligns: ["left", "left", "right", "right", "right", "right"],
    padding: 1,
    gap: "",
  }).split("\n");
  const room = (io.columns ?? 120) - INDENT.length;
  const problems = sessions.map(({ health }) => health.problems.slice(0, 1));
  return [
    head,
    ...rows.flatMap((row, at) => [
      row,
      ...(problems[at] ?? []).map(({ message }) => `${INDENT}${clipped(message, room)}`),
    ]),
  ].join("\n");
}
