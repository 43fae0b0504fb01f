import type { Command } from "../../../src/machines/commands.ts";
import { createEngine } from "../../../src/machines/engine.ts";
import { decisionOf, type RecordingLine } from "../../../src/machines/recording/recording.ts";
import { noUsage } from "../../../src/reducers/engine/engine-state.ts";
import type { Unstamped } from "../../../src/reducers/engine/events.ts";
import type { Worker } from "../../../src/reducers/engine/lane-names.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import { fact, finished, HEADER, opened, stamped } from "../sessions/builders.ts";

export interface LargeRecordingOptions {
  /** How many events, at least; the session then ends with the turn that it is in. */
  events: number;
  settings?: Partial<Settings>;
  /** Average source tokens of an entry */
  tokensPerEntry?: number;
}

/** Turns of one prompt, on average */
const TURNS = 8;
const OBSERVATIONS = 4;

/**
 * A recording of a long session as the live engine would write it, decisions included: prompts of several turns of one
 * to three entries each, every run answered a turn later, every compaction answered at once. The same options give the
 * same lines.
 */
export function* largeRecording(options: LargeRecordingOptions): Generator<RecordingLine> {
  const { events, tokensPerEntry = 120 } = options;
  const engine = createEngine();
  const random = dice(7);
  let seq = 0;
  let at = Date.parse("2026-01-15T09:00:00.000Z");
  let entries = 0;
  let tip = "";
  let due: Command[] = [];

  function tell(event: Unstamped): RecordingLine[] {
    at += 400;
    const step = engine.step(stamped(event, ++seq, at));
    due.push(...step.commands);
    const decision = decisionOf(step);
    return decision ? [step.event, decision] : [step.event];
  }
  const nextId = () => {
    tip = (++entries).toString(16).padStart(8, "0");
    return tip;
  };
  const source = (kind: EntryFact["kind"]): EntryFact => ({
    id: nextId(),
    kind,
    tokens: 1 + Math.floor(random() * 2 * tokensPerEntry),
    source: true,
  });

  function* answer(): Generator<RecordingLine> {
    const commands = due;
    due = [];
    for (const command of commands) {
      if (command.type === "requestCompaction") yield* compact();
      if (command.type !== "startRun") continue;
      const watermark = tip;
      yield* tell({
        type: "branch.extended",
        entries: [fact.recorded(command.worker, nextId(), watermark, ...records(command.worker))],
      });
      yield* tell({
        ...finished(command.runId, command.worker, "recorded", watermark),
        ...{ records: command.worker === "observer" ? OBSERVATIONS : 1, requests: 2, durationMs: 400 },
        usage: { ...noUsage(), input: 5000, output: 300 },
      });
    }
  }

  function* compact(): Generator<RecordingLine> {
    yield* tell({ type: "compaction.started", reason: "manual" });
    const firstKeptEntryId = Math.max(1, entries - 20)
      .toString(16)
      .padStart(8, "0");
    yield* tell({
      type: "branch.extended",
      entries: [fact.compaction(nextId(), firstKeptEntryId)],
    });
    yield* tell({ type: "compaction.finished", folded: true });
  }

  function records(worker: Worker): string[] {
    const count = worker === "observer" ? OBSERVATIONS : 1;
    return Array.from({ length: count }, (_, n) => `${spreadId(entries * 8 + n)}:20`);
  }

  yield HEADER;
  yield* tell(opened([], options.settings, { contextWindow: 200_000 }));
  while (seq < events) {
    yield* tell({ type: "agent.started" });
    const turns = 1 + Math.floor(random() * 2 * TURNS);
    for (let turn = 0; turn < turns; turn++) {
      const added = turn === 0 ? [source("user"), source("assistant")] : [source("assistant")];
      if (turn < turns - 1) added.push(source("toolResult"));
      yield* tell({ type: "branch.extended", entries: added });
      yield* tell({ type: "turn.ended" });
      yield* answer();
    }
    yield* tell({ type: "agent.settled", aborted: false });
    yield* answer();
  }
  yield* tell({ type: "session.closed", reason: "quit" });
  engine.stop();
}

/** Twelve hex digits that differ from the first one on, as those of a hash do. */
function spreadId(n: number): string {
  const half = (factor: number) => (Math.imul(n, factor) >>> 0).toString(16).padStart(8, "0");
  return (half(0x9e3779b1) + half(0x85ebca6b)).slice(0, 12);
}

/** Numbers from 0 to 1, the same ones for the same seed. */
function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
