import fc from "fast-check";
import { expect, it } from "vitest";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { isPinned } from "../../src/reducers/ledger/hand/hand.ts";
import {
  forget,
  type HandAnswer,
  type HandledMemory,
  note,
  pin,
  promoted,
  undo,
  unpin,
} from "../../src/reducers/ledger/hand/hand-entries.ts";
import { resolveSelection, selectForCompaction, selectFull } from "../../src/reducers/ledger/projections.ts";
import { recallFrom } from "../../src/reducers/ledger/recall.ts";
import { openMemory, sessionOfEntries } from "../../src/reducers/memory.ts";
import { DEFAULT_SETTINGS } from "../../src/reducers/settings.ts";
import { randomBranch } from "../support/sessions/random-branch.ts";

const RUNS = { numRuns: 300 };

type Command = "pin" | "unpin" | "forget" | "note" | "promote";

const commands = fc.array(
  fc.record({
    command: fc.constantFrom<Command>("pin", "unpin", "forget", "forget", "note", "promote"),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  }),
  { minLength: 1, maxLength: 8 },
);

function memoryOf(entries: EntryLike[]): HandledMemory {
  return { ...sessionOfEntries(entries), redactSecrets: true, isElsewhere: () => false };
}

/** Carries a command out on a record of the branch, as Pi would. */
function answerTo({ command, at }: { command: Command; at: number }, memory: HandledMemory): HandAnswer {
  const { ledger } = memory.session;
  const ids = [...ledger.observations.keys(), ...ledger.reflections.keys()];
  const id = ids[Math.floor(at * ids.length)] ?? "0123456789ab";
  if (command === "pin") return pin(memory, id);
  if (command === "unpin") return unpin(memory, id);
  if (command === "forget") return forget(memory, `[${id}] it is wrong`);
  if (command === "note") return note(memory, `observation ${Math.floor(at * 60)}`);
  const isOut = ledger.hand.promoted.has(id) || ledger.hand.forgotten.has(id);
  return { entries: isOut ? [] : promoted(memory.session, [id]), words: "" };
}

function appended(entries: EntryLike[], made: HandAnswer["entries"]): EntryLike[] {
  const timestamp = "2026-01-15T13:30:00.000Z";
  return [
    ...entries,
    ...made.map((entry, n) => ({
      ...entry,
      type: "custom",
      id: `hand${entries.length + n}`,
      parentId: null,
      timestamp,
    })),
  ];
}

/** What anybody is shown, at the tip and at a cut, in each fold. */
function shown(entries: EntryLike[], cut: number) {
  const { session, lookup } = sessionOfEntries(entries);
  const at = (selection: Parameters<typeof resolveSelection>[0]) =>
    resolveSelection(selection, session.branch, lookup);
  return [
    at(selectFull(session.ledger)),
    ...(["always", "pool"] as const).map((foldPolicy) =>
      at(selectForCompaction(session.ledger, cut, { foldPolicy, observationsPoolMaxTokens: 100_000 })),
    ),
  ];
}

it("takes back what the hand did last, one after the other, until all is as it was", () => {
  fc.assert(
    fc.property(randomBranch, commands, fc.nat(70), (branch, done, cut) => {
      // What others did by hand can be taken back too; here it is the user's own that counts.
      let entries = branch;
      const before = shown(entries, cut);
      const actsBefore = memoryOf(entries).session.ledger.hand.acts.length;
      for (const one of done) entries = appended(entries, answerTo(one, memoryOf(entries)).entries);
      while (memoryOf(entries).session.ledger.hand.acts.length > actsBefore) {
        const { entries: made } = undo(memoryOf(entries));
        expect(made).toHaveLength(1);
        entries = appended(entries, made);
      }
      expect(shown(entries, cut)).toEqual(before);
    }),
    RUNS,
  );
});

it("undoes each command by itself", () => {
  fc.assert(
    fc.property(randomBranch, commands, fc.nat(70), (branch, done, cut) => {
      let entries = branch;
      for (const one of done) {
        const { entries: made } = answerTo(one, memoryOf(entries));
        const after = appended(entries, made);
        let back = after;
        for (const _ of made) back = appended(back, undo(memoryOf(back)).entries);
        expect(shown(back, cut)).toEqual(shown(entries, cut));
        entries = after;
      }
    }),
    RUNS,
  );
});

it("shows nobody what was forgotten, and says so where it is recalled", () => {
  fc.assert(
    fc.property(randomBranch, commands, fc.nat(70), (branch, done, cut) => {
      let entries = branch;
      for (const one of done) entries = appended(entries, answerTo(one, memoryOf(entries)).entries);
      const { session, lookup } = memoryOf(entries);
      const { forgotten } = session.ledger.hand;
      const memory = openMemory(entries);
      const projections = [...shown(entries, cut), memory.visible, memory.forCompaction(`entry${cut}`)];
      for (const { observations, reflections } of projections) {
        for (const { id } of [...observations, ...reflections]) expect(forgotten.has(id)).toBe(false);
      }
      for (const id of forgotten.keys()) {
        const recalled = recallFrom(session, lookup, id);
        expect(recalled).toMatchObject({ id, forgotten: {} });
        expect(recalled.observation ?? recalled.reflection).toBeUndefined();
      }
    }),
    RUNS,
  );
});

it("has what is pinned in every summary that has room for it", () => {
  fc.assert(
    fc.property(
      randomBranch,
      commands,
      fc.nat(70),
      fc.integer({ min: 400, max: 4000 }),
      (branch, done, cut, room) => {
        let entries = branch;
        for (const one of done) entries = appended(entries, answerTo(one, memoryOf(entries)).entries);
        const { ledger } = memoryOf(entries).session;
        const isShownPinned = (id: string) =>
          isPinned(ledger.hand, id) && !ledger.hand.forgotten.has(id) && !ledger.hand.promoted.has(id);
        const kept = [...ledger.observations.values()].filter(({ id }) => isShownPinned(id));
        const settings = { ...DEFAULT_SETTINGS, summaryMaxTokens: room };
        const plan = openMemory(entries).planCompaction(`entry${cut}`, settings);
        const inSummary = plan?.details.observations.map(({ id }) => id) ?? [];
        const wanted = kept.reduce((sum, { tokens }) => sum + tokens + 40, 0);
        const hasRoomForAll = wanted + 300 <= room;
        if (hasRoomForAll) for (const { id } of kept) expect(inSummary).toContain(id);
        // Where some have to leave, what is pinned stays longest.
        const left = plan ? kept.filter(({ id }) => !inSummary.includes(id)) : [];
        if (left.length > 0) for (const id of inSummary) expect(isShownPinned(id)).toBe(true);
      },
    ),
    RUNS,
  );
});
