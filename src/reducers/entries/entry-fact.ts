import { z } from "zod";
import { HandFactSchema } from "../ledger/hand/hand.ts";
import { RelevanceSchema } from "../ledger/records.ts";
import { CostFactSchema } from "../spend.ts";

/** What an entry is to the engine. The first seven kinds are conversation: they may count source tokens. */
export const ENTRY_KINDS = [
  "user",
  "assistant",
  "toolResult",
  "custom",
  "bash",
  "customMessage",
  "branchSummary",
  "compaction",
  "contextEdit",
  "ledger",
  "other",
] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

const watermark = { coversUpToId: z.string() };

/** A valid ledger entry without its text. */
export const LedgerFactSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("observations"),
    ...watermark,
    records: z.array(
      z.object({
        id: z.string(),
        tokens: z.number(),
        relevance: RelevanceSchema,
        sources: z.array(z.string()),
        /** Index in the entry's own list, which may also hold records that are not valid. */
        index: z.int(),
      }),
    ),
  }),
  z.object({
    type: z.literal("reflections"),
    ...watermark,
    records: z.array(
      z.object({ id: z.string(), tokens: z.number(), supports: z.array(z.string()), index: z.int() }),
    ),
  }),
  z.object({
    type: z.literal("drops"),
    ...watermark,
    observationIds: z.array(z.string()),
    /** Unset: none */
    reflectionIds: z.array(z.string()).optional(),
    /** Dropped id → id of the record that stands in its place; only for what was superseded or replaced. */
    replacedBy: z.record(z.string(), z.string()).optional(),
  }),
]);
export type LedgerFact = z.infer<typeof LedgerFactSchema>;

/** Why something that looks like memory was left out of the fold. */
export const IGNORED_REASONS = ["malformed", "dangling", "v2"] as const;
export type IgnoredReason = (typeof IGNORED_REASONS)[number];

/**
 * One session entry as the engine knows it: identity, kind and counts, never text. The reducers work on
 * these alone, so a recording of them replays exactly and can be shown to anybody.
 */
export const EntryFactSchema = z.object({
  id: z.string(),
  kind: z.enum(ENTRY_KINDS),
  /** Source tokens (Pi's estimate) that the entry adds to the clocks; 0 for all that is not conversation. */
  tokens: z.number().nonnegative(),
  /** Whether it is conversation at all: an empty message is a source entry of 0 tokens. */
  source: z.boolean().optional(),
  /** `contextEdit`: what becomes of an earlier entry; `tokens: null` omits it. */
  edit: z.object({ targetId: z.string(), tokens: z.number().nullable() }).optional(),
  /** `ledger`: the records. */
  ledger: LedgerFactSchema.optional(),
  /** `ledger`: what the user did by hand, instead of what a worker recorded, or with it. */
  hand: HandFactSchema.optional(),
  /** What an answered run took; such an entry is memory to no reader. */
  cost: CostFactSchema.optional(),
  /** `compaction`: where it cut, and whether its details are memory of ours. */
  compaction: z
    .object({ firstKeptEntryId: z.string(), folded: z.boolean(), fullFold: z.boolean() })
    .optional(),
  /** Records (or the whole entry, when it has no `ledger`) that look like memory but are not valid. */
  ignored: z.object({ reason: z.enum(IGNORED_REASONS), records: z.int() }).optional(),
});
export type EntryFact = z.infer<typeof EntryFactSchema>;
