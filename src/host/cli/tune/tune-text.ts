import { type Advice, distinctRows, LARGEST_GROWTH, LEAST_SAVING } from "../../../machines/what-if/advice.ts";
import type { ColdStarts } from "../../../machines/what-if/cold-starts.ts";
import { costOf, type TuneRow } from "../../../machines/what-if/tune.ts";
import { ENOUGH_RUNS, type Price, type Workload } from "../../../machines/what-if/workload.ts";
import { COLD_MARGIN } from "../../../reducers/engine/cold-cache.ts";
import { WORKERS } from "../../../reducers/engine/lane-names.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { compact, countOf, dollars, grouped, listed } from "../../../reducers/words.ts";
import { NAMESPACE } from "../../settings/settings.ts";
import { type Io, wrapped } from "../io.ts";
import { plainTable } from "../plain-table.ts";

/** What `memory-lanes tune` found, for those who read it. */
export interface Comparison {
  files: number;
  rows: readonly TuneRow[];
  advice: Advice;
  /** The settings in use now */
  yours: Settings;
  model: Workload;
  price: Price | undefined;
  coldStarts: ColdStarts;
}

/** Rows that nothing beats, and yours; those that come out the same once. Fits 80 columns. */
export function tableOf(io: Io, comparison: Comparison): string {
  const { rows, advice, price, yours } = comparison;
  const head = [
    ...["row", "observe/\nreflect/\ncompact", "runs\nof\neach", "un-\nobserved\nat worst"],
    ...["un-\nreflected\nat worst", "cut un-\nobserved", "com-\npac-\ntions"],
    ...(price ? ["model\ntokens", "cost"] : ["tokens,\nout × 5"]),
    "",
  ];
  const tableRows = distinctRows(rows, advice.advised).map((row) => {
    const { runs, usage, thresholds } = row;
    const isRatio = row.yours && yours.compactAfterTokensMode === "ratio";
    const compactAt = isRatio
      ? `${round(yours.compactAfterTokensRatio * 100)}%`
      : tokens(thresholds.compactAfterTokens);
    const cells = [
      String(rows.indexOf(row) + 1),
      `${tokens(thresholds.observeAfterTokens)}/${tokens(thresholds.reflectAfterTokens)}/${compactAt}`,
      WORKERS.map((worker) => runs[worker]).join("/"),
      ...[row.longestUnobserved, row.longestUnreflected, row.cutUnobserved].map(tokens),
      String(row.compactions),
      tokens(price ? usage.input + usage.output : costOf(row)),
      ...(price ? [money(usage.cost)] : []),
      row.yours ? "yours" : row === advice.advised ? "this" : "",
    ];
    return cells.at(-1) === "" ? cells : cells.map((cell) => io.paint("bold", cell));
  });
  const colAligns = head.map((_, at) => (at === head.length - 1 ? ("left" as const) : ("right" as const)));
  return plainTable({ head, rows: tableRows, colAligns, padding: 0, gap: " " });
}

/** The advice in a sentence. */
export function adviceWords({ rows, advice, price }: Comparison): string {
  const { yours, advised, saving, keep, cheapest } = advice;
  const cost = (row: TuneRow) => (price ? money(row.usage.cost) : `${tokens(costOf(row))} tokens`);
  const percent = `${Math.round(saving * 100)} %`;
  if (advised)
    return `Yours: ${cost(yours)}; this: ${cost(advised)}, ${percent} less, ${spans(advised, yours)}.`;
  const kept = `Keep yours (${cost(yours)})`;
  if (keep === "nothingRan") return `Keep yours: these files are too short for any worker to run under it.`;
  if (cheapest) {
    const row = `row ${rows.indexOf(cheapest) + 1}`;
    return `${kept}: the cheapest, ${row}, costs ${cost(cheapest)}, ${percent} less, but ${spans(cheapest, yours)}.`;
  }
  const most = saving > 0 ? `at most ${percent}` : "nothing";
  return `${kept}: other rows save ${most}, less than the ${LEAST_SAVING * 100} % that make a change worth it.`;
}

/** The price of a saving: what stays longer, is cut, or happens more often. */
function spans(row: TuneRow, yours: TuneRow): string {
  const part = (of: (row: TuneRow) => number, what: string) =>
    of(row) === of(yours) ? [] : [`${tokens(of(row))} instead of ${tokens(of(yours))} ${what}`];
  const worst = [
    ...part(({ longestUnobserved }) => longestUnobserved, "unobserved"),
    ...part(({ longestUnreflected }) => longestUnreflected, "unreflected"),
  ];
  const words = [
    ...(worst.length > 0 ? [`${worst.join(" and ")} at worst`] : []),
    ...part(({ cutUnobserved }) => cutUnobserved, "cut before anybody had observed them"),
    ...(row.compactions === yours.compactions
      ? []
      : [`${row.compactions} instead of ${countOf(yours.compactions, "compaction")}`]),
  ];
  const unit =
    worst.length > 0 ? words.join(", ").replace(/ (unobserved|unreflected)/, " tokens $1") : words.join(", ");
  return unit === "" ? "and nothing else changes" : unit;
}

/** The settings in which a row differs from those in use. */
export function changedSettings({ thresholds }: TuneRow, yours: Settings): Partial<Settings> {
  const wanted = { ...thresholds, compactAfterTokensMode: "calibrated" };
  return Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => Reflect.get(yours, key) !== value),
  );
}

/** The advice, and the settings to paste. */
export function adviceText(io: Io, comparison: Comparison): string[] {
  const { advised } = comparison.advice;
  const words = wrapped(adviceWords(comparison), WIDTH).map((line) => io.paint("bold", line));
  words.push("", ...wrapped(coldStartWords(comparison), WIDTH));
  if (!advised) return words;
  const paste = JSON.stringify({ [NAMESPACE]: changedSettings(advised, comparison.yours) }, null, 2);
  return [...words, "", "To change to it, in Pi's settings.json:", "", ...paste.split("\n")];
}

/** What compacting while idle would have saved, or has, also where that is nothing. */
export function coldStartWords({ coldStarts, yours }: Comparison): string {
  const { count, unpriced, usd, savedUsd, compactions } = coldStarts;
  if (count === 0)
    return "Compaction while idle (idleCompaction): nothing to save, since no prompt is recorded here that came after its prompt cache had run out. Only recordings say when that was, not session files.";
  const starts = `${countOf(count, "prompt")} that came after the prompt cache had run out`;
  if (unpriced === count)
    return `Compaction while idle (idleCompaction): ${starts}, at no price that is known.`;
  const would = yours.idleCompaction === "auto" ? "saves" : "would save";
  const apart = unpriced > 0 ? ` (${unpriced} of them at no known price)` : "";
  if (compactions === 0)
    return `Compaction while idle (idleCompaction) ${would} nothing: ${starts}${apart} cost ${money(usd)}, and none would have cost ${money(COLD_MARGIN.usd)} and ${COLD_MARGIN.share * 100} % less after a compaction.`;
  return `Compaction while idle (idleCompaction) ${would} about ${money(savedUsd)} of the ${money(usd)} that ${starts}${apart} cost, by ${countOf(compactions, "compaction")}. Cheaper requests after those are not counted in.`;
}

/** What the figures rest on, and what "better" means. `isGiven`: the price is the user's. */
export function notes({ files, rows, advice, model, price, yours }: Comparison, isGiven: boolean): string[] {
  const of = (isEnough: boolean) =>
    WORKERS.filter((worker) => model[worker].measuredRuns > 0)
      .filter((worker) => model[worker].measuredRuns >= ENOUGH_RUNS === isEnough)
      .map((worker) => countOf(model[worker].measuredRuns, `${worker} run`));
  const [enough, few] = [of(true), of(false)];
  const tooFew =
    few.length > 0
      ? `${listed(few)} ${few.length === 1 && /^1 /.test(few[0] ?? "") ? "is" : "are"} too few to go by (${ENOUGH_RUNS} are enough)`
      : "";
  const experience = enough.length === WORKERS.length ? "" : "experience with mid-sized models";
  const basis = [...(enough.length > 0 ? [`the mean of ${listed(enough)}`] : []), experience].filter(Boolean);
  const hidden = rows.length - distinctRows(rows, advice.advised).length;
  const origin = isGiven ? "" : ", as the recorded usage has it";
  const paragraphs = [
    `${countOf(files, "file")}. All is modelled, on ${basis.join(", else on ")}${tooFew && `; ${tooFew}`}. Compactions keep ${grouped(model.keepTokens)} tokens.`,
    price
      ? `Cost: $${round(price.input)} and $${round(price.output)} per million input and output tokens${origin}, caching not counted in.`
      : "No price is known, so tokens are compared, output counted five times; --price in,out gives one.",
    `Advised is the cheapest row that saves ${LEAST_SAVING * 100} % or more, leaves at most ${LARGEST_GROWTH === 2 ? "twice" : LARGEST_GROWTH} as much unobserved and unreflected as yours, cuts no more unobserved and compacts no more often.`,
    ...(hidden > 0
      ? [
          `Left out: ${countOf(hidden, "row")} that another beats in every respect, or that come out the same.`,
        ]
      : []),
    ...(yours.passive ? ["Memory is passive in your settings: this is as if it were not."] : []),
    "--settings ROW prints a row as settings.",
  ];
  return paragraphs.flatMap((text) => wrapped(text, WIDTH));
}

const WIDTH = 80;

/** `10k`, `16.9k` */
function tokens(count: number): string {
  return compact(count).replace(/\.0(?=[kM])/, "");
}

function money(usd: number): string {
  return usd >= 1 ? `$${usd.toFixed(2)}` : dollars(usd);
}

function round(price: number): string {
  return String(Number(price.toFixed(3)));
}
