import { WORKERS } from "../../../reducers/engine/lane-names.ts";
import { usageMoney } from "../../../reducers/spend-words.ts";
import type { EventHistory } from "./event-history.ts";
import { factsOf } from "./memory-record.ts";
import type { StretchTotals } from "./viewer-data.ts";

/** What happened between two events, both included: work, spend and memory, summed. */
export function stretchTotals({ steps }: EventHistory, first: number, last: number): StretchTotals {
  const totals: StretchTotals = {
    events: 0,
    ms: (steps[last]?.at ?? 0) - (steps[first]?.at ?? 0),
    sourceTokens: 0,
    recorded: 0,
    dropped: 0,
    compactions: 0,
    money: "",
    workers: WORKERS.map((worker) => ({
      ...{ worker, runs: 0, failed: 0, requests: 0 },
      ...{ input: 0, output: 0, cost: 0 },
    })),
  };
  for (const { event } of steps.slice(first, last + 1)) {
    totals.events++;
    if (event.type === "compaction.finished") totals.compactions++;
    if (event.type === "branch.extended") {
      for (const { tokens, ledger } of factsOf(event)) {
        totals.sourceTokens += tokens;
        if (ledger?.type === "drops") {
          totals.dropped += ledger.observationIds.length + (ledger.reflectionIds?.length ?? 0);
        } else totals.recorded += ledger?.records.length ?? 0;
      }
    }
    if (event.type !== "run.finished") continue;
    const { usage, requests, outcome } = event;
    const spent = totals.workers.find(({ worker }) => worker === event.worker);
    if (!spent) continue;
    spent.runs++;
    if (outcome === "failed") spent.failed++;
    spent.requests += requests;
    spent.input += usage.input + usage.cacheRead + usage.cacheWrite;
    spent.output += usage.output;
    spent.cost += usage.cost;
  }
  totals.money = usageMoney({ cost: totals.workers.reduce((sum, { cost }) => sum + cost, 0) });
  return totals;
}
