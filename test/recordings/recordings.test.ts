import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { RECORDING_VERSION, type RecordingLine } from "../../src/machines/recording/recording.ts";
import { parseRecordingLine } from "../../src/machines/recording/recording-line.ts";
import type { ReplayStep } from "../../src/machines/recording/replay-step.ts";
import { createRecordingSimulation } from "../../src/machines/what-if/simulated-recording.ts";
import { createRunStatistics } from "../../src/machines/what-if/workload.ts";
import { runReplay as run } from "../support/programs/run-replay.ts";

/** Every recording that lies in this folder, whoever put it there: this is how a user's becomes a regression test. */
const FILES = globSync("*.ndjson", { cwd: import.meta.dirname }).sort();

function linesOf(file: string): RecordingLine[] {
  return readFileSync(join(import.meta.dirname, file), "utf8")
    .trimEnd()
    .split("\n")
    .map(parseRecordingLine);
}

it("has recordings of the main job, a failing worker, tree navigation, a reload and an empty range", () => {
  for (const name of ["main-job", "failing-observer", "tree-navigation", "reload", "empty-range"]) {
    expect(FILES).toContain(`${name}.ndjson`);
  }
});

it("has recordings of each version that is read", () => {
  const texts = FILES.map((file) => readFileSync(join(import.meta.dirname, file), "utf8"));
  const versions = texts.map((text) => JSON.parse(text.slice(0, text.indexOf("\n"))).recording);
  expect([...new Set(versions)].sort()).toEqual([1, RECORDING_VERSION]);
});

describe.each(FILES)("%s", (file) => {
  it("verifies: every lane decides as it did", () => {
    const { report } = run(linesOf(file));
    expect(report.verification.difference).toBeUndefined();
    expect(report).toMatchObject({ missingEvents: 0, verification: { unverified: 0 } });
    expect(report.verification.decisions).toBeGreaterThan(0);
  });

  it("fails at the very event whose transition was edited", () => {
    const lines = linesOf(file);
    for (const [at, line] of lines.entries()) {
      if (line.type !== "decision" || line.transitions.length === 0) continue;
      const transitions = line.transitions.map((transition) => ({ ...transition, to: "elsewhere" }));
      const { report } = run(lines.with(at, { ...line, transitions }));
      expect(report.verification.difference).toMatchObject({
        event: { seq: line.seq },
        expected: { transitions },
        actual: { transitions: line.transitions },
      });
    }
  });

  it("fails where a decision is missing, and where one is too many", () => {
    const lines = linesOf(file);
    const at = lines.findIndex(({ type }) => type === "decision");
    const decision = lines[at];
    if (decision?.type !== "decision") throw new Error("no decision");
    expect(run(lines.toSpliced(at, 1)).report.verification.difference).toMatchObject({
      event: { seq: decision.seq },
      expected: { transitions: [], commands: [] },
    });
    const next = { ...decision, seq: decision.seq + 1 };
    expect(run(lines.toSpliced(at + 2, 0, next)).report.verification.difference).toMatchObject({
      event: { seq: decision.seq + 1 },
      expected: { transitions: decision.transitions },
    });
  });

  it("gives the same decisions when it is simulated under its own settings", () => {
    const statistics = createRunStatistics();
    const { steps } = run(linesOf(file));
    for (const step of steps) statistics.take(step);
    const simulation = createRecordingSimulation({ patch: {}, model: statistics.model() });
    const simulated = [...linesOf(file).flatMap(simulation.take), ...simulation.finish()];
    const decisions = (all: readonly ReplayStep[]) =>
      all
        .filter(({ transitions, commands }) => transitions.length + commands.length > 0)
        .map(({ event, transitions, commands }) => ({ type: event.type, transitions, commands }));
    expect(decisions(simulated)).toEqual(decisions(steps));
    expect(simulated.filter(({ modelled }) => modelled)).toEqual([]);
  });
});
