import { Command, InvalidArgumentError } from "commander";
import { explainLane, whyLane } from "../../../machines/recording/explain.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { eventWords } from "../../inspector/history/event-words.ts";
import { EXIT, type Io, UsageError } from "../io.ts";
import { LEAF_OPTION, SET_OPTION } from "../session/session-options.ts";
import { parseSet, setWords } from "../settings-option.ts";
import { count, listed } from "../words.ts";
import { differenceLine, laneReadings, REPLAY_FORMAT, type ReplayOutput, stepLine } from "./replay-json.ts";
import { type RunReport, runReplay } from "./replay-run.ts";
import { openSource, type ReplaySource } from "./replay-source.ts";
import {
  changedAnything,
  isVerified,
  newTally,
  readingWords,
  summaryLine,
  summaryText,
  tallyStep,
  verdictText,
} from "./replay-summary.ts";
import { createStepTable } from "./replay-text.ts";

interface ReplayOptions {
  leaf?: string;
  lane?: LaneName;
  from?: number;
  to?: number;
  all?: boolean;
  json?: boolean;
  verify?: boolean;
  explain?: number;
  set?: string[];
}

export function replayCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("replay")
    .description("Run a recording, or the events of a Pi session, and show what each lane did")
    .argument("<file>", "a recording, a Pi session (.jsonl, versions 1 to 3), or - for standard input")
    .option(...LEAF_OPTION)
    .option("--lane <lane>", "only this lane: observer, reflect or compaction", laneOf)
    .option("--from <n>", "from this event on", numberOf)
    .option("--to <n>", "up to this event", numberOf)
    .option("--all", "every event, not only those that changed something")
    .option(
      "--explain <n>",
      "say why each lane is in its state after event n, and what would move it",
      numberOf,
    )
    .option("--verify", "compare with what was recorded; exit code 1 at the first difference")
    .option(...SET_OPTION)
    .option("--json", "NDJSON, as docs/replay.md describes it")
    .action(async (file: string, options: ReplayOptions) => exit(await replayFile(io, file, options)));
}

async function replayFile(io: Io, file: string, options: ReplayOptions): Promise<number> {
  refuseContradictions(options);
  const patch = parseSet(options.set ?? []);
  const isPatched = Object.keys(patch).length > 0;
  const source = await openSource(file, { leaf: options.leaf, twice: isPatched });
  if (options.verify && source.kind === "session") {
    throw new UsageError(
      `${source.file}: a Pi session holds no recorded decisions; --verify is for recordings`,
    );
  }
  if (options.explain !== undefined) return explain(io, source, patch, options.explain, options);
  if (options.json) put(io, firstLine(source, patch));
  return options.verify ? verify(io, source, options) : show(io, source, patch, options);
}

/** Throws `UsageError` for options of which one would have to be left unheeded. */
function refuseContradictions(options: ReplayOptions): void {
  const { verify, explain, from, to } = options;
  const among = (names: readonly (keyof ReplayOptions)[]) =>
    listed(names.filter((name) => options[name] !== undefined).map((name) => `--${name}`));
  if (verify) {
    const others = among(["set", "explain", "lane", "from", "to", "all"]);
    if (others !== "")
      throw new UsageError(
        `--verify goes through the whole recording, as it was recorded; leave out ${others}`,
      );
  }
  if (explain !== undefined) {
    const others = among(["from", "to", "all"]);
    if (others !== "") throw new UsageError(`--explain is about one event; leave out ${others}`);
  }
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError(`--from ${from} comes after --to ${to}`);
}

async function show(
  io: Io,
  source: ReplaySource,
  patch: Partial<Settings>,
  options: ReplayOptions,
): Promise<number> {
  const lanes = options.lane ? [options.lane] : LANES;
  const { from = 1, to = Number.POSITIVE_INFINITY, json = false, all = false } = options;
  const table = createStepTable(io, lanes);
  const tally = newTally();
  if (!json) for (const line of introduction(source, patch)) io.line(line);
  const report = await runReplay(source, io, {
    patch,
    onStep(step) {
      if (step.number > to) return false;
      tallyStep(tally, step);
      if (step.number >= from && (all || changedAnything(step, lanes))) {
        tally.shown++;
        if (json) put(io, stepLine(step, lanes));
        else table.row(step);
      }
      return step.number < to;
    },
  });
  if (json) put(io, summaryLine(tally, report, false));
  else for (const line of ["", ...summaryText(tally, report)]) io.line(line);
  complainOfLines(io, source, report);
  return EXIT.ok;
}

async function verify(io: Io, source: ReplaySource, { json = false }: ReplayOptions): Promise<number> {
  const tally = newTally();
  const report = await runReplay(source, io, {
    patch: {},
    untilDifference: true,
    onStep(step) {
      tallyStep(tally, step);
      return true;
    },
  });
  complainOfLines(io, source, report);
  const { verification } = report;
  if (!verification) return EXIT.ok;
  if (json) {
    if (verification.difference) put(io, differenceLine(verification.difference));
    put(io, summaryLine(tally, report, true));
  } else for (const line of verdictText(io, verification)) io.line(line);
  return isVerified(verification) ? EXIT.ok : EXIT.difference;
}

async function explain(
  io: Io,
  source: ReplaySource,
  patch: Partial<Settings>,
  number: number,
  { lane, json = false }: ReplayOptions,
): Promise<number> {
  const lanes = lane ? [lane] : LANES;
  let found: ReplayStep | undefined;
  let before: number | undefined;
  let after: number | undefined;
  const report = await runReplay(source, io, {
    patch,
    onStep(step) {
      if (step.number === number) found = step;
      else if (step.number < number) before = step.number;
      else after = step.number;
      return step.number < number;
    },
  });
  complainOfLines(io, source, report);
  if (!found)
    throw new UsageError(`${source.file}: there is no event ${number}; ${neighbourWords(before, after)}`);
  const moment = { ...found, at: Date.parse(found.event.at) };
  if (json) {
    const readings = laneReadings(found, lanes);
    const explained = lanes.map((one) => [one, { ...readings[one], why: whyLane(one, moment) }]);
    const { event } = found;
    put(io, firstLine(source, patch));
    put(io, {
      type: "explanation",
      number,
      at: event.at,
      event: event.type,
      lanes: Object.fromEntries(explained),
    });
    return EXIT.ok;
  }
  io.line(
    io.paint(
      "dim",
      `#${number}  ${found.event.at}  ${found.event.type} ${eventWords(found.event)}`.trimEnd(),
    ),
  );
  for (const one of lanes) io.line(explainLane(one, moment));
  return EXIT.ok;
}

/** The event before a missing one, and the one after it. */
function neighbourWords(before: number | undefined, after: number | undefined): string {
  if (before === undefined) return after === undefined ? "there is none at all" : `the first is ${after}`;
  return after === undefined ? `the last is ${before}` : `the nearest are ${before} and ${after}`;
}

function firstLine({ file, kind }: ReplaySource, patch: Partial<Settings>): ReplayOutput {
  return { type: "replay", format: REPLAY_FORMAT, file, source: kind, set: patch };
}

function introduction(source: ReplaySource, patch: Partial<Settings>): string[] {
  const under = Object.keys(patch).length > 0 ? setWords(patch) : undefined;
  if (source.kind === "recording") return under ? [`Under ${under}; the other settings as recorded.`] : [];
  const { header, entries, all } = source.session;
  const branch =
    entries.length < all.length ? `, of ${count(all.length, "entry", "entries")} in the file` : "";
  return [
    `Pi session ${header.id}, version ${header.version}: ${count(entries.length, "entry", "entries")} on this branch${branch}.`,
    `Its events are derived from the entries; settings are the defaults${under ? `, but ${under}` : ""}.`,
  ];
}

function complainOfLines(io: Io, source: ReplaySource, report: RunReport): void {
  for (const words of readingWords(source.file, report.reading)) io.complain(words);
}

function put(io: Io, line: ReplayOutput): void {
  io.json(line);
}

const LANE_WORDS: Readonly<Record<string, LaneName>> = {
  observer: "observer",
  observe: "observer",
  reflect: "reflectDrop",
  reflector: "reflectDrop",
  drop: "reflectDrop",
  reflectdrop: "reflectDrop",
  "reflect/drop": "reflectDrop",
  compaction: "compaction",
  compact: "compaction",
};

function laneOf(text: string): LaneName {
  const lane = LANE_WORDS[text.toLowerCase()];
  if (!lane) throw new InvalidArgumentError("The lanes are observer, reflect and compaction.");
  return lane;
}

function numberOf(text: string): number {
  if (!/^\d{1,15}$/.test(text))
    throw new InvalidArgumentError("It must be an event's number, from 0 to 999999999999999.");
  return Number(text);
}
