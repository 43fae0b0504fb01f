import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import Table from "cli-table3";
import { measureRecorder } from "./recorder-share.ts";
import { measureSession, type SessionFigures } from "./session-figures.ts";
import { measureStartUp } from "./start-up.ts";
import { syntheticSession } from "./synthetic-session.ts";

/**
 * `npm run bench [-- SIZE …]`: what a user feels, against a baseline that recomputes everything at every event. Ratios
 * are what counts; the times are those of the machine it runs on.
 */
const given = process.argv.slice(2).map(Number).filter(Boolean);
const sizes = given.length > 0 ? given : [1000, 10_000, 100_000, 300_000];
const OBSERVATIONS_PER_ENTRY = 0.3;
const REAL_SESSION = resolve(import.meta.dirname, "../../shared/sessions/real-session-a.jsonl");

const figures: SessionFigures[] = [];
for (const entries of sizes) {
  const observations = entries * OBSERVATIONS_PER_ENTRY;
  figures.push(measureSession(`${thousands(entries)} entries`, syntheticSession(entries, observations)));
}
if (existsSync(REAL_SESSION)) figures.push(measureReal(REAL_SESSION));
print(figures);

const smallest = figures[0];
const large = figures.find(({ entries }) => entries >= 100_000);
if (smallest && large) {
  console.log(
    `\nOne turn at ${large.name} costs ${ratio(large.turn, smallest.turn)} of one at ${smallest.name}.`,
  );
}
const recorder = await measureRecorder();
console.log(`The recorder adds ${(recorder.share * 100).toFixed(1)} % to the work of a turn.`);
const start = await measureStartUp();
console.log(
  `Pi's first response: ${start.ours.toFixed(0)} ms with this package, ${start.oneLine.toFixed(0)} ms with a one-line extension; paired difference ${start.difference.toFixed(0)} ms.`,
);

function print(rows: readonly SessionFigures[]): void {
  const table = new Table({
    head: ["session", "turn", "append", "compaction hook", "opening", "heap"],
    style: { head: [], border: [] },
  });
  for (const row of rows) {
    table.push([
      `${row.name}\n${row.observations} observations`,
      `${micro(row.turn)}\n${times(row.naiveTurn, row.turn)} below naive`,
      micro(row.append),
      `${micro(row.hook)}\n${times(row.naiveHook, row.hook)} below naive`,
      `${micro(row.opening)}\n${ratio(row.opening, row.onePass)} of one pass`,
      `${(row.heapBytes / 1e6).toFixed(1)} MB`,
    ]);
  }
  console.log(table.toString());
}

/** A real session in Pi's oldest format, copied, since Pi migrates a file that it opens. */
function measureReal(file: string): SessionFigures {
  const folder = mkdtempSync(join(tmpdir(), "memory-lanes-bench-"));
  try {
    const copy = join(folder, "session.jsonl");
    copyFileSync(file, copy);
    return measureSession("a real session", SessionManager.open(copy));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function thousands(count: number): string {
  return count.toLocaleString("en-US");
}

function micro(ms: number): string {
  return ms >= 1 ? `${ms.toFixed(1)} ms` : `${(ms * 1000).toFixed(0)} µs`;
}

function ratio(a: number, b: number): string {
  return `${(a / b).toFixed(1)}×`;
}

function times(baseline: number, ours: number): string {
  return `${thousands(Math.round(baseline / ours))}×`;
}
