import { Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { parseRecordingLine } from "../../../machines/recording/recording-line.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import { adviceOf } from "../../../machines/what-if/advice.ts";
import { createColdStarts } from "../../../machines/what-if/cold-starts.ts";
import { createTune, gridOf, type TuneRow } from "../../../machines/what-if/tune.ts";
import { createRunStatistics, generalModel, type Price } from "../../../machines/what-if/workload.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../reducers/settings.ts";
import { NAMESPACE } from "../../settings/settings.ts";
import { ownSettings, surroundings } from "../input/surroundings.ts";
import { EXIT, type Io, UsageError } from "../io.ts";
import { examples, ordinalOf, withSetting } from "../options.ts";
import { runReplay } from "../replay/replay-run.ts";
import { complainOfLines, openSource, type ReplaySource, readRecording } from "../replay/replay-source.ts";
import { adviceText, adviceWords, type Comparison, changedSettings, notes, tableOf } from "./tune-text.ts";

interface TuneOptions {
  observe?: number[];
  reflect?: number[];
  compact?: number[];
  price?: Price;
  set?: Partial<Settings>;
  settings?: number;
  json?: boolean;
}

/** One line of `memory-lanes tune --json`. Tokens are source tokens, `usage` is model tokens and USD. */
export const TuneLineSchema = z.object({
  type: z.literal("row"),
  row: z.int(),
  settings: z.object({
    observeAfterTokens: z.int(),
    reflectAfterTokens: z.int(),
    compactAfterTokens: z.int(),
  }),
  runs: z.object({ observer: z.int(), reflector: z.int(), dropper: z.int() }),
  requests: z.int(),
  sourceTokensRead: z.number(),
  /** USD; null without a price */
  cost: z.number().nullable(),
  usage: z.object({ input: z.number(), output: z.number() }),
  longestUnobserved: z.number(),
  longestUnreflected: z.number(),
  cutUnobserved: z.number(),
  compactions: z.int(),
  best: z.boolean(),
  /** The settings in use now */
  yours: z.boolean(),
});

/** The last line of `memory-lanes tune --json`. */
export const TuneAdviceSchema = z.object({
  type: z.literal("advice"),
  /** Row of the settings in use now */
  yours: z.int(),
  /** Row to change to; null: keep yours */
  advised: z.int().nullable(),
  /** What costs are: USD, or without a price input tokens, output counted five times */
  unit: z.enum(["usd", "tokens"]),
  /** Share of your cost that it saves; without advice, what the cheapest row would */
  saving: z.number(),
  /** Why yours is kept */
  keep: z.enum(["nothingRan", "noSaving", "tooDear"]).optional(),
  /** The advice in words */
  words: z.string(),
  /** The settings to change, as they stand under `observational-memory` */
  settings: z.record(z.string(), z.unknown()),
  /** Recorded runs of each worker; figures rest on them from ten on */
  measuredRuns: z.object({ observer: z.int(), reflector: z.int(), dropper: z.int() }),
  /** Prompts that came after the prompt cache had run out, what reading their context anew cost, and what of it `idleCompaction` saves */
  idleCompaction: z.object({
    count: z.int(),
    unpriced: z.int(),
    /** USD */
    usd: z.number(),
    savedUsd: z.number(),
    compactions: z.int(),
  }),
});

/** The settings that make the grid, and the options that name their values. */
const GRID_OPTIONS = {
  observeAfterTokens: "--observe",
  reflectAfterTokens: "--reflect",
  compactAfterTokens: "--compact",
} as const;
const { observeAfterTokens, reflectAfterTokens, compactAfterTokens } = DEFAULT_SETTINGS;
const OBSERVE = [observeAfterTokens / 2, observeAfterTokens, observeAfterTokens * 2];
const REFLECT = [reflectAfterTokens / 2, reflectAfterTokens, reflectAfterTokens * 2];
const COMPACT = [50_000, compactAfterTokens, 120_000];

export function tuneCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("tune")
    .description(
      "Compare thresholds on your own sessions: what each would cost, and what it would leave unobserved",
    )
    .argument("[file...]", "recordings or Pi sessions (default: the latest session of this folder)")
    .option("--observe <list>", `observeAfterTokens to try (default: ${OBSERVE.join(",")})`, tokenList)
    .option("--reflect <list>", `reflectAfterTokens to try (default: ${REFLECT.join(",")})`, tokenList)
    .option("--compact <list>", `compactAfterTokens to try (default: ${COMPACT.join(",")})`, tokenList)
    .option(
      "--price <in,out>",
      "USD per million input and output tokens (default: from the recorded usage)",
      priceOf,
    )
    .option("--set <key=value>", "another setting that holds for all rows (repeatable)", withSetting)
    .option("--settings <row>", "print the settings of this row, for Pi's settings.json", ordinalOf)
    .option("--json", "NDJSON, a row a line, as docs/replay.md describes it")
    .addHelpText(
      "after",
      examples(
        ["tune", "the latest session of this folder"],
        ["tune ~/.pi/agent/sessions/*/*.jsonl --price 1,5", "all sessions, at $1 and $5 per million tokens"],
        ["tune --observe 5000,10000 --settings 2", "the settings of row 2, to paste"],
      ),
    )
    .action(async (files: string[], options: TuneOptions) => exit(await tune(io, files, options)));
}

async function tune(io: Io, files: readonly string[], options: TuneOptions): Promise<number> {
  const { observe = OBSERVE, reflect = REFLECT, compact = COMPACT, set = {}, settings: chosen } = options;
  const grid = gridOf(observe, reflect, compact);
  for (const [key, option] of Object.entries(GRID_OPTIONS)) {
    if (key in set) throw new UsageError(`--set ${key}: the rows differ in it; give ${option}`);
  }
  if (chosen !== undefined && chosen > grid.length)
    throw new UsageError(`--settings ${chosen}: there are rows 1 to ${grid.length}`);
  if (files.filter((file) => file === "-").length > 1)
    throw new UsageError("-: standard input can be named once");
  const sources: ReplaySource[] = [];
  for (const file of files.length > 0 ? files : [undefined])
    sources.push(await openSource(io, file, { twice: true }));
  if (chosen !== undefined) {
    io.line(settingsText(chosen, { ...set, ...grid[chosen - 1] }, options.json));
    return EXIT.ok;
  }
  const statistics = createRunStatistics();
  const coldStarts = createColdStarts();
  for (const source of sources) {
    await measure(io, source, (step) => {
      statistics.take(step);
      coldStarts.take(step);
    });
  }
  const price = options.price ?? statistics.price();
  const model = generalModel(statistics.model());
  const yours = ownSettings(surroundings()).settings;
  // What a memory that is passive or over budget would cost if it were not says more than that it costs nothing.
  const patch = { ...yours, passive: false, budget: {}, ...set };
  const schedules = createTune({ grid, patch, yours, model, price });
  for (const source of sources) {
    schedules.open();
    if (source.kind === "session") schedules.takeSession(source.session.entries);
    else await readRecording(source, io, (line) => schedules.takeLine(parseRecordingLine(line)));
  }
  const rows = schedules.rows();
  const advice = adviceOf(rows);
  if (!advice) throw new Error("no row has the settings in use");
  const comparison = {
    ...{ files: sources.length, rows, advice, yours, model, price },
    coldStarts: coldStarts.sum(),
  };
  if (options.json) {
    for (const [index, row] of rows.entries()) io.json(tuneLine(row, index, price !== undefined));
    io.json(adviceLine(comparison));
  } else {
    io.line(tableOf(io, comparison));
    const isGiven = options.price !== undefined;
    for (const line of ["", ...adviceText(io, comparison), "", ...notes(comparison, isGiven)]) io.line(line);
  }
  return EXIT.ok;
}

/** A row's settings, as they stand in Pi's `settings.json`, or on a line of JSON. */
function settingsText(row: number, settings: Partial<Settings>, json = false): string {
  return json
    ? JSON.stringify({ type: "settings", row, settings })
    : JSON.stringify({ [NAMESPACE]: settings }, null, 2);
}

function adviceLine(comparison: Comparison): z.infer<typeof TuneAdviceSchema> {
  const { rows, advice, yours, model, price, coldStarts } = comparison;
  const { advised, saving, keep } = advice;
  return {
    type: "advice",
    yours: rows.indexOf(advice.yours) + 1,
    advised: advised ? rows.indexOf(advised) + 1 : null,
    unit: price ? "usd" : "tokens",
    saving,
    ...(keep && { keep }),
    words: adviceWords(comparison),
    settings: advised ? changedSettings(advised, yours) : {},
    measuredRuns: {
      observer: model.observer.measuredRuns,
      reflector: model.reflector.measuredRuns,
      dropper: model.dropper.measuredRuns,
    },
    idleCompaction: coldStarts,
  };
}

/** Shows what happened in a recording, step by step; a session does not tell its runs apart. */
async function measure(io: Io, source: ReplaySource, onStep: (step: ReplayStep) => void): Promise<void> {
  const { reading } = source.kind === "session" ? source : await runReplay(source, io, { onStep });
  complainOfLines(io, source.file, reading);
}

function tuneLine(row: TuneRow, index: number, isPriced: boolean): z.infer<typeof TuneLineSchema> {
  const { thresholds, usage, ...sums } = row;
  const { input, output, cost } = usage;
  return {
    type: "row",
    row: index + 1,
    settings: thresholds,
    ...sums,
    cost: isPriced ? cost : null,
    usage: { input, output },
  };
}

function tokenList(text: string): number[] {
  const list = text.split(",").map((part) => Number(part.trim().replaceAll("_", "")));
  if (!list.every((value) => Number.isSafeInteger(value) && value > 0)) {
    throw new InvalidArgumentError(
      `It must be whole numbers of tokens from 1 to ${Number.MAX_SAFE_INTEGER}, with commas between them.`,
    );
  }
  return list;
}

function priceOf(text: string): Price {
  const [input, output, ...more] = text
    .split(",")
    .map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const isPrice = (value: number | undefined) => value !== undefined && Number.isFinite(value) && value >= 0;
  if (!isPrice(input) || !isPrice(output) || more.length > 0) {
    throw new InvalidArgumentError("It must be two amounts in USD per million tokens: in,out.");
  }
  return { input: input ?? 0, output: output ?? 0 };
}
