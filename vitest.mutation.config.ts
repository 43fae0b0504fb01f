import { matchesGlob } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const LANES = ["observer-lane", "reflect-drop-lane", "compaction-lane"].map(
  (lane) => `test/machines/${lane}.test.ts`,
);

/**
 * The tests that each pure layer is held against, in the order in which they run: a mutant is done with once a test has
 * failed, so the quick ones that many fail come first. Tests that take seconds for what others see too are left out.
 */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  machines: [
    "test/host/docs.test.ts",
    ...LANES,
    ...[
      "quick-check",
      "event-time",
      "engine-state",
      "calm",
      "engine",
      "backoff",
      "session-timeline",
      "explain",
      "paths",
      "recording-line",
      "replay",
    ].map((name) => `test/machines/${name}.test.ts`),
    "test/recordings/recordings.test.ts",
    "test/machines/*.test.ts",
    "test/properties/engine.test.ts",
  ],
  reducers: [
    "test/host/docs.test.ts",
    ...[
      "ledger",
      "branch",
      "shared-logs",
      "pi-cut",
      "compaction-plan",
      "ledger-entries",
      "chunk-headers",
      "memory-id",
      "sources",
      "v3-sessions",
    ].map((name) => `test/reducers/${name}.test.ts`),
    ...LANES,
    "test/effects/{pool-slices,prior-memory}.test.ts",
    "test/properties/{fold,tokens-rendered,holes}.test.ts",
    "test/reducers/{session-file,tokens,entry-table}.test.ts",
    "test/reducers/*.test.ts",
  ],
};

const layer = process.env.MUTATED_LAYER ?? "machines";
const order = TESTS[layer] ?? [];

class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = files.map((file) => ({ file, place: placeOf(file.moduleId) }));
    return sorted.sort((a, b) => a.place - b.place).map(({ file }) => file);
  }
}

function placeOf(path: string): number {
  return order.findIndex((pattern) => matchesGlob(path, `**/${pattern}`));
}

export default defineConfig({
  test: {
    setupFiles: ["test/support/fewer-runs.ts"],
    include: [...order],
    testTimeout: 30_000,
    // A ratio of times means nothing where every statement has a switch in it.
    testNamePattern: /^(?!.*takes but a few times the time)/,
    // Every mutant is a run of its own; loading the packages anew for each file would be most of it.
    isolate: false,
    sequence: { sequencer: QuickFirst },
  },
});
