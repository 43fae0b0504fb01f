import { z } from "zod";
import { EngineEventSchema } from "../../reducers/engine/events.ts";
import { LANES } from "../../reducers/engine/lane-names.ts";
import { memoryId } from "../../reducers/ledger/memory-id.ts";
import { CommandSchema } from "../commands.ts";
import type { Step } from "../engine.ts";
import { KeyframeSchema } from "../keyframe.ts";

/**
 * A recording is NDJSON: a header, then the events, each followed by what the live engine made of it when it made
 * anything of it. It holds no conversation text. A keyframe after the header lets a recording start anywhere.
 */
export const RECORDING_VERSION = 2;

export const HeaderSchema = z.object({
  type: z.literal("header"),
  recording: z.literal(RECORDING_VERSION),
  /** Version of this package and of Pi */
  version: z.string(),
  pi: z.string(),
  sessionId: z.string(),
});

export const DecisionSchema = z.object({
  type: z.literal("decision"),
  /** The event that it answers */
  seq: z.int(),
  transitions: z.array(z.object({ lane: z.enum(LANES), from: z.string(), to: z.string() })),
  commands: z.array(CommandSchema),
});
export type Decision = z.infer<typeof DecisionSchema>;

export const RecordingLineSchema = z.union([HeaderSchema, KeyframeSchema, DecisionSchema, EngineEventSchema]);
export type RecordingLine = z.infer<typeof RecordingLineSchema>;

/** What a step decided; undefined when the event moved no lane and asked for nothing. */
export function decisionOf({ event, transitions, commands }: Omit<Step, "state">): Decision | undefined {
  if (transitions.length === 0 && commands.length === 0) return undefined;
  return { type: "decision", seq: event.seq, transitions, commands };
}

/**
 * One line of the file, with its line feed. Providers may echo a prompt in an error's text, so a failure's words are
 * left out; they decide nothing. And whatever should be an id or a name and reads like text, as a damaged session may
 * have it, goes in as a digest, so that it still matches itself.
 */
export function encodeLine(line: RecordingLine): string {
  return `${JSON.stringify(line, withoutText)}\n`;
}

function withoutText(key: string, value: unknown): unknown {
  if (key === "message") return "";
  return typeof value === "string" && !NAME.test(value) ? `~${memoryId(value)}` : value;
}

const NAME = /^(?!\/)[\w.:+@/-]{0,80}$/;
