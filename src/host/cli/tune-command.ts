import Table from "cli-table3";
import { Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { parseRecordingLine } from "../../machines/recording/recording-line.ts";
import { createTune, gridOf, type TuneRow } from "../../machines/what-if/tune.ts";
import { createRunStatistics, type Price, type RunStatistics } from "../../machines/what-if/workload.ts";
import { WORKERS } from "../../reducers/engine/lane-names.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../reducers/settings.ts";
import { countOf, grouped, listed } from "../../reducers/words.ts";
import { NAMESPACE } from "../settings/settings.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { ordinalOf, withSetting } from "./options.ts";
import { runReplay } from "./replay/replay-run.ts";
import { complainOfLines, openSource, type ReplaySource, readRecording } from "./replay/replay-source.ts";

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
    .action(async (files: string[], options: TuneOptions) => exit(await tune(io, files, options)));
}

async function tune(io: Io, files: readonly string[], options: TuneOptions): Promise<number> {
  const {
    observe = OBSERVE,
    reflect = REFLECT,
    compact = COMPACT,
    set: patch = {},
    settings: chosen,
  } = options;
  const grid = gridOf(observe, reflect, compact);
  for (const [key, option] of Object.entries(GRID_OPTIONS)) {
    if (key in patch) throw new UsageError(`--set ${key}: the rows differ in it; give ${option}`);
  }
  if (chosen !== undefined && chosen > grid.length)
    throw new UsageError(`--settings ${chosen}: there are rows 1 to ${grid.length}`);
  if (files.filter((file) => file === "-").length > 1)
    throw new UsageError("-: standard input can be named once");
  const sources: ReplaySource[] = [];
  for (const file of files.length > 0 ? files : [undefined])
    sources.push(await openSource(io, file, { twice: true }));
  if (chosen !== undefined) {
    io.line(settingsText(chosen, { ...patch, ...grid[chosen - 1] }, options.json));
    return EXIT.ok;
  }
  const statistics = createRunStatistics();
  for (const source of sources) await measure(io, source, statistics);
  const price = options.price ?? statistics.price();
  const schedules = createTune({ grid, patch, model: statistics.model(), price });
  for (const source of sources) {
    schedules.open();
    if (source.kind === "session") schedules.takeSession(source.session.entries);
    else await readRecording(source, io, (line) => schedules.takeLine(parseRecordingLine(line)));
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

/** A row's settings, as they stand in Pi's `settings.json`, or on a line of JSON. */
function settingsText(row: number, settings: Partial<Settings>, json = false): string {
  return json
    ? JSON.stringify({ type: "settings", row, settings })
    : JSON.stringify({ [NAMESPACE]: settings }, null, 2);
}

/** Adds to the statistics how the workers of a recording did; a session's are not told apart. */
async function measure(io: Io, source: ReplaySource, statistics: RunStatistics): Promise<void> {
  const { reading } =
    source.kind === "session" ? source : await runReplay(source, io, { onStep: statistics.take });
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

/** The table's columns: what stands above each, and what each has of a row. */
const COLUMNS: readonly (readonly [head: string, cell: (row: TuneRow) => number])[] = [
  ["observe", ({ thresholds }) => thresholds.observeAfterTokens],
  ["reflect", ({ thresholds }) => thresholds.reflectAfterTokens],
  ["compact", ({ thresholds }) => thresholds.compactAfterTokens],
  ["observer\nruns", ({ runs }) => runs.observer],
  ["reflector\nruns", ({ runs }) => runs.reflector],
  ["dropper\nruns", ({ runs }) => runs.dropper],
  ["source\ntokens read", ({ sourceTokensRead }) => sourceTokensRead],
  ["model\ntokens", ({ usage }) => usage.input + usage.output],
  ["longest\nunobserved", ({ longestUnobserved }) => longestUnobserved],
  ["longest\nunreflected", ({ longestUnreflected }) => longestUnreflected],
  ["cut\nunobserved", ({ cutUnobserved }) => cutUnobserved],
  ["compac-\ntions", ({ compactions }) => compactions],
];

/** A table without lines is what each of these is empty in. */
const LINES =
  "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid";

function tableOf(io: Io, rows: readonly TuneRow[], isPriced: boolean): string {
  const head = ["row", ...COLUMNS.map(([title]) => title), ...(isPriced ? ["cost\nUSD"] : []), "best"];
  const table = new Table({
    head,
    colAligns: head.map(() => "right" as const),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...Object.fromEntries(LINES.split(" ").map((place) => [place, ""])), middle: "  " },
  });
  for (const [index, row] of rows.entries()) {
    const cost = isPriced ? [row.usage.cost.toFixed(4)] : [];
    const numbers = COLUMNS.map(([, cell]) => grouped(cell(row)));
    const cells = [String(index + 1), ...numbers, ...cost, row.best ? "*" : ""];
    table.push(row.best ? cells.map((cell) => io.paint("bold", cell)) : cells);
  }
  return table.toString().replace(/ +$/gm, "");
}

/** What the lines under the table speak of. */
interface Comparison {
  sources: readonly ReplaySource[];
  rows: readonly TuneRow[];
  statistics: RunStatistics;
  price: Price | undefined;
  /** The price is the user's. */
  isGiven: boolean;
}

function notes({ sources, rows, statistics, price, isGiven }: Comparison): string[] {
  const model = statistics.model();
  const measured = WORKERS.filter((worker) => model[worker].measuredRuns > 0).map((worker) =>
    countOf(model[worker].measuredRuns, `${worker} run`),
  );
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
    `${countOf(sources.length, "file")}. All results are modelled on ${basis}; compactions keep ${grouped(model.keepTokens)} tokens.`,
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
