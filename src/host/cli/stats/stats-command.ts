import { Command } from "commander";
import { clipped, compact, countOf, dollars, grouped, listed } from "../../../reducers/words.ts";
import { runBatch } from "../batch/batch.ts";
import { batchFiles, isBatch } from "../batch/batch-files.ts";
import { asksForBatch, splitOptions, withBatchOptions } from "../batch/batch-options.ts";
import type { BatchRecord } from "../batch/batch-record.ts";
import { EXIT, type Io } from "../io.ts";
import { type SessionStats, type Stats, StatsSchema, statsOf } from "./session-stats.ts";

interface StatsOptions {
  json?: boolean;
  jobs?: number;
  ndjson?: boolean;
  resume?: string;
}

export function statsCommand(io: Io, exit: (code: number) => void): Command {
  const command = new Command("stats")
    .description("Say what memory did, cost and failed, per session and in all")
    .argument(
      "[files...]",
      "Pi sessions and recordings: files, folders of them, globs, or the beginnings of ids (default: the latest session of this folder)",
    )
    .option("--json", "one JSON object; of many files NDJSON")
    .action(async (files: string[], options: StatsOptions) => exit(await stats(io, files, options)));
  return withBatchOptions(command);
}

async function stats(io: Io, args: readonly string[], options: StatsOptions): Promise<number> {
  const { batch } = splitOptions(options);
  if (!isBatch(args) && !asksForBatch(options)) {
    const found = await statsOf(io, args[0]);
    if (options.json) io.json({ type: "stats", ...found });
    else for (const line of statsLines(found)) io.line(line);
    return EXIT.ok;
  }
  const total = createTotal();
  return runBatch(io, {
    ...{ verb: "stats", files: batchFiles(args), options: {}, batch },
    take: (record) => total.add(record),
    lineOf: (record) => `${record.file}: ${record.error ?? shortWords(resultOf(record))}`,
    summary: total.lines,
  });
}

function resultOf({ result }: BatchRecord): Stats | undefined {
  const parsed = StatsSchema.safeParse(result);
  return parsed.success ? parsed.data : undefined;
}

function shortWords(stats: Stats | undefined): string {
  if (!stats) return "nothing to tell";
  if (stats.source === "recording") {
    const cost = stats.cost > 0 ? `, ${dollars(stats.cost)}` : "";
    return `${countOf(stats.events, "event")}, ${countOf(runsIn(stats.outcomes), "run")}, ${countOf(stats.compactions, "compaction")}${cost}`;
  }
  const { entries, observations, reflections, compactions, runs } = stats;
  return `${countOf(entries, "entry", "entries")}, ${countOf(observations.active, "active observation")}, ${countOf(reflections, "reflection")}, ${countOf(compactions.all, "compaction")}, ${spendWords(runs)}`;
}

function statsLines(stats: Stats): string[] {
  if (stats.source === "recording") {
    const failures = failureWords(stats.failures);
    return [`Recording: ${shortWords(stats)}`, ...(failures === "" ? [] : [`Failed: ${failures}`])];
  }
  const { session, from, to, entries, tokens, observations, reflections, compactions, runs } = stats;
  const { active, dropped, takenOut } = observations;
  const workers = [...new Set(runs.map(({ worker }) => worker))];
  return [
    `Session ${session === "" ? "without an id" : session}`,
    `  from ${from || "—"} to ${to || "—"}`,
    `  ${countOf(entries, "entry", "entries")}, ${grouped(tokens)} source tokens`,
    `  ${countOf(active, "active observation")}, ${grouped(dropped)} dropped, ${grouped(takenOut)} taken out by hand, ${countOf(reflections, "reflection")}`,
    `  ${countOf(compactions.all, "compaction")}, ${grouped(compactions.folded)} of them folded from memory`,
    `  spend: ${spendWords(runs)}`,
    ...workers.map((worker) => `    ${worker}: ${spendWords(runs.filter((run) => run.worker === worker))}`),
  ];
}

/** Sums what a batch tells. What forks share is counted once: their entries have the same ids. */
function createTotal() {
  const runs = new Map<string, SessionStats["runs"][number]>();
  const failures: Record<string, Record<string, number>> = {};
  let [sessions, recordings, recordedCost] = [0, 0, 0];
  return {
    add(record: BatchRecord): void {
      const stats = resultOf(record);
      if (!stats) return;
      if (stats.source === "session") {
        sessions++;
        for (const run of stats.runs) runs.set(`${run.id} ${run.at}`, run);
        return;
      }
      recordings++;
      recordedCost += stats.cost;
      for (const [worker, kinds] of Object.entries(stats.failures)) {
        const all = { ...failures[worker] };
        for (const [kind, n] of Object.entries(kinds)) all[kind] = (all[kind] ?? 0) + n;
        failures[worker] = all;
      }
    },
    lines(): string[] {
      const failed = failureWords(failures);
      return [
        ...(sessions > 0 ? [`${countOf(sessions, "session")}: ${spendWords([...runs.values()])}`] : []),
        ...(recordings > 0
          ? [`${countOf(recordings, "recording")}: ${recordedCost > 0 ? dollars(recordedCost) : "—"}`]
          : []),
        ...(failed === "" ? [] : [`Failed in recordings: ${clipped(failed, 200)}`]),
      ];
    },
  };
}

function spendWords(runs: SessionStats["runs"]): string {
  const sum = (of: (run: SessionStats["runs"][number]) => number) =>
    runs.reduce((all, run) => all + of(run), 0);
  const unpriced = runs.filter(({ usd }) => usd === undefined).length;
  const usd = sum((run) => run.usd ?? 0);
  const money = runs.length === unpriced ? "—" : `${unpriced > 0 ? "≥ " : ""}${dollars(usd)}`;
  return `${money} (${countOf(runs.length, "run")}, ${compact(sum(({ input }) => input))} in, ${compact(sum(({ output }) => output))} out)`;
}

function failureWords(failures: Readonly<Record<string, Readonly<Record<string, number>>>>): string {
  return listed(
    Object.entries(failures).flatMap(([worker, kinds]) =>
      Object.entries(kinds).map(([kind, n]) => `${countOf(n, `${worker} run`)} (${kind})`),
    ),
  );
}

function runsIn(outcomes: Readonly<Record<string, Readonly<Record<string, number>>>>): number {
  return Object.values(outcomes)
    .flatMap((kinds) => Object.values(kinds))
    .reduce((sum, n) => sum + n, 0);
}
