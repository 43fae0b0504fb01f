import { estimateTextTokens } from "../../../reducers/entries/tokens.ts";
import type { CoverageTier } from "../../../reducers/ledger/pool.ts";
import type { Observation, Reflection } from "../../../reducers/ledger/records.ts";
import { renderReflection } from "../../../reducers/ledger/summary.ts";
import { newestWithin, section } from "./prior-memory.ts";

export interface PoolPromptInput {
  /** The observations of this slice, oldest first */
  observations: readonly Observation[];
  /** The same as the worker sees them */
  observationLines: readonly string[];
  /** By observation id; `none` for those that are missing */
  coverage: ReadonlyMap<string, CoverageTier>;
  reflections: readonly Reflection[];
  /** Estimated tokens that the reflections may have in the prompt */
  reflectionBudget: number;
}

/** What the tiers mean, for the workers that are shown them. */
export const COVERAGE_WORDS = `Coverage
Under the observations it is listed whether reflections rest on them. Strong: one rests on this observation alone, or several rest on it; most of it is probably held, its details perhaps not. Partial: one rests on it together with others, so a part of it may be held nowhere else. None (all that are not listed): no reflection does.`;

/** Active memory as a worker reads it. What changes least stands first, for a provider's cache: lines come at the end. */
export function poolSections(input: PoolPromptInput): string[] {
  const reflections = newestWithin(input.reflections.map(renderReflection), input.reflectionBudget);
  return [
    section("Active observations, oldest first", input.observationLines.join("\n")),
    section("Coverage of these observations", coverageLines(input)),
    section("Existing reflections", reflections.text),
  ];
}

function coverageLines({ observations, coverage }: PoolPromptInput): string {
  const tiers = (["strong", "partial"] as const).map((tier) => {
    const ids = observations.filter(({ id }) => coverage.get(id) === tier).map(({ id }) => id);
    return ids.length === 0 ? "" : `${tier}: ${ids.join(", ")}`;
  });
  return tiers.filter((line) => line !== "").join("\n");
}

/** Tokens that an observation may take in the list of coverage, with its share of the tier's name. */
export function coverageCost({ id }: Observation, coverage: ReadonlyMap<string, CoverageTier>): number {
  return (coverage.get(id) ?? "none") === "none" ? 0 : estimateTextTokens(`partial: ${id}, `);
}
