import fc from "fast-check";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { HAND_ACTS } from "../../../src/reducers/ledger/hand/hand.ts";
import { memoryId } from "../../../src/reducers/ledger/memory-id.ts";
import { RELEVANCES } from "../../../src/reducers/ledger/records.ts";
import { fact, folded, observationOf, reflectionOf } from "./builders.ts";

/**
 * Random branches of real entries: conversation, tool calls, context edits, ledger entries with markers that are
 * valid, dangling or ahead of themselves, drops before their observation, repeated ids, what a user does by hand,
 * compactions of ours and of others, and junk.
 */
export const randomBranch: fc.Arbitrary<EntryLike[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom(
        "user",
        "user",
        "assistant",
        "toolResult",
        "bash",
        "custom_message",
        "system",
        "observations",
        "observations",
        "reflections",
        "drops",
        "supersedes",
        "replaces",
        "pin",
        "unpin",
        "note",
        "forget",
        "restore",
        "promote",
        "edit",
        "compaction",
        "foldedCompaction",
        "junk",
      ),
      size: fc.nat(2000),
      /** Which earlier entry or record is meant, as a share of those there are; now and then none of them. */
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      seed: fc.nat(1_000_000),
      odd: fc.integer({ min: 0, max: 19 }),
    }),
    { maxLength: 60 },
  )
  .map(buildBranch);

interface Piece {
  kind: string;
  size: number;
  at: number;
  seed: number;
  odd: number;
}

function buildBranch(pieces: Piece[]): EntryLike[] {
  const entries: (EntryLike & Record<string, unknown>)[] = [];
  const observationIds: string[] = [];
  for (const [n, piece] of pieces.entries()) {
    const pick = <T>(list: readonly T[], share = piece.at): T | undefined =>
      list[Math.min(list.length - 1, Math.floor(share * list.length))];
    const base = {
      id: `entry${n}`,
      parentId: n === 0 ? null : `entry${n - 1}`,
      timestamp: new Date(Date.UTC(2026, 0, 15, 12, n)).toISOString(),
    };
    const earlier = entries.map((entry) => entry.id);
    // One marker in twenty dangles, one points at its own entry, one at a later one.
    const marker =
      piece.odd === 0
        ? "nowhere"
        : piece.odd === 1
          ? base.id
          : piece.odd === 2
            ? `entry${n + 3}`
            : (pick(earlier) ?? "nowhere");
    const text = `${"word ".repeat(Math.ceil(piece.size / 5))}${piece.seed}`;
    entries.push({ ...base, ...body(piece, text, marker, earlier, pick, observationIds) });
  }
  return entries;
}

/** Of few, so that what is done to one is undone, or done again. */
function someObservation({ seed }: Piece): string {
  return memoryId(`observation ${seed % 40}`);
}

function someRecord(piece: Piece): string {
  return piece.odd > 9 ? someObservation(piece) : memoryId(`reflection ${piece.seed % 20}`);
}

function body(
  piece: Piece,
  text: string,
  marker: string,
  earlier: string[],
  pick: <T>(list: readonly T[], share?: number) => T | undefined,
  observationIds: string[],
): Record<string, unknown> & { type: string } {
  const message = (role: string, more: object = {}) => ({
    type: "message",
    message: { role, content: [{ type: "text", text }], timestamp: 0, ...more },
  });
  const custom = (customType: string, data: unknown) => ({ type: "custom", customType, data });
  switch (piece.kind) {
    case "user":
    case "assistant":
    case "system":
      return message(piece.kind);
    case "toolResult":
      return message("toolResult", { toolName: "read", toolCallId: "c" });
    case "bash":
      return message("bashExecution", { command: "ls", output: text, excludeFromContext: piece.odd > 15 });
    case "custom_message":
      return { type: "custom_message", customType: "note", content: text, display: true };
    case "observations": {
      const observations = [0, 1].map((i) => {
        // A small space of contents, so that ids repeat.
        const content = `observation ${(piece.seed + i) % 40}`;
        return observationOf(content, {
          relevance: RELEVANCES[piece.seed % 4] ?? "low",
          sourceEntryIds: [pick(earlier, (piece.at * (i + 1)) / 2) ?? "nowhere"],
          tokenCount: 1 + (piece.size % 500),
        });
      });
      observationIds.push(...observations.map(({ id }) => id));
      const records: unknown[] = piece.odd === 19 ? [{ id: "bad" }, ...observations] : observations;
      return custom("om.observations.recorded", { observations: records, coversUpToId: marker });
    }
    case "reflections": {
      const content = `reflection ${piece.seed % 20}`;
      const made = reflectionOf(content, [pick(observationIds) ?? memoryId("none")]);
      const reflections = [{ ...made, tokenCount: 1 + (piece.size % 50) }];
      return custom("om.reflections.recorded", { reflections, coversUpToId: marker });
    }
    case "drops":
      return custom("om.observations.dropped", {
        observationIds: [memoryId(`observation ${piece.seed % 40}`)],
        coversUpToId: marker,
      });
    case "supersedes": {
      // Any two, so that chains come up, and circles, and what supersedes itself.
      const [old, now] = [piece.seed % 40, Math.floor(piece.at * 40)].map((n) =>
        memoryId(`observation ${n}`),
      );
      const by = piece.odd > 9 ? now : { [String(old)]: now };
      return custom("om.observations.dropped", {
        ...{ observationIds: [old], coversUpToId: marker, reason: "superseded", supersededBy: by },
      });
    }
    case "replaces": {
      const ids = [piece.seed, piece.seed + 1].map((n) => memoryId(`reflection ${n % 20}`));
      return custom("om.reflections.dropped", {
        ...{ reflectionIds: ids, replacedBy: memoryId(`reflection ${Math.floor(piece.at * 20)}`) },
        // Others write it without a marker.
        ...(piece.odd < 10 ? { coversUpToId: marker } : {}),
      });
    }
    case "pin":
      return custom("om.observations.pinned", { observationIds: [someObservation(piece)] });
    case "unpin":
      return custom("om.observations.unpinned", { observationIds: [someObservation(piece)] });
    case "note": {
      const note = { ...observationOf(`observation ${piece.seed % 40}`), origin: "user", tokenCount: 7 };
      return custom("om.observations.recorded", { observations: [note], coversUpToId: marker });
    }
    case "forget":
      return custom("om.memory.forgotten", { ids: [someRecord(piece)] });
    case "restore":
      return custom("om.memory.restored", { ids: [someRecord(piece)] });
    case "promote":
      return custom("om.reflections.dropped", {
        ...{ reflectionIds: [someRecord(piece)], kind: "promoted", coversUpToId: marker },
      });
    case "edit":
      return {
        type: "context_edit",
        targetId: pick(earlier) ?? "nowhere",
        replacement: piece.odd > 9 ? null : { content: text },
      };
    case "compaction":
      return { type: "compaction", summary: text, firstKeptEntryId: marker, tokensBefore: 1 };
    case "foldedCompaction":
      return {
        type: "compaction",
        summary: text,
        firstKeptEntryId: marker,
        tokensBefore: 1,
        fromHook: true,
        details: folded({ fullFold: piece.odd > 9 }),
      };
    default:
      return piece.odd > 9
        ? { type: "message", message: null }
        : custom("om.observations.recorded", piece.odd > 4 ? null : { observations: "no" });
  }
}

// Branches of facts on which records supersede each other

/** The records that there may be */
export const RECORD_IDS = [..."abcdef"];

/** One of few ids, also one that is never recorded */
const someId = fc.constantFrom(...RECORD_IDS, "z");
const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** A branch of few records that supersede each other in every way, also in circles, from runs that straddle each other. */
export const supersedingBranch: fc.Arbitrary<EntryFact[]> = fc
  .array(
    fc.oneof(
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("talk" as const) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constantFrom("observed" as const, "reflected" as const),
          ids: fc.uniqueArray(fc.constantFrom(...RECORD_IDS), { minLength: 1, maxLength: 3 }),
          watermark: share,
          source: share,
        }),
      },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constantFrom(
            "superseded" as const,
            "superseded" as const,
            "replaced" as const,
            "dropped" as const,
          ),
          ids: fc.tuple(someId, someId).filter(([old, now]) => old !== now),
          watermark: share,
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant("hand" as const),
          act: fc.constantFrom(...HAND_ACTS),
          ids: fc.tuple(fc.constantFrom(...RECORD_IDS)),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant("compacted" as const),
          watermark: share,
          isFull: fc.boolean(),
        }),
      },
    ),
    { minLength: 4, maxLength: 30 },
  )
  .map((pieces) =>
    pieces.reduce<EntryFact[]>(
      (facts, piece) => {
        const id = `e${facts.length}`;
        const at = (place: number) => facts[Math.floor(place * facts.length)]?.id ?? "";
        const made = (): EntryFact => {
          switch (piece.kind) {
            case "talk":
              return fact.user(id);
            case "observed":
            case "reflected": {
              const [watermark, sources] = [
                at(piece.watermark),
                piece.kind === "observed" ? `@${at(piece.source)}` : "",
              ];
              return fact[piece.kind](id, watermark, ...piece.ids.map((one) => `${one}:10${sources}`));
            }
            case "superseded":
            case "replaced": {
              const [old, now] = piece.ids;
              return fact[piece.kind](id, at(piece.watermark), { [old]: now });
            }
            case "dropped":
              return fact.dropped(id, at(piece.watermark), piece.ids[0]);
            case "hand":
              return { ...fact.other(id), hand: { act: piece.act, ids: piece.ids } };
            case "compacted":
              return fact.compaction(id, at(piece.watermark), true, piece.isFull);
          }
        };
        facts.push(made());
        return facts;
      },
      [fact.user("e0"), fact.user("e1"), fact.user("e2")],
    ),
  );
