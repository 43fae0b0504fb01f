import { defineConfig } from "vitest/config";

/** Tests that start real programs: Pi itself, npm, the compiler. */
const REAL_PROGRAMS = [
  "test/pi/**/*.test.ts",
  "test/host/inspector/page/**/*.test.ts",
  "test/host/inspector/live.test.ts",
  "test/host/package.test.ts",
  "test/scripts/eval.test.ts",
];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          setupFiles: ["test/support/seed.ts"],
          include: ["test/**/*.test.ts"],
          exclude: REAL_PROGRAMS,
          // Properties run hundreds of cases; a loaded machine takes a multiple of the usual seconds.
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "real programs",
          setupFiles: ["test/support/seed.ts"],
          include: REAL_PROGRAMS,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Each file keeps a Pi and a server busy besides its own worker, and most of them measure waits.
          maxWorkers: 2,
          // After the unit tests: their load would only make these slow.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
