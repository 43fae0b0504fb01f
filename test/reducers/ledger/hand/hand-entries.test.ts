import { describe, expect, it } from "vitest";
import type { EntryLike } from "../../../../src/reducers/entries/entry.ts";
import {
  forget,
  type HandledMemory,
  note,
  pin,
  undo,
  unpin,
} from "../../../../src/reducers/ledger/hand/hand-entries.ts";
import { memoryId } from "../../../../src/reducers/ledger/memory-id.ts";
import { sessionOfEntries } from "../../../../src/reducers/memory.ts";
import {
  custom,
  observationOf,
  observed,
  reflected,
  reflectionOf,
  user,
} from "../../../support/sessions/builders.ts";
import { secretOf } from "../../../support/sessions/secrets.ts";

const ferry = observationOf("The ferry leaves at 4:30.");
const bay = observationOf("Bay 4 is closed.");
const rule = reflectionOf("Ferries wait for nobody.", [ferry.id]);
const BRANCH = [user("e1", "hello"), observed("o1", [ferry, bay], "e1"), reflected("r1", [rule], "e1")];

function memoryOf(entries: EntryLike[], elsewhere: string[] = []): HandledMemory {
  return { ...sessionOfEntries(entries), redactSecrets: true, isElsewhere: (id) => elsewhere.includes(id) };
}

const memory = memoryOf(BRANCH);
const typo = (id: string) => `${id.slice(0, 11)}${id.endsWith("0") ? "1" : "0"}`;

describe("an id that is none", () => {
  it.each([
    ["nothing at all", "", /^\/om:pin ID/],
    ["words of a line", "closed bay", /Did you mean:\n\[.{12}\].*Bay 4 is closed/],
    ["words of no line", "quantum", /no line has these words/],
    ["an id with a wrong digit", typo(ferry.id), new RegExp(`Did you mean:\n\\[${ferry.id}\\]`)],
    ["too few digits", ferry.id.slice(0, 3), /Did you mean|no line has these words/],
    ["ten thousand characters", "x".repeat(10_000), /^"x{1,40}…?"/],
    ["signs of a regular expression", "(.*)+[", /no line has these words/],
  ])("%s", (_what, args, words) => {
    const answer = pin(memory, args);
    expect(answer.entries).toEqual([]);
    expect(answer.words).toMatch(words);
    expect(answer.words.length).toBeLessThan(700);
  });

  it("names another branch that has it", () => {
    expect(forget(memoryOf(BRANCH, ["0123456789ab"]), "0123456789ab").words).toMatch(/another branch/);
  });

  it("is looked for by all words of a reason", () => {
    expect(forget(memory, "bay closed").words).toContain(bay.id);
  });

  it("says so where there is no memory at all", () => {
    expect(pin(memoryOf([user("e1", "hello")]), "0123456789ab").words).toMatch(/has no memory yet/);
  });
});

describe("an id", () => {
  it.each([
    ["with its brackets", `[${ferry.id}]`],
    ["in capitals", ferry.id.toUpperCase()],
    ["by its beginning", ferry.id.slice(0, 6)],
  ])("%s", (_what, given) => {
    expect(pin(memory, given).entries).toEqual([
      { customType: "om.observations.pinned", data: { observationIds: [ferry.id] } },
    ]);
  });

  it("of a reflection is not pinned, but forgotten", () => {
    expect(pin(memory, rule.id)).toMatchObject({ entries: [], words: expect.stringContaining(ferry.id) });
    expect(forget(memory, rule.id).entries).toHaveLength(1);
  });

  it("that an observation and a reflection share stands for both", () => {
    const shared = observationOf(rule.content);
    const both = memoryOf([...BRANCH, observed("o2", [shared], "e1")]);
    expect(shared.id).toBe(rule.id);
    expect(forget(both, rule.id).words.match(/Ferries wait for nobody/g)).toHaveLength(2);
    expect(pin(both, rule.id).entries).toHaveLength(1);
  });
});

describe("forgetting", () => {
  it("keeps the reason, and names what else says it", () => {
    const { entries, words } = forget(memory, `${ferry.id} ${bay.id} it was the winter plan`);
    expect(entries).toEqual([
      {
        customType: "om.memory.forgotten",
        data: { ids: [ferry.id, bay.id], reason: "it was the winter plan" },
      },
    ]);
    expect(words).toContain(`/om:forget ${rule.id}`);
  });

  it("is taken back by pinning, too", () => {
    const gone = memoryOf([...BRANCH, custom("f", "om.memory.forgotten", { ids: [ferry.id] })]);
    expect(forget(gone, ferry.id)).toMatchObject({
      entries: [],
      words: expect.stringMatching(/^Forgotten already/),
    });
    expect(pin(gone, ferry.id).entries.map(({ customType }) => customType)).toEqual([
      "om.memory.restored",
      "om.observations.pinned",
    ]);
  });
});

describe("a note", () => {
  it("is one clean line without secrets, on the latest message", () => {
    const secret = secretOf("GitHub classic token").text;
    const [entry] = note(memory, `  use ${secret}\n\nfor releases `).entries;
    const content = "use [redacted:github-token] for releases";
    expect(entry).toMatchObject({
      customType: "om.observations.recorded",
      data: {
        coversUpToId: "e1",
        observations: [
          { id: memoryId(content), content, origin: "user", relevance: "critical", sourceEntryIds: ["e1"] },
        ],
      },
    });
  });

  it("that memory has already is pinned instead", () => {
    expect(note(memory, ferry.content).entries).toEqual(pin(memory, ferry.id).entries);
  });

  it.each([
    ["empty", memory, " \n ", /^\/om:note TEXT/],
    ["too long", memory, "word ".repeat(500), /Say it shorter/],
    ["before the first message", memoryOf([]), "hello", /write to the agent first/],
  ])("%s", (_what, where, text, words) => {
    expect(note(where, text)).toMatchObject({ entries: [], words: expect.stringMatching(words) });
  });

  it("does not pass for something that was observed", () => {
    const fresh = [user("e1", "hello")];
    const [made] = note(memoryOf(fresh), "Times are in minutes.").entries;
    const { session } = sessionOfEntries([...fresh, custom("n", made?.customType ?? "", made?.data)]);
    expect(session.ledger.watermarks.observe).toBe(-1);
    expect(session.ledger.counts.active).toBe(1);
  });
});

it("has nothing to take back where nothing was done by hand", () => {
  expect(undo(memory).entries).toEqual([]);
  expect(unpin(memory, ferry.id)).toMatchObject({ entries: [], words: expect.stringMatching(/^Not pinned/) });
});
