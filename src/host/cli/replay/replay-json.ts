import { z } from "zod";
import { CommandSchema } from "../../../machines/commands.ts";
import { laneInputs } from "../../../machines/lanes/inputs.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { Difference } from "../../../machines/recording/verify.ts";
import { EngineEventSchema, RunFinishedSchema } from "../../../reducers/engine/events.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { SettingsSchema } from "../../../reducers/settings.ts";

/**
 * What `memory-lanes replay --json` prints: NDJSON, one object a line, told apart by `type`. Fields are only ever
 * added; `format` rises when one changes its meaning. Tokens are source tokens, times are ISO 8601.
 */
export const REPLAY_FORMAT = 1;

const LaneSchema = z.object({ state: z.string(), clock: z.number(), threshold: z.number() });

const lanesOf = <S extends z.ZodType>(schema: S) =>
  z.object({ observer: schema, reflectDrop: schema, compaction: schema }).partial();

const DecidedSchema = z.object({
  transitions: z.array(z.object({ lane: z.enum(LANES), from: z.string(), to: z.string() })),
  commands: z.array(CommandSchema),
});

const NumberedEventSchema = z.object({ number: z.int(), event: EngineEventSchema });

/** First line: what is replayed. */
export const ReplayLineSchema = z.object({
  type: z.literal("replay"),
  format: z.literal(REPLAY_FORMAT),
  file: z.string(),
  source: z.enum(["recording", "session"]),
  /** Settings given with `--set` */
  set: SettingsSchema.partial(),
});

/** One event and what it did. */
export const StepLineSchema = z.object({
  type: z.literal("step"),
  number: z.int(),
  at: z.string(),
  event: z.string(),
  /** The event was made up by the model of the workers. */
  modelled: z.boolean(),
  /** `branch.extended`, `branch.replaced`, `session.opened`: how many entries, and their source tokens */
  entries: z.object({ count: z.int(), tokens: z.number() }).optional(),
  /** `run.finished`: how the run ended */
  run: RunFinishedSchema.omit({ v: true, seq: true, at: true, type: true }).optional(),
  lanes: lanesOf(LaneSchema),
  ...DecidedSchema.shape,
});

/** `--explain`: why each lane is in its state after an event. */
export const ExplanationLineSchema = z.object({
  type: z.literal("explanation"),
  number: z.int(),
  at: z.string(),
  event: z.string(),
  lanes: lanesOf(LaneSchema.extend({ why: z.string() })),
});

/** `--verify`: the first event at which the replay decided otherwise than the recording. */
export const DifferenceLineSchema = z.object({
  type: z.literal("difference"),
  ...NumberedEventSchema.shape,
  expected: DecidedSchema,
  actual: DecidedSchema,
  lastEvents: z.array(NumberedEventSchema),
});

const CountsSchema = z.object({ recorded: z.int(), modelled: z.int(), noTrace: z.int() });

/** Last line: what it all came to. */
export const SummaryLineSchema = z.object({
  type: z.literal("summary"),
  events: z.int(),
  /** How many of them are above */
  shown: z.int(),
  /** Runs by outcome */
  runs: z.record(z.string(), z.record(z.string(), z.int())),
  compactions: z.int(),
  /** USD */
  cost: z.number(),
  badLines: z.int(),
  /** The first of them */
  firstBadLines: z.array(z.object({ line: z.int(), why: z.string() })),
  /** The last line broke off, which is normal. */
  truncatedLastLine: z.boolean(),
  /** Of a session whose branch breaks off: where, and the branch that lies before it. */
  breakOff: z
    .object({
      line: z.int(),
      entryId: z.string().optional(),
      parentId: z.string().optional(),
      entriesBefore: z.int(),
      leaf: z.string().optional(),
    })
    .optional(),
  missingEvents: z.int(),
  /** Where the results came from, when not all were recorded events */
  answers: z
    .object({
      observer: CountsSchema,
      reflector: CountsSchema,
      dropper: CountsSchema,
      compaction: CountsSchema,
    })
    .optional(),
  /** Only with `--verify` */
  verification: z
    .object({ ok: z.boolean(), compared: z.int(), decisions: z.int(), unverified: z.int() })
    .optional(),
});

export const ReplayOutputSchema = z.discriminatedUnion("type", [
  ReplayLineSchema,
  StepLineSchema,
  ExplanationLineSchema,
  DifferenceLineSchema,
  SummaryLineSchema,
]);
export type ReplayOutput = z.infer<typeof ReplayOutputSchema>;
export type SummaryLine = z.infer<typeof SummaryLineSchema>;

export function stepLine(step: ReplayStep, lanes: readonly LaneName[]): ReplayOutput {
  const { event, number, modelled, transitions, commands } = step;
  return {
    type: "step",
    number,
    at: event.at,
    event: event.type,
    modelled,
    ...detailsOf(event),
    lanes: laneReadings(step, lanes),
    transitions,
    commands,
  };
}

export function differenceLine({ number, event, expected, actual, lastEvents }: Difference): ReplayOutput {
  return { type: "difference", number, event, expected, actual, lastEvents };
}

/** State and clock of each lane after a step. */
export function laneReadings(
  { state, snapshot: { states }, event }: ReplayStep,
  lanes: readonly LaneName[],
): Partial<Record<LaneName, z.infer<typeof LaneSchema>>> {
  const readings = laneInputs(state, states, Date.parse(event.at));
  return Object.fromEntries(
    lanes.map((lane) => {
      const { clock, threshold } = readings[lane];
      return [lane, { state: states[lane], clock, threshold }];
    }),
  );
}

function detailsOf(event: ReplayStep["event"]) {
  switch (event.type) {
    case "session.opened":
    case "branch.replaced":
      return { entries: { count: event.branch.length, tokens: sumOf(event.branch) } };
    case "branch.extended":
      return { entries: { count: event.entries.length, tokens: sumOf(event.entries) } };
    case "run.finished": {
      const { v: _v, seq: _seq, at: _at, type: _type, ...run } = event;
      return { run };
    }
    default:
      return {};
  }
}

function sumOf(facts: readonly { tokens: number }[]): number {
  return facts.reduce((sum, { tokens }) => sum + tokens, 0);
}
