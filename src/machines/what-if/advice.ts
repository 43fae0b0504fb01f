import { costOf, type TuneRow } from "./tune.ts";

/** Less than this share saved is not worth a change on modelled figures. */
export const LEAST_SAVING = 0.1;
/** The longest unobserved and unreflected spans may grow by this factor for a lower cost. */
export const LARGEST_GROWTH = 2;

/** What to do about the schedule in use. Shares are of its cost. */
export interface Advice {
  yours: TuneRow;
  /** The row to change to; undefined: keep yours. */
  advised?: TuneRow;
  /** What the advised row saves; of none, what the cheapest one would. */
  saving: number;
  /** Why yours is kept: nothing ran under it, nothing is clearly cheaper, or what is pays too much for it. */
  keep?: "nothingRan" | "noSaving" | "tooDear";
  /** With `tooDear`, the cheapest row */
  cheapest?: TuneRow;
}

/**
 * The cheapest row that costs clearly less than yours, leaves at most twice as much unobserved and unreflected at worst,
 * cuts no more unobserved and compacts no more often. Undefined when no row is yours.
 */
export function adviceOf(rows: readonly TuneRow[]): Advice | undefined {
  const yours = rows.find((row) => row.yours);
  if (!yours) return undefined;
  if (costOf(yours) === 0) return { yours, saving: 0, keep: "nothingRan" };
  const saving = (row: TuneRow) => 1 - costOf(row) / costOf(yours);
  const cheaper = rows
    .filter((row) => saving(row) >= LEAST_SAVING)
    .sort((a, b) => costOf(a) - costOf(b) || comparePrice(a, b) || changes(a, yours) - changes(b, yours));
  const [advised] = cheaper.filter((row) => isWorthIt(row, yours));
  if (advised) return { yours, advised, saving: saving(advised) };
  const [cheapest] = cheaper;
  if (cheapest) return { yours, saving: saving(cheapest), keep: "tooDear", cheapest };
  return { yours, saving: Math.max(0, ...rows.map(saving)), keep: "noSaving" };
}

/** Between rows of one cost: less cut unobserved, less unreflected, less unobserved, fewer compactions. */
function comparePrice(a: TuneRow, b: TuneRow): number {
  return (
    a.cutUnobserved - b.cutUnobserved ||
    a.longestUnreflected - b.longestUnreflected ||
    a.longestUnobserved - b.longestUnobserved ||
    a.compactions - b.compactions
  );
}

function isWorthIt(row: TuneRow, yours: TuneRow): boolean {
  return (
    row.longestUnobserved <= yours.longestUnobserved * LARGEST_GROWTH &&
    row.longestUnreflected <= yours.longestUnreflected * LARGEST_GROWTH &&
    row.cutUnobserved <= yours.cutUnobserved &&
    row.compactions <= yours.compactions
  );
}

/** In how many thresholds a row is not as yours. */
function changes({ thresholds }: TuneRow, yours: TuneRow): number {
  const keys = ["observeAfterTokens", "reflectAfterTokens", "compactAfterTokens"] as const;
  return keys.filter((key) => thresholds[key] !== yours.thresholds[key]).length;
}

/** Rows that come out the same, together: yours first where it is among them. Only those that nothing beats, and yours. */
export function distinctRows(rows: readonly TuneRow[], advised: TuneRow | undefined): TuneRow[] {
  const groups = Map.groupBy(
    rows.filter(({ best, yours }) => best || yours),
    ({ thresholds: _, best: __, yours: ___, ...results }) => JSON.stringify(results),
  );
  return [...groups.values()].flatMap((group) => {
    const named = group.filter((row) => row.yours || row === advised);
    return named.length > 0 ? named : group.slice(0, 1);
  });
}
