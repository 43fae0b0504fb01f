import { z } from "zod";
import { WORKERS, type Worker, WorkerSchema } from "./engine/lane-names.ts";

/** What an answered run took, as its `om.cost` entry says. */
export const CostFactSchema = z.object({
  worker: WorkerSchema,
  /** Local date of the entry, `YYYY-MM-DD`; `""` where its time cannot be read */
  day: z.string(),
  /** Model tokens, those from and to a provider's cache included */
  input: z.number(),
  output: z.number(),
  /** USD; unset where the model has no price */
  usd: z.number().optional(),
});
export type CostFact = z.infer<typeof CostFactSchema>;

/** The sum of some runs. */
export interface Spent {
  readonly runs: number;
  readonly input: number;
  readonly output: number;
  /** USD of those runs whose price is known */
  readonly usd: number;
  /** Runs whose price is not known */
  readonly unpriced: number;
}

/** What the runs on a branch took since its first entry. A fork has its past's entries, and so its past's spend. */
export interface Spend {
  readonly byWorker: Readonly<Record<Worker, Spent>>;
  readonly byDay: Readonly<Record<string, Spent>>;
  /** Memory was recorded by a run that left no word of what it took: an older version's, or another extension's. */
  readonly isPartial: boolean;
  /** Position of the latest memory entry whose run has not said yet what it took; undefined when all have. */
  readonly openAt: number | undefined;
}

export const NOTHING_SPENT: Spent = { runs: 0, input: 0, output: 0, usd: 0, unpriced: 0 };

export function noSpend(): Spend {
  const byWorker = { observer: NOTHING_SPENT, reflector: NOTHING_SPENT, dropper: NOTHING_SPENT };
  return { byWorker, byDay: {}, isPartial: false, openAt: undefined };
}

/** The spend after an `om.cost` entry at position `at`. It stands right after the memory that its run recorded. */
export function afterCost(spend: Spend, fact: CostFact, at: number): Spend {
  const { worker, day } = fact;
  return {
    byWorker: { ...spend.byWorker, [worker]: plus(spend.byWorker[worker], spentBy(fact)) },
    byDay: { ...spend.byDay, [day]: plus(spend.byDay[day] ?? NOTHING_SPENT, spentBy(fact)) },
    isPartial: spend.isPartial || (spend.openAt !== undefined && spend.openAt !== at - 1),
    openAt: undefined,
  };
}

/** The spend after a memory entry at position `at`; a run may write several in a row. */
export function afterMemory(spend: Spend, at: number): Spend {
  const isPartial = spend.isPartial || (spend.openAt !== undefined && spend.openAt !== at - 1);
  return { ...spend, isPartial, openAt: at };
}

export function totalOf({ byWorker }: Pick<Spend, "byWorker">): Spent {
  return WORKERS.map((worker) => byWorker[worker]).reduce(plus, NOTHING_SPENT);
}

/** Whether more was spent than is known. */
export function isPartial({ isPartial, openAt }: Spend): boolean {
  return isPartial || openAt !== undefined;
}

function spentBy({ input, output, usd }: CostFact): Spent {
  return { runs: 1, input, output, usd: usd ?? 0, unpriced: usd === undefined ? 1 : 0 };
}

function plus(a: Spent, b: Spent): Spent {
  return {
    runs: a.runs + b.runs,
    input: a.input + b.input,
    output: a.output + b.output,
    usd: a.usd + b.usd,
    unpriced: a.unpriced + b.unpriced,
  };
}
