import { Command, InvalidArgumentError } from "commander";
import { explainLane, whyLane } from "../../../machines/recording/explain.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { countOf, dollars, listed } from "../../../reducers/words.ts";
import { runBatch } from "../batch/batch.ts";
import { batchFiles, isBatch } from "../batch/batch-files.ts";
import { asksForBatch, splitOptions, withBatchOptions } from "../batch/batch-options.ts";
import type { BatchOptions, BatchRecord } from "../batch/batch-record.ts";
import { EXIT, type Io, UsageError } from "../io.ts";
import { examples, FILE_ARGUMENT, LEAF_OPTION, SET_OPTION, setWords } from "../options.ts";
import {
  isVerified,
  lanesAfter,
  REPLAY_FORMAT,
  type ReplayOutput,
  ReplayOutputSchema,
  stepLine,
  summaryLine,
} from "./replay-json.ts";
import { runReplay } from "./replay-run.ts";
import { complainOfLines, openSource, type ReplaySource } from "./replay-source.ts";
import { createStepTable, eventLine, summaryText, verdictText } from "./replay-text.ts";
import { settingsWords } from "./session-settings.ts";

export interface ReplayOptions {
  leaf?: string;
  lane?: LaneName;
  from?: number;
  to?: number;
  all?: boolean;
  json?: boolean;
  verify?: boolean;
  explain?: number;
  set?: Partial<Settings>;
}

export function replayCommand(io: Io, exit: (code: number) => void): Command {
  const command = new Command("replay")
    .description("Run a recording, or the events of a Pi session, and show what each lane did")
    .argument("[files...]", `${FILE_ARGUMENT[1]}; of several files, folders or globs a line each`)
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
    .addHelpText(
      "after",
      examples(
        ["replay", "the latest session of this folder"],
        ["replay 4f2a9c --explain 40", "why each lane is where it is after event 40 of the session 4f2a9c…"],
        ["replay --set observeAfterTokens=5000", "what another threshold would have done"],
        ["replay recording.ndjson --verify", "whether a recording still decides as it was recorded"],
      ),
    )
    .action(async (files: string[], options: ReplayOptions & BatchOptions) =>
      exit(await replay(io, files, options)),
    );
  return withBatchOptions(command);
}

async function replay(
  io: Io,
  args: readonly string[],
  options: ReplayOptions & BatchOptions,
): Promise<number> {
  const { batch, own } = splitOptions(options);
  if (!isBatch(args) && !asksForBatch(options)) return replayFile(io, args[0], own);
  refuseContradictions(own);
  if (own.explain !== undefined) throw new UsageError("--explain is about one event of one file");
  const verb = own.verify ? "verify" : "replay";
  return runBatch(io, { verb, files: batchFiles(args), options: own, batch, lineOf });
}

/** What a replay of many comes to for one file */
function lineOf({ file, error, result }: BatchRecord): string {
  if (error !== undefined) return `${file}: ${error}`;
  const summary = ReplayOutputSchema.safeParse(result);
  if (!summary.success || summary.data.type !== "summary") return `${file}: decides otherwise than recorded`;
  const { events, runs, compactions, cost, verification } = summary.data;
  const count = Object.values(runs).flatMap((kinds) => Object.values(kinds));
  const all = countOf(
    count.reduce((sum, n) => sum + n, 0),
    "run",
  );
  const money = cost > 0 ? `, ${dollars(cost)}` : "";
  const verdict = verification ? (verification.ok ? ", as recorded" : ", not as recorded") : "";
  return `${file}: ${countOf(events, "event")}, ${all}, ${countOf(compactions, "compaction")}${money}${verdict}`;
}

/** Carries the command out; resolves to its exit code. */
export async function replayFile(io: Io, file: string | undefined, options: ReplayOptions): Promise<number> {
  refuseContradictions(options);
  const { leaf, set = {}, explain: number, verify: verifies, json } = options;
  const source = await openSource(io, file, { leaf, twice: Object.keys(set).length > 0 });
  if (verifies && source.kind === "session") {
    throw new UsageError(
      `${source.file}: a Pi session holds no recorded decisions; --verify is for recordings`,
    );
  }
  if (number !== undefined) return explain(io, source, number, options);
  if (json) put(io, firstLine(source, set));
  return verifies ? verify(io, source, options) : show(io, source, options);
}

/** Throws `UsageError` for options of which one would have to be left unheeded. */
function refuseContradictions(options: ReplayOptions): void {
  const { verify, explain, from, to } = options;
  const refuseAmong = (names: readonly (keyof ReplayOptions)[], why: string) => {
    const given = names.filter((name) => options[name] !== undefined).map((name) => `--${name}`);
    if (given.length > 0) throw new UsageError(`${why}; leave out ${listed(given)}`);
  };
  if (verify) {
    const others = ["set", "explain", "lane", "from", "to", "all"] as const;
    refuseAmong(others, "--verify goes through the whole recording, as it was recorded");
  }
  if (explain !== undefined) refuseAmong(["from", "to", "all"], "--explain is about one event");
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError(`--from ${from} comes after --to ${to}`);
}

async function show(
  io: Io,
  source: ReplaySource,
  { set = {}, lane, from = 1, to = Number.POSITIVE_INFINITY, json, all }: ReplayOptions,
): Promise<number> {
  const lanes = lane ? [lane] : LANES;
  const table = createStepTable(io, lanes);
  let shown = 0;
  if (!json) for (const line of introduction(source, set)) io.prose(line);
  const report = await runReplay(source, io, {
    patch: set,
    onStep(step) {
      if (step.number >= from && step.number <= to && (all || changedAnything(step, lanes))) {
        shown++;
        if (json) put(io, stepLine(step, lanes));
        else table.row(step);
      }
      return step.number < to;
    },
  });
  if (json) put(io, summaryLine(report, shown));
  else for (const line of ["", ...table.legend(), ...summaryText(report, shown)]) io.prose(line);
  complainOfLines(io, source.file, report.reading);
  return EXIT.ok;
}

/** Whether an event moved a lane of these, or made one ask for something. */
function changedAnything({ transitions, commands }: ReplayStep, lanes: readonly LaneName[]): boolean {
  if (lanes.length > 1) return transitions.length + commands.length > 0;
  return transitions.some(({ lane }) => lanes.includes(lane));
}

async function verify(io: Io, source: ReplaySource, { json }: ReplayOptions): Promise<number> {
  const report = await runReplay(source, io, { untilDifference: true, onStep: () => true });
  complainOfLines(io, source.file, report.reading);
  const { verification } = report;
  if (!verification) return EXIT.ok;
  if (json) {
    if (verification.difference) put(io, { type: "difference", ...verification.difference });
    put(io, summaryLine(report, 0, verification));
  } else for (const line of verdictText(io, verification)) io.prose(line, 12);
  return isVerified(verification) ? EXIT.ok : EXIT.difference;
}

async function explain(
  io: Io,
  source: ReplaySource,
  number: number,
  { set = {}, lane, json }: ReplayOptions,
): Promise<number> {
  const lanes = lane ? [lane] : LANES;
  let found: ReplayStep | undefined;
  let before: number | undefined;
  let after: number | undefined;
  const { reading } = await runReplay(source, io, {
    patch: set,
    onStep(step) {
      if (step.number === number) found = step;
      else if (step.number < number) before = step.number;
      else after = step.number;
      return step.number < number;
    },
  });
  complainOfLines(io, source.file, reading);
  if (!found)
    throw new UsageError(`${source.file}: there is no event ${number}; ${neighbourWords(before, after)}`);
  const { event } = found;
  const moment = { ...found, at: Date.parse(event.at) };
  if (json) {
    const stands = lanesAfter(found, lanes);
    const explained = lanes.map((one) => [one, { ...stands[one], why: whyLane(one, moment) }]);
    put(io, firstLine(source, set));
    put(io, {
      type: "explanation",
      number,
      at: event.at,
      event: event.type,
      lanes: Object.fromEntries(explained),
    });
    return EXIT.ok;
  }
  io.prose(io.paint("dim", `#${eventLine(number, event)}`), 2);
  for (const one of lanes) io.prose(explainLane(one, moment), 2);
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
  if (source.kind === "recording") {
    return Object.keys(patch).length === 0
      ? []
      : [`Under ${setWords(patch)}; the other settings as recorded.`];
  }
  const { header, entries, all } = source.session;
  const branch =
    entries.length < all.length ? `, of ${countOf(all.length, "entry", "entries")} in the file` : "";
  return [
    `Pi session ${header.id}, version ${header.version}: ${countOf(entries.length, "entry", "entries")} on this branch${branch}.`,
    settingsWords(source.settings, patch),
  ];
}

function put(io: Io, line: ReplayOutput): void {
  io.json(line);
}

const LANE_WORDS: Readonly<Record<string, LaneName>> = {
  observer: "observer",
  reflect: "reflectDrop",
  reflectdrop: "reflectDrop",
  "reflect/drop": "reflectDrop",
  compaction: "compaction",
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
