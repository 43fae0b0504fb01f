import { z } from "zod";
import { CommandSchema } from "../../../machines/commands.ts";
import { laneInputs } from "../../../machines/lanes/inputs.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { Verification } from "../../../machines/recording/verify.ts";
import { EngineEventSchema, RunFinishedSchema } from "../../../reducers/engine/events.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { SettingsSchema } from "../../../reducers/settings.ts";
import type { RunReport } from "./replay-run.ts";

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
const ReplayLineSchema = z.object({
  type: z.literal("replay"),
  format: z.literal(REPLAY_FORMAT),
  file: z.string(),
  source: z.enum(["recording", "session"]),
  /** Settings given with `--set` */
  set: SettingsSchema.partial(),
});

/** One event and what it did. */
const StepLineSchema = z.object({
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
const ExplanationLineSchema = z.object({
  type: z.literal("explanation"),
  number: z.int(),
  at: z.string(),
  event: z.string(),
  lanes: lanesOf(LaneSchema.extend({ why: z.string() })),
});

/** `--verify`: the first event at which the replay decided otherwise than the recording. */
const DifferenceLineSchema = z.object({
  type: z.literal("difference"),
  ...NumberedEventSchema.shape,
  expected: DecidedSchema,
  actual: DecidedSchema,
  lastEvents: z.array(NumberedEventSchema),
});

const CountsSchema = z.object({ recorded: z.int(), modelled: z.int(), noTrace: z.int() });

/** Last line: what it all came to. */
const SummaryLineSchema = z.object({
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
  /** Of a session: runs that left a result in it and that nothing led to under these settings */
  unexplained: z.int().optional(),
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

export function stepLine(step: ReplayStep, lanes: readonly LaneName[]): ReplayOutput {
  const { event, number, modelled, transitions, commands } = step;
  return {
    type: "step",
    number,
    at: event.at,
    event: event.type,
    modelled,
    ...detailsOf(event),
    lanes: lanesAfter(step, lanes),
    transitions,
    commands,
  };
}

/** State and clock of each lane after a step. */
export function lanesAfter(
  { state, snapshot: { states }, event }: ReplayStep,
  lanes: readonly LaneName[],
): Partial<Record<LaneName, z.infer<typeof LaneSchema>>> {
  const inputs = laneInputs(state, states, Date.parse(event.at));
  return Object.fromEntries(
    lanes.map((lane) => {
      const { clock, threshold } = inputs[lane];
      return [lane, { state: states[lane], clock, threshold }];
    }),
  );
}

function detailsOf(event: ReplayStep["event"]) {
  const entriesOf = (facts: readonly { tokens: number }[]) => ({
    entries: { count: facts.length, tokens: facts.reduce((sum, { tokens }) => sum + tokens, 0) },
  });
  switch (event.type) {
    case "session.opened":
    case "branch.replaced":
      return entriesOf(event.branch);
    case "branch.extended":
      return entriesOf(event.entries);
    case "run.finished": {
      const { v: _v, seq: _seq, at: _at, type: _type, ...run } = event;
      return { run };
    }
    default:
      return {};
  }
}

/** The last line; `verification` where that was asked for. */
export function summaryLine(report: RunReport, shown: number, verification?: Verification): ReplayOutput {
  const { reading, model: _model, verification: _whole, ...counts } = report;
  return {
    type: "summary",
    shown,
    ...counts,
    ...reading,
    ...(verification && {
      verification: {
        ok: isVerified(verification),
        compared: verification.compared,
        decisions: verification.decisions,
        unverified: verification.unverified,
      },
    }),
  };
}

/** Whether every event was compared, and came out as recorded. */
export function isVerified({ difference, unverified }: Verification): boolean {
  return difference === undefined && unverified === 0;
}
