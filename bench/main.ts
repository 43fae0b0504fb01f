import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { heapOf, medianMs } from "./measure.ts";
import { openOver } from "./memory-stand-in.ts";
import { naiveClocks, naiveCompaction, onePass } from "./naive-baseline.ts";
import { appendBatch, appendTurnPart, syntheticSession } from "./synthetic-session.ts";

const SIZES = process.argv.slice(2).map(Number).filter(Boolean);
const sizes = SIZES.length > 0 ? SIZES : [1000, 10_000, 100_000, 300_000];

for (const entries of sizes) measureSession(entries, syntheticSession(entries, entries * 0.3));

function measureSession(entries: number, manager: SessionManager): void {
  const naiveTurn = medianMs(() => naiveClocks(manager), { minMs: 100 });
  const pass = medianMs(() => onePass(manager), { minMs: 100 });
  const opening = medianMs(() => void openOver(manager).close("quit"), { minMs: 100, minRuns: 5 });
  const { bytes, made: session } = heapOf(() => openOver(manager));
  let n = entries;
  const turn = medianMs(() => {
    appendTurnPart(manager, n++);
    session.turnEnded();
    session.agentSettled(false);
  });
  const append = medianMs(() => {
    appendBatch(manager, manager.getLeafId() ?? "", n++ * 5 + 10_000_000);
    session.turnEnded();
  });
  const cut = manager.getBranch().at(-100)?.id ?? "";
  const preparation = { firstKeptEntryId: cut, tokensBefore: 0 };
  const hook = medianMs(
    () => {
      session.beforeCompact({ preparation, reason: "manual" } as Parameters<typeof session.beforeCompact>[0]);
    },
    { minMs: 200 },
  );
  const naiveHook =
    entries > 20_000
      ? naiveOnce(manager, cut)
      : medianMs(() => naiveCompaction(manager, cut), { minMs: 100 });
  const show = (ms: number) => `${(ms * 1000).toFixed(1)} µs`;
  console.log(
    [
      `${entries} entries, ${entries * 0.3} observations`,
      `  turn_end + agent_settled   ${show(turn)}   naive ${show(naiveTurn * 2)}   ${((naiveTurn * 2) / turn).toFixed(0)}× below`,
      `  one om.* append            ${show(append)}`,
      `  session_before_compact     ${show(hook)}   naive ${show(naiveHook)}   ${(naiveHook / hook).toFixed(0)}× below`,
      `  session_start              ${show(opening)}   one pass ${show(pass)}   ${(opening / pass).toFixed(2)}× of it`,
      `  heap                       ${(bytes / 1e6).toFixed(1)} MB`,
    ].join("\n"),
  );
  void session.close("quit");
}

function naiveOnce(manager: SessionManager, cut: string): number {
  const start = performance.now();
  naiveCompaction(manager, cut);
  return performance.now() - start;
}
