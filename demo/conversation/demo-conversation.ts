import type { DemoTurn } from "./demo-turn.ts";
import { DETECTOR_TURNS } from "./demo-turns-detector.ts";
import { RELEASE_TURNS } from "./demo-turns-release.ts";

export interface DemoReflection {
  text: string;
  /** Keys of the facts that it rests on; it is drawn once all of them are known. */
  support: string[];
}

/** The whole conversation but for its last turn, the recall. */
export const DEMO_TURNS: readonly DemoTurn[] = [...DETECTOR_TURNS, ...RELEASE_TURNS];

/** The last turn: its answer is not scripted, it comes out of what `recall` gives. */
export const RECALL_TURN = {
  title: "Recall the user's exact words",
  asks: "Last question before we tag it: what exactly did I say about missing levels, and why? Do not answer from the summary: find the line about it in your memory, call the recall tool with the 12-character id in its brackets and with a query, and quote my words.",
  /** How the scripted agent knows the line. */
  memory: /^\[([0-9a-f]{12})\] \d{4}.*missing level to stay null/m,
  /** What it looks for behind that line. */
  query: "missing level null",
} as const;

export const DEMO_REFLECTIONS: readonly DemoReflection[] = [
  {
    text: "tidewatch must be plain Node without any dependency, because the harbour office machine has no internet.",
    support: ["purpose", "plain-node"],
  },
  {
    text: "In tidewatch a missing level is null and never 0; treating it as 0 has once kept the pilot boat in port.",
    support: ["missing-null", "parser-bug", "parser-done"],
  },
  {
    text: "Fixed jumps cannot detect spikes at spring tide; the rule is more than 18 cm off the median of five, and the user would rather miss a fault than raise a false alarm.",
    support: ["spring-tide", "median-rule", "no-wolf"],
  },
  {
    text: "The harbour master is the reader of the reports: his limit of 18 cm, his gauge clock and his paper log decide their form.",
    support: ["why-18", "report"],
  },
];
