import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { OBSERVATIONS_RECORDED, type ObservationsRecorded } from "../src/reducers/ledger/records.ts";
import { heapOf, medianMs } from "./measure.ts";
import { openOver } from "./memory-stand-in.ts";
import { naiveClocks, naiveCompaction, onePass } from "./naive-baseline.ts";
import { appendBatch, appendTurnPart } from "./synthetic-session.ts";

/** Medians in milliseconds of one session's doings. */
export interface SessionFigures {
  name: string;
  entries: number;
  observations: number;
  /** `turn_end` and `agent_settled` after one new entry, nothing due */
  turn: number;
  naiveTurn: number;
  /** One more `om.observations.recorded` entry of five */
  append: number;
  /** `session_before_compact` */
  hook: number;
  naiveHook: number;
  /** Opening the session's memory, and one `getBranch()` with one pass that estimates tokens */
  opening: number;
  onePass: number;
  /** What the open memory holds beyond Pi's own */
  heapBytes: number;
}

export function measureSession(name: string, manager: SessionManager): SessionFigures {
  const branch = manager.getBranch();
  const entries = branch.length;
  const observations = observationsOf(manager);
  const slow = { minMs: 200, minRuns: 7 };
  const naiveTurn = 2 * medianMs(() => naiveClocks(manager), slow);
  const pass = medianMs(() => onePass(manager), slow);
  const opening = medianMs(() => void openOver(manager).close("quit"), slow);
  const { bytes, made: session } = heapOf(() => openOver(manager));
  const cut = branch.at(-Math.min(100, Math.floor(entries / 2)))?.id ?? "";
  const hookEvent = {
    preparation: { firstKeptEntryId: cut, tokensBefore: 0 },
    branchEntries: branch,
    reason: "manual",
  } as Parameters<typeof session.beforeCompact>[0];
  const hook = medianMs(() => session.beforeCompact(hookEvent), slow);
  // Quadratic: at the larger sizes once is enough, and all there is time for.
  const naiveHook = medianMs(() => void naiveCompaction(manager, cut), { minRuns: 1, minMs: 0 });

  let n = 10_000_000;
  const bare = medianMs(() => appendTurnPart(manager, n++));
  const turn = medianMs(() => {
    appendTurnPart(manager, n++);
    session.turnEnded();
    session.agentSettled(false);
  });
  const idle = medianMs(() => session.turnEnded());
  const append = medianMs(() => {
    appendBatch(manager, manager.getLeafId() ?? "", n++ * 5);
    session.turnEnded();
  });
  const making = medianMs(() => void appendBatch(manager, manager.getLeafId() ?? "", n++ * 5));
  void session.close("quit");
  return {
    name,
    entries,
    observations,
    turn: turn - bare,
    naiveTurn,
    append: append - making - idle,
    hook,
    naiveHook,
    opening,
    onePass: pass,
    heapBytes: bytes,
  };
}

function observationsOf(manager: SessionManager): number {
  return manager
    .getBranch()
    .reduce(
      (sum, entry) =>
        entry.type === "custom" && entry.customType === OBSERVATIONS_RECORDED
          ? sum + (entry.data as ObservationsRecorded).observations.length
          : sum,
      0,
    );
}
