import fc from "fast-check";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { folded, observationOf, text } from "./builders.ts";
import { proposedCut } from "./pi-oracle.ts";

type Entry = EntryLike & Record<string, unknown>;

const PIECES = [
  "user",
  "user",
  "reply",
  "reply",
  "tools",
  "tools",
  "tools",
  "tools",
  "failedTry",
  "customMessage",
  "bash",
  "summary",
  "system",
  "metadata",
  "replace",
  "observed",
  "observed",
  "compaction",
  "folded",
  "keepsNone",
] as const;

/**
 * Random branches as Pi writes them: prompts, replies with tool calls and all their results, what extensions and the
 * user put between, abandoned tries that an edit takes out, batches of observations whose marker may lie anywhere,
 * compactions of ours and of Pi's with cuts that Pi itself would make, or that keep nothing.
 */
export const randomConversation: fc.Arbitrary<Entry[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom(...PIECES),
      /** Characters of each text in it */
      sizes: fc.array(fc.nat(4000), { minLength: 4, maxLength: 4 }),
      calls: fc.integer({ min: 1, max: 3 }),
      /** Which earlier entry is meant, as a share of those there are, counted back from the newest */
      back: fc.double({ min: 0, max: 1, noNaN: true }),
      odd: fc.nat(9),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((pieces) => {
    const entries: Entry[] = [];
    for (const piece of pieces) add(entries, piece);
    return entries;
  });

interface Piece {
  kind: (typeof PIECES)[number];
  sizes: number[];
  calls: number;
  back: number;
  odd: number;
}

function add(entries: Entry[], { kind, sizes, calls, back, odd }: Piece): void {
  const [size = 0, second = 0] = sizes;
  const push = (fields: Record<string, unknown> & { type: string }): string => {
    const id = `e${entries.length}`;
    const timestamp = new Date(Date.UTC(2026, 0, 15, 12, entries.length)).toISOString();
    entries.push({ id, parentId: entries.at(-1)?.id ?? null, timestamp, ...fields });
    return id;
  };
  const say = (role: string, content: unknown, more: object = {}) =>
    push({ type: "message", message: { role, content, timestamp: 0, ...more } });
  const reply = (...content: object[]) => say("assistant", [block(size), ...content]);
  switch (kind) {
    case "user":
      say("user", words(size));
      break;
    case "reply":
      reply();
      break;
    case "tools": {
      const ids = sizes.slice(0, calls).map((_, n) => `call${entries.length}.${n}`);
      reply(
        ...ids.map((id) => ({ type: "toolCall", id, name: "read", arguments: { path: words(second / 8) } })),
      );
      for (const [n, toolCallId] of ids.entries()) {
        if (odd % 2 === 0) push({ type: "custom", customType: "todo", data: {} });
        // Pi holds messages back until all results are there; a file that another program wrote may not.
        if (odd === 9)
          push({ type: "custom_message", customType: "note", content: "meanwhile", display: true });
        say("toolResult", [block(sizes[n] ?? 0)], { toolCallId, toolName: "read", isError: false });
      }
      break;
    }
    case "failedTry": {
      const failed = say("assistant", [block(size)], { stopReason: "error", errorMessage: "503" });
      push({ type: "context_edit", targetId: failed, replacement: null });
      break;
    }
    case "customMessage":
      push({ type: "custom_message", customType: "note", content: words(size), display: true });
      break;
    case "bash":
      say("bashExecution", undefined, {
        command: "ls",
        output: words(size),
        exitCode: 0,
        excludeFromContext: odd > 6,
      });
      break;
    case "summary":
      push({ type: "branch_summary", fromId: "left", summary: odd > 7 ? "" : words(size) });
      break;
    case "system":
      say("system", words(size));
      break;
    case "metadata":
      push({ type: "label", targetId: "e0", label: "here" });
      break;
    case "replace": {
      const target = entryBack(entries.filter(isEditable), back);
      const content = target?.message.role === "user" ? words(second) : [...calledIn(target), block(second)];
      if (target) push({ type: "context_edit", targetId: target.id, replacement: { content } });
      break;
    }
    case "observed": {
      const covered = entryBack(entries.filter(isConversation), back ** 2);
      if (covered) push(observed(entries, covered.id, odd));
      break;
    }
    default: {
      const cut = proposedCut(entries, size);
      if (cut === undefined) break;
      const details = folded({ fullFold: odd > 4 });
      push({
        type: "compaction",
        summary: "s",
        tokensBefore: 1,
        firstKeptEntryId: kind === "keepsNone" ? `e${entries.length}` : cut,
        ...(kind === "folded" && { details, fromHook: true }),
      });
    }
  }
}

type Message = { role: string; content?: unknown };
type MessageEntry = Entry & { message: Message };

function isMessage(entry: Entry): entry is MessageEntry {
  return entry.type === "message";
}

function isConversation(entry: Entry): boolean {
  return isMessage(entry) ? entry.message.role !== "system" : entry.type === "custom_message";
}

function isEditable(entry: Entry): entry is MessageEntry {
  return isMessage(entry) && ["user", "assistant", "toolResult"].includes(entry.message.role);
}

/** The tool calls of a reply: an edit that took them out would leave their results without a call. */
function calledIn(entry: MessageEntry | undefined): unknown[] {
  const { content } = entry?.message ?? {};
  return Array.isArray(content) ? content.filter(({ type }) => type === "toolCall") : [];
}

function entryBack<T>(list: readonly T[], back: number): T | undefined {
  return list[list.length - 1 - Math.floor(back * list.length)];
}

/** A batch of two observations, one about the entry that is covered last, one about any before it. */
function observed(entries: readonly Entry[], coversUpToId: string, odd: number) {
  const sources = [coversUpToId, entries[Math.floor((odd / 10) * entries.length)]?.id ?? coversUpToId];
  const observations = sources.map((source, n) => {
    const content = `Entry ${source} said something (${entries.length}.${n}).`;
    return observationOf(content, { sourceEntryIds: [source], tokenCount: 12 });
  });
  return { type: "custom", customType: "om.observations.recorded", data: { observations, coversUpToId } };
}

const block = (size: number) => text(words(size));

function words(size: number): string {
  return "word ".repeat(Math.ceil(size / 5));
}
