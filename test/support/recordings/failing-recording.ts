import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Step } from "../../../src/machines/engine.ts";
import { decisionOf, encodeLine, type RecordingLine } from "../../../src/machines/recording/recording.ts";
import { HEADER } from "../sessions/builders.ts";

/** Where the shortest failing sequences go, one file each. */
export const REPORTS = join(tmpdir(), "pi-memory-lanes-reports");

/** Tries a sequence; puts each step into `taken` before it judges it. Throws when the sequence breaks a rule. */
export type Trial<T> = (sequence: T, taken: Step[]) => void;

/**
 * Tries random sequences. The one that fails is shrunk, written down as a recording that `memory-lanes replay` opens,
 * and told step by step in the error, with the file's path.
 */
export function trySequences<T>(
  name: string,
  sequences: fc.Arbitrary<T>,
  trial: Trial<T>,
  parameters: fc.Parameters<[T]>,
): void {
  const property = fc.property(sequences, (sequence) => trial(sequence, []));
  const outcome = fc.check(property, parameters);
  if (!outcome.counterexample) return;
  const [shortest] = outcome.counterexample;
  const taken: Step[] = [];
  try {
    trial(shortest, taken);
  } catch {
    // That is what failed; the report has its words.
  }
  const file = saveRecording(`${name}-${outcome.seed}`, taken);
  const why = outcome.errorInstance instanceof Error ? outcome.errorInstance.message : "it failed";
  throw new Error(
    `${why}\n\nAfter ${outcome.numShrinks} shrinks (seed ${outcome.seed}, path ${outcome.counterexamplePath}):\n` +
      `${taken.map(lineFor).join("\n")}\n\nmemory-lanes replay ${file}`,
  );
}

/** Writes steps as a recording; gives the file's path. */
export function saveRecording(name: string, steps: readonly Step[]): string {
  mkdirSync(REPORTS, { recursive: true });
  const file = join(REPORTS, `${name.replace(/\W+/g, "-")}.ndjson`);
  const lines: RecordingLine[] = steps.flatMap((step) => [step.event, decisionOf(step) ?? []].flat());
  writeFileSync(file, [HEADER, ...lines].map(encodeLine).join(""));
  return file;
}

function lineFor({ event, transitions, commands }: Step): string {
  const { v: _v, seq, at, type, ...facts } = event;
  const told = type === "session.opened" ? "" : ` ${JSON.stringify(facts)}`;
  const moved = transitions.map(({ lane, from, to }) => `${lane} ${from} → ${to}`);
  const asked = commands.map((command) => JSON.stringify(command));
  return [`  ${seq}. ${at.slice(11, 19)} ${type}${told}`, ...moved, ...asked].join("\n        ");
}
