import Table from "cli-table3";
import { Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { parseRecordingLine } from "../../machines/recording/recording-line.ts";
import { createReplay } from "../../machines/recording/replay.ts";
import { createTune, gridOf, type TuneRow } from "../../machines/what-if/tune.ts";
import { createRunStatistics, type Price, type RunStatistics } from "../../machines/what-if/workload.ts";
import { DEFAULT_SETTINGS } from "../../reducers/settings.ts";
import { NAMESPACE } from "../settings/settings.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { newReading, openSource, type ReplaySource, readBatch } from "./replay/replay-source.ts";
import { readingWords } from "./replay/replay-summary.ts";
import { collect } from "./session/session-options.ts";
import { parseSet } from "./settings-option.ts";
import { count, grouped, listed } from "./words.ts";

interface TuneOptions {
  observe?: number[];
  reflect?: number[];
  compact?: number[];
  price?: Price;
  set?: string[];
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
    .argument("<file...>", "recordings or Pi sessions")
    .option("--observe <list>", `observeAfterTokens to try (default: ${OBSERVE.join(",")})`, tokenList)
    .option("--reflect <list>", `reflectAfterTokens to try (default: ${REFLECT.join(",")})`, tokenList)
    .option("--compact <list>", `compactAfterTokens to try (default: ${COMPACT.join(",")})`, tokenList)
    .option(
      "--price <in,out>",
      "USD per million input and output tokens (default: from the recorded usage)",
      priceOf,
    )
    .option("--set <key=value>", "another setting that holds for all rows (repeatable)", collect)
    .option("--settings <row>", "print the settings of this row, for Pi's settings.json", rowOf)
    .option("--json", "NDJSON, a row a line, as docs/replay.md describes it")
    .action(async (files: string[], options: TuneOptions) => exit(await tune(io, files, options)));
}

async function tune(io: Io, files: readonly string[], options: TuneOptions): Promise<number> {
  const grid = gridOf(options.observe ?? OBSERVE, options.reflect ?? REFLECT, options.compact ?? COMPACT);
  const patch = parseSet(options.set ?? []);
  for (const [key, option] of Object.entries(GRID_OPTIONS)) {
    if (key in patch) throw new UsageError(`--set ${key}: the rows differ in it; give ${option}`);
  }
  const chosen = options.settings === undefined ? undefined : grid[options.settings - 1];
  if (options.settings !== undefined && !chosen) {
    throw new UsageError(`--settings ${options.settings}: there are rows 1 to ${grid.length}`);
  }
  if (files.filter((file) => file === "-").length > 1)
    throw new UsageError("-: standard input can be named once");
  const statistics = createRunStatistics();
  const sources: ReplaySource[] = [];
  for (const file of files) sources.push(await openSource(file, { twice: true }));
  if (options.settings !== undefined && chosen) {
    const settings = { ...patch, ...chosen };
    io.line(
      options.json
        ? JSON.stringify({ type: "settings", row: options.settings, settings })
        : JSON.stringify({ [NAMESPACE]: settings }, null, 2),
    );
    return EXIT.ok;
  }
  for (const source of sources) await measure(io, source, statistics);
  const price = options.price ?? statistics.price();
  const model = statistics.model();
  const schedules = createTune({ grid, patch, model, price });
  for (const source of sources) {
    schedules.open();
    if (source.kind === "session") schedules.takeSession(source.session.entries);
    else {
      await eachLine(io, source, (line) => {
        schedules.takeLine(parseRecordingLine(line));
      });
    }
  }
  const rows = schedules.rows();
  const isPriced = price !== undefined;
  if (options.json) {
    for (const [index, row] of rows.entries()) io.json(tuneLine(row, index, isPriced));
  } else {
    io.line(tableOf(io, rows, isPriced));
    io.line("");
    const isGiven = options.price !== undefined;
    for (const line of notes({ sources, rows, statistics, price, isGiven })) io.line(line);
  }
  return EXIT.ok;
}

async function measure(io: Io, source: ReplaySource, statistics: RunStatistics): Promise<void> {
  if (source.kind === "session") {
    for (const words of readingWords(source.file, source.reading)) io.complain(words);
    return;
  }
  const replay = createReplay();
  const reading = await eachLine(io, source, (line) => {
    const step = replay.read(line);
    if (step) statistics.take(step);
  });
  replay.end();
  for (const words of readingWords(source.file, reading)) io.complain(words);
}

async function eachLine(
  io: Io,
  source: ReplaySource & { kind: "recording" },
  take: (line: string) => void,
): Promise<ReturnType<typeof newReading>> {
  const reading = newReading();
  for await (const batch of source.batches()) {
    readBatch(batch, reading, {
      onLost: () => {},
      read(line) {
        take(line);
        return true;
      },
    });
    io.progress(
      () => `${source.file}: ${grouped(batch.bytes)} of ${grouped(source.size ?? batch.bytes)} bytes`,
    );
    await io.ready();
  }
  return reading;
}

function tuneLine(row: TuneRow, index: number, priced: boolean): z.infer<typeof TuneLineSchema> {
  const { thresholds, usage, best, ...sums } = row;
  const { input, output, cost } = usage;
  return {
    type: "row",
    row: index + 1,
    settings: thresholds,
    ...sums,
    cost: priced ? cost : null,
    usage: { input, output },
    best,
  };
}

const HEADS = [
  "row",
  "observe",
  "reflect",
  "compact",
  "observer\nruns",
  "reflector\nruns",
  "dropper\nruns",
  "source\ntokens read",
];
const MORE_HEADS = [
  "longest\nunobserved",
  "longest\nunreflected",
  "cut\nunobserved",
  "compac-\ntions",
  "best",
];
const NO_LINES = Object.fromEntries(
  ["top", "bottom", "left", "right", "mid"].flatMap((side) =>
    [
      side,
      `${side}-mid`,
      `${side}-left`,
      `${side}-right`,
      `mid-${side}`,
      `left-${side}`,
      `right-${side}`,
    ].map((place) => [place, ""]),
  ),
);

function tableOf(io: Io, rows: readonly TuneRow[], isPriced: boolean): string {
  const heads = [...HEADS, isPriced ? "cost\nUSD" : "model\ntokens", ...MORE_HEADS];
  const table = new Table({
    head: heads,
    colAligns: heads.map(() => "right" as const),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...NO_LINES, middle: "  " },
  });
  for (const [index, row] of rows.entries()) {
    const { thresholds, runs, usage } = row;
    const numbers = [
      thresholds.observeAfterTokens,
      thresholds.reflectAfterTokens,
      thresholds.compactAfterTokens,
      runs.observer,
      runs.reflector,
      runs.dropper,
      row.sourceTokensRead,
    ];
    const ends = [row.longestUnobserved, row.longestUnreflected, row.cutUnobserved, row.compactions];
    const cost = isPriced ? usage.cost.toFixed(4) : grouped(usage.input + usage.output);
    const cells = [
      String(index + 1),
      ...numbers.map(grouped),
      cost,
      ...ends.map(grouped),
      row.best ? "*" : "",
    ];
    table.push(row.best ? cells.map((cell) => io.paint("bold", cell)) : cells);
  }
  return table.toString().replace(/ +$/gm, "");
}

interface Told {
  sources: readonly ReplaySource[];
  rows: readonly TuneRow[];
  statistics: RunStatistics;
  price: Price | undefined;
  /** The price is the user's. */
  isGiven: boolean;
}

function notes({ sources, rows, statistics, price, isGiven }: Told): string[] {
  const model = statistics.model();
  const measured = (["observer", "reflector", "dropper"] as const)
    .filter((worker) => model[worker].measuredRuns > 0)
    .map((worker) => count(model[worker].measuredRuns, `${worker} run`));
  const basis =
    measured.length > 0 ? `the mean of ${listed(measured)}` : "experience, since no run was recorded";
  const origin = isGiven ? "" : ", as the recorded usage has it";
  const money = price
    ? `Cost: $${round(price.input)} and $${round(price.output)} per million input and output tokens${origin}.`
    : "No price is known: give one with --price in,out to see costs.";
  const asDefault = rows.findIndex(({ thresholds }) =>
    Object.entries(thresholds).every(([key, value]) => Reflect.get(DEFAULT_SETTINGS, key) === value),
  );
  return [
    `${count(sources.length, "file")}. All results are modelled on ${basis}; compactions keep ${grouped(model.keepTokens)} tokens.`,
    money,
    "* marks the rows that no other row beats in cost, longest spans, tokens cut unobserved and compactions.",
    ...(asDefault === -1 ? [] : [`Row ${asDefault + 1} has the default thresholds.`]),
    "--settings ROW prints a row as settings.",
  ];
}

function round(price: number): string {
  return String(Number(price.toFixed(3)));
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

function rowOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError("It must be a row's number, from 1 to 999999999.");
  return Number(text);
}
