import { setTimeout as sleep } from "node:timers/promises";
import { firstValueFrom } from "rxjs";
import { openDayBudget } from "../../../src/host/pi/budget/day-budget.ts";

/**
 * A process that spends: `AGENT_DIR LIMIT COST MS`. Each run that may begin is a line `begun`, takes so many ms and costs so much;
 * `over` is the last line. With `COST` 0 it takes one turn, says so, and hangs for ever.
 */
const [agentDir = "", limit, cost, ms] = process.argv.slice(2);
const budget = openDayBudget({
  ...{ agentDir, limit: Number(limit), runMs: 60_000 },
  now: () => Date.now(),
  known: () => null,
  warn: (message) => console.log(`warned ${message}`),
});

for (;;) {
  const grant = await firstValueFrom(budget.begin());
  if (!grant) break;
  console.log("begun");
  if (Number(cost) === 0) await sleep(600_000);
  await sleep(Number(ms));
  await grant.end(Number(cost));
}
console.log("over");
