import { vi } from "vitest";

/** Cases that each property tries under mutation: most mutants die at the first few, and there are thousands of them. */
const MOST_RUNS = 40;

interface Parameters {
  numRuns?: number;
  seed?: number;
}

const SECONDS = 1000;

/** A property that brings its own seed is about what becomes of a failure, so its failure is shrunk; no other's is. */
function fewer(parameters: Parameters = {}): never {
  const { numRuns = MOST_RUNS, seed } = parameters;
  const runs = { numRuns: Math.min(numRuns, MOST_RUNS), endOnFailure: true };
  const kept = { ...parameters, interruptAfterTimeLimit: 5 * SECONDS };
  return (seed === undefined ? { ...parameters, ...runs } : kept) as never;
}

vi.mock("fast-check", async (original) => {
  const module = await original<typeof import("fast-check")>();
  const fc = module.default;
  return {
    ...module,
    default: {
      ...fc,
      assert: (property: never, parameters?: Parameters) => fc.assert(property, fewer(parameters)),
      check: (property: never, parameters?: Parameters) => fc.check(property, fewer(parameters)),
    },
  };
});
