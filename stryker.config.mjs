import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/**
 * Mutation testing of one of the pure layers, `MUTATED_LAYER` (`npm run mutation` runs both, one after the other): how
 * many small faults in it no test would notice. It takes hours, so it is no part of `npm test`. Part of a layer:
 * `MUTATED_LAYER=reducers npx stryker run --mutate src/reducers/ledger/ledger.ts`. What was run before is kept in
 * reports/mutation and not run again while neither the code nor its tests have changed.
 */
const layer = process.env.MUTATED_LAYER ?? "machines";
const report = (name) => `reports/mutation/${layer}${name}`;

/**
 * Members of the charts that change nothing: a description is prose for the viewer, a machine's own `id` is the name that
 * it has there, and `types` is for the compiler.
 */
function isUnseen({ node, parentPath }) {
  if (node.type !== "ObjectProperty") return false;
  if (node.key.name === "description") return node.value.type === "StringLiteral";
  const callee = parentPath?.parent.callee;
  const made = callee?.name ?? callee?.property?.name;
  return (
    (made === "setup" && node.key.name === "types") || (made === "createMachine" && node.key.name === "id")
  );
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "unseen", {
    shouldIgnore: (path) => (isUnseen(path) ? "changes nothing" : undefined),
  }),
];

/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  mutate: [`src/${layer}/**/*.ts`],
  plugins: ["@stryker-mutator/vitest-runner", "./stryker.config.mjs"],
  ignorers: ["unseen"],
  testRunner: "vitest",
  vitest: { configFile: "vitest.mutation.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: Number(process.env.MUTATION_CONCURRENCY ?? 1),
  // Its own handling of tsconfig files needs a compiler interface that TypeScript 7 does not have.
  tsconfigFile: "none",
  incremental: true,
  incrementalFile: report(".incremental.json"),
  reporters: ["clear-text", "html", "json"],
  htmlReporter: { fileName: report(".html") },
  jsonReporter: { fileName: report(".json") },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  ignorePatterns: ["/dist", "/reports", "/docs/images", "/bench"],
};
