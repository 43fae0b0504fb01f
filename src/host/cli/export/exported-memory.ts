import { z } from "zod";
import { tipOf } from "../../../reducers/branch.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { isPinned } from "../../../reducers/ledger/hand/hand.ts";
import type {
  Ledger,
  ObservationRecord,
  ReflectionRecord,
  Written,
} from "../../../reducers/ledger/ledger.ts";
import {
  orderedObservations,
  selectedReflections,
  selectFull,
} from "../../../reducers/ledger/projections.ts";
import { type RecalledSource, recallFrom } from "../../../reducers/ledger/recall.ts";
import { MemoryIdSchema, ObservationSchema, ReflectionSchema } from "../../../reducers/ledger/records.ts";
import type { SessionState } from "../../../reducers/session.ts";

/** What became of a record */
const FateSchema = z.object({
  status: z.enum(["active", "dropped", "dangling", "promoted"]),
  /** What stands in its place, what stands in the place of that, and so on */
  replacedBy: z.array(MemoryIdSchema),
});

/** What `memory-lanes export --json` prints: the memory of a branch at its tip. */
export const ExportSchema = z.object({
  type: z.literal("export"),
  session: z.object({
    id: z.string(),
    cwd: z.string(),
    /** The branch's last entry; null for an empty one */
    leaf: z.string().nullable(),
  }),
  /** Where the branch breaks off, if it does */
  breakOff: z
    .object({
      line: z.int(),
      entryId: z.string().optional(),
      parentId: z.string().optional(),
      entriesBefore: z.int(),
      leaf: z.string().optional(),
    })
    .optional(),
  /** In the order of recording */
  reflections: z.array(ReflectionSchema.extend(FateSchema.shape)),
  /** In the order of what they rest on, as in a summary */
  observations: z.array(ObservationSchema.extend({ ...FateSchema.shape, pinned: z.boolean() })),
  /** With `--sources`: what the observations above rest on, each once, in the order in which they cite it */
  sources: z
    .array(
      z.object({
        entryId: z.string(),
        /** `omitted`: Pi shows it to the agent no longer. `missing`, `not-a-source`: there is no text. */
        status: z.enum(["found", "omitted", "missing", "not-a-source"]),
        text: z.string().optional(),
      }),
    )
    .optional(),
});
export type ExportedMemory = z.infer<typeof ExportSchema>;

/** What an export holds beside the active records. What the user made memory forget is in none. */
export interface ExportWishes {
  /** What was dropped or replaced, too */
  all: boolean;
  sources: boolean;
}

/** The memory of a branch as it is exported. Secrets stay in it if the lookup gives them. */
export function exportedMemory(
  {
    session,
    lookup,
    header,
  }: { session: SessionState; lookup: EntryLookup; header: { id: string; cwd: string } },
  { all, sources }: ExportWishes,
): ExportedMemory {
  const { branch, ledger } = session;
  const records = all ? everyRecord(ledger) : activeRecords(ledger);
  const recalled = (list: readonly Written[]) => list.map(({ id }) => recallFrom(session, lookup, id));
  const observations = recalled(records.observations)
    .map(({ observation }) => observation)
    .filter((observation) => observation !== undefined);
  const reflections = recalled(records.reflections)
    .map(({ reflection }) => reflection)
    .filter((reflection) => reflection !== undefined);
  return {
    type: "export",
    session: { id: header.id, cwd: header.cwd, leaf: tipOf(branch) },
    reflections: reflections.map(({ reflection, status, replacedBy }) => ({
      ...reflection,
      status,
      replacedBy,
    })),
    observations: observations.map(({ observation, status, replacedBy }) => ({
      ...observation,
      ...{ status, replacedBy, pinned: isPinned(ledger.hand, observation.id) },
    })),
    ...(sources && { sources: sourcesOf(observations.flatMap((observation) => observation.sources)) }),
  };
}

interface Records {
  observations: ObservationRecord[];
  reflections: ReflectionRecord[];
}

function activeRecords(ledger: Ledger): Records {
  const selection = selectFull(ledger);
  return { observations: orderedObservations(selection), reflections: selectedReflections(selection) };
}

/** In the order of a summary, dropped ones among the others. */
function everyRecord(ledger: Ledger): Records {
  return {
    observations: [...ledger.observations.values()].sort((a, b) => a.lastSource - b.lastSource),
    reflections: [...ledger.reflections.values()],
  };
}

/** Each once */
function sourcesOf(cited: readonly RecalledSource[]): ExportedMemory["sources"] {
  const byId = new Map<string, RecalledSource>();
  for (const source of cited) if (!byId.has(source.entryId)) byId.set(source.entryId, source);
  return [...byId.values()].map((source) => ({
    entryId: source.entryId,
    status: source.status,
    ...("text" in source && { text: source.text }),
  }));
}
