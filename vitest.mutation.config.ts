import { defineConfig } from "vitest/config";

/** The tests that each pure layer is held against; those that take seconds for what others see too are left out. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  machines: ["test/machines/**/*.test.ts", "test/recordings/*.test.ts", "test/properties/engine.test.ts"],
  reducers: [
    "test/reducers/**/*.test.ts",
    "test/machines/lanes/*-lane.test.ts",
    "test/properties/{fold,tokens-rendered,holes}.test.ts",
  ],
};

export default defineConfig({
  test: {
    setupFiles: ["test/support/engine/fewer-runs.ts"],
    include: [...(TESTS[process.env.MUTATED_LAYER ?? "machines"] ?? [])],
    testTimeout: 30_000,
    // A ratio of times means nothing where every statement has a switch in it.
    testNamePattern: /^(?!.*takes but a few times the time)/,
    // Every mutant is a run of its own; loading the packages anew for each file would be most of it.
    isolate: false,
  },
});
