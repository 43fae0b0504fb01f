import { LANES } from "../../../reducers/engine/lane-names.ts";
import { usageMoney } from "../../../reducers/spend-words.ts";
import { grouped } from "../../../reducers/words.ts";
import { changesBetween, factsAt } from "./event-facts.ts";
import { type EventHistory, type LaneMove, lastAtMost } from "./event-history.ts";
import { rowAt } from "./event-search.ts";
import { memoryAt, type Texts } from "./memory-lines.ts";
import { stretchTotals } from "./stretch.ts";
import type { Memory, MemoryLine, MomentsCompared, RunsCompared } from "./viewer-data.ts";

/** Two moments of one run: what is another way at the second, and which lines of memory only one of them has. */
export function momentsCompared(history: EventHistory, texts: Texts, a: number, b: number): MomentsCompared {
  const [before, after] = [linesAt(history, texts, a), linesAt(history, texts, b)];
  const without = (lines: readonly MemoryLine[], others: readonly MemoryLine[]) => {
    const known = new Set(others.map(keyOf));
    return lines.filter((line) => !known.has(keyOf(line)));
  };
  const onlyA = without(before, after);
  return {
    a: rowAt(history.steps, a),
    b: rowAt(history.steps, b),
    changes: changesBetween(factsAt(history, a), factsAt(history, b)),
    onlyA,
    onlyB: without(after, before),
    both: without(before, onlyA),
  };
}

function linesAt(history: EventHistory, texts: Texts, index: number): MemoryLine[] {
  const { reflections, observations }: Memory = memoryAt(
    history,
    texts,
    index,
    "full",
    Number.POSITIVE_INFINITY,
  );
  return [...reflections, ...observations].map((line) => ({ ...line, isNew: false }));
}

function keyOf({ kind, id }: MemoryLine): string {
  return `${kind} ${id}`;
}

/** Two runs over the same session, as it was and as it would have been: their sums, and how often their lanes differ. */
export function runsCompared(real: EventHistory, whatIf: EventHistory): RunsCompared {
  const [was, would] = [sumsOf(real), sumsOf(whatIf)];
  return {
    sums: was.map(({ name, value, shown }, at) => {
      const other = would[at] ?? { value: 0, shown: "" };
      return {
        name,
        real: shown(value),
        whatIf: shown(other.value),
        delta: other.value - value,
        more: shown(Math.abs(other.value - value)),
      };
    }),
    lanes: LANES.map((lane) => ({
      lane,
      ...differences(
        { moves: real.moves[lane], steps: real.steps },
        { moves: whatIf.moves[lane], steps: whatIf.steps },
      ),
    })),
  };
}

interface Sum {
  name: string;
  value: number;
  shown: (value: number) => string;
}

function sumsOf(history: EventHistory): Sum[] {
  const last = history.steps.length - 1;
  const totals = stretchTotals(history, 0, last);
  const { counts, activeTokens } = history.stateAt(last).session.ledger;
  const of = (pick: (worker: (typeof totals.workers)[number]) => number) =>
    totals.workers.reduce((sum, worker) => sum + pick(worker), 0);
  const numbers = [
    ...totals.workers.map(({ worker, runs }) => [`${worker} runs`, runs] as const),
    ["runs that failed", of(({ failed }) => failed)] as const,
    ["requests", of(({ requests }) => requests)] as const,
    ["model tokens in", of(({ input }) => input)] as const,
    ["model tokens out", of(({ output }) => output)] as const,
    ["compactions", totals.compactions] as const,
    ["observations at the end", counts.active] as const,
    ["reflections at the end", counts.reflections] as const,
    ["observation tokens at the end", activeTokens] as const,
  ].map(([name, value]): Sum => ({ name, value, shown: grouped }));
  return [
    ...numbers,
    { name: "cost", value: of(({ cost }) => cost), shown: (usd) => usageMoney({ cost: usd }) },
  ];
}

type LaneOfRun = { moves: readonly LaneMove[]; steps: EventHistory["steps"] };

/** How often, and for which share of the time, a lane is in another state in one run than in the other. */
function differences(
  a: LaneOfRun,
  b: LaneOfRun,
): Pick<RunsCompared["lanes"][number], "times" | "share" | "firstAt"> {
  const atOf =
    ({ steps }: LaneOfRun) =>
    (move: LaneMove) =>
      steps[move.index]?.at ?? 0;
  const stateAt = (run: LaneOfRun, time: number) => run.moves[lastAtMost(run.moves, atOf(run), time)]?.state;
  const ends = [a, b].map(({ steps }) => [steps[0]?.at ?? 0, steps.at(-1)?.at ?? 0] as const);
  const from = Math.max(...ends.map(([start]) => start));
  const to = Math.min(...ends.map(([, end]) => end));
  const times = [from, ...[a, b].flatMap((run) => run.moves.map(atOf(run)))].filter(
    (time) => time >= from && time < to,
  );
  const edges = [...new Set(times)].sort((x, y) => x - y);
  let [count, apart, firstAt, wasApart] = [0, 0, null as number | null, false];
  for (const [at, edge] of edges.entries()) {
    const isApart = stateAt(a, edge) !== stateAt(b, edge);
    if (isApart) apart += (edges[at + 1] ?? to) - edge;
    if (isApart && !wasApart) count++;
    if (isApart) firstAt ??= edge;
    wasApart = isApart;
  }
  return { times: count, share: to > from ? apart / (to - from) : 0, firstAt };
}
