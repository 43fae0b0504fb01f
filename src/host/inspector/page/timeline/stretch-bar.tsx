import { countOf, duration, grouped } from "../../../../reducers/words.ts";
import { clearStretch, stretch, totals } from "../stretch.ts";

/** What the selected stretch of the time line comes to. */
export function StretchBar() {
  const chosen = stretch.value;
  const sums = totals.value;
  if (!chosen || !sums) return null;
  const runs = sums.workers.filter((worker) => worker.runs > 0);
  const input = sums.workers.reduce((all, worker) => all + worker.input, 0);
  const output = sums.workers.reduce((all, worker) => all + worker.output, 0);
  return (
    <section class="stretch-bar" aria-label="Selected stretch">
      <strong>
        #{grouped(chosen.from.number)} to #{grouped(chosen.to.number)}
      </strong>
      <span>
        {countOf(sums.events, "event")} in {duration(sums.ms)}
      </span>
      <span>session +{grouped(sums.sourceTokens)} tokens</span>
      <span>
        memory +{grouped(sums.recorded)} −{grouped(sums.dropped)} lines
      </span>
      <span>
        {runs.length === 0
          ? "no runs"
          : runs
              .map(({ worker, runs: count, failed }) => {
                return `${countOf(count, `${worker} run`)}${failed > 0 ? ` (${grouped(failed)} failed)` : ""}`;
              })
              .join(", ")}
      </span>
      <span>
        spend {grouped(input)} in, {grouped(output)} out, cost {sums.money}
      </span>
      <span>{countOf(sums.compactions, "compaction")}</span>
      <button type="button" title="Let go of the stretch (s)" onClick={clearStretch}>
        ✕<span class="spoken"> Let go of the stretch</span>
      </button>
    </section>
  );
}
