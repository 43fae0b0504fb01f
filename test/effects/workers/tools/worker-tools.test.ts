import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Collector } from "../../../../src/effects/workers/tools/collector.ts";
import {
  collectDrops,
  collectObservations,
  collectReflections,
  type KnownMemory,
} from "../../../../src/effects/workers/tools/worker-tools.ts";
import { formatLocalMinute } from "../../../../src/reducers/entries/sources.ts";
import { estimateTextTokens } from "../../../../src/reducers/entries/tokens.ts";
import { memoryId } from "../../../../src/reducers/ledger/memory-id.ts";
import {
  MemoryIdSchema,
  type Observation,
  ObservationSchema,
  type Reflection,
  ReflectionSchema,
} from "../../../../src/reducers/ledger/records.ts";

const NOON = new Date(2026, 0, 15, 12, 0).getTime();
const SOURCES = new Map([
  ["aaaa1111", NOON],
  ["bbbb2222", NOON + 3_600_000],
  // Entry ids may be all digits, which are numbers to JSON.
  ["12345678", NOON + 7_200_000],
  // Its time could not be read.
  ["timeless", 0],
]);

/** Memory in which these are active, and no other. */
const remembering = (active: readonly string[] = [], dropped: readonly string[] = []): KnownMemory => ({
  statusOf: (id) => (active.includes(id) ? "active" : dropped.includes(id) ? "dropped" : "unknown"),
  isShown: (id) => active.includes(id),
});

const [SEEN, OTHER] = ["0123456789ab", "ba9876543210"];

function observations(known: readonly string[] = []): Collector<Observation> {
  return collectObservations(SOURCES, remembering(known));
}

function record(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { content: "User likes tabs.", relevance: "high", sourceEntryIds: ["aaaa1111"], ...changes };
}

describe("observations", () => {
  it("are recorded with an id, a time and a size that are made here", () => {
    const collector = observations();
    const answer = collector.tool.accept({
      observations: [
        record({ content: "  User\n likes\ttabs. ", sourceEntryIds: ["bbbb2222", "aaaa1111", "bbbb2222"] }),
      ],
    });
    expect(answer).toMatchObject({ text: "observations[0]: recorded", isError: false });
    expect(collector.accepted).toEqual([
      {
        id: memoryId("User likes tabs."),
        content: "User likes tabs.",
        timestamp: formatLocalMinute(NOON + 3_600_000),
        relevance: "high",
        sourceEntryIds: ["bbbb2222", "aaaa1111"],
        tokenCount: estimateTextTokens("User likes tabs."),
      },
    ]);
    expect(collector.accepted[0]?.timestamp).toBe("2026-01-15 13:00");
  });

  it("are dated by the cited entries whose time is known", () => {
    const collector = observations();
    collector.tool.accept({
      observations: [
        record({ sourceEntryIds: ["timeless", "bbbb2222"] }),
        record({ content: "When?", sourceEntryIds: ["timeless"] }),
      ],
    });
    expect(collector.accepted.map(({ timestamp }) => timestamp)).toEqual([
      formatLocalMinute(NOON + 3_600_000),
      formatLocalMinute(0),
    ]);
  });

  it("supersede what the prompt shows, several at once and one only once", () => {
    const collector = collectObservations(SOURCES, remembering([SEEN, OTHER]));
    collector.tool.accept({
      observations: [
        record({ content: "Done.", supersedes: [`[${SEEN.toUpperCase()}]`, OTHER, SEEN] }),
        record({ content: "Done as well.", supersedes: SEEN }),
        record({ content: "Nothing ended.", supersedes: null }),
        record({ content: "Nothing ended either.", supersedes: [] }),
      ],
    });
    expect(collector.refusals).toEqual([]);
    expect([...collector.replaced]).toEqual([
      [SEEN, memoryId("Done.")],
      [OTHER, memoryId("Done.")],
    ]);
    for (const one of collector.accepted) expect(one).not.toHaveProperty("supersedes");
  });

  it("supersede nothing else: each refusal says why, and nothing of a refused record holds", () => {
    const [known, gone] = [memoryId("Known."), memoryId("Gone.")];
    const collector = collectObservations(SOURCES, remembering([SEEN, known], [gone]));
    const { text } = collector.tool.accept({
      observations: [
        record({ content: "New.", supersedes: [SEEN, "ffffffffffff"] }),
        record({ content: "Known.", supersedes: [known] }),
        record({ content: "Known.", supersedes: [SEEN] }),
        record({ content: "Gone." }),
        record({ content: "Gone.", supersedes: [SEEN] }),
        record({ content: "First." }),
        record({ content: "Second.", supersedes: [memoryId("First.")] }),
        record({ content: "First.", supersedes: [SEEN] }),
      ],
    });
    const refused = text.split("\n").map((line) => /refused, ([^:]+)/.exec(line)?.[1]);
    expect(refused).toEqual([
      "unknown ids in supersedes",
      "a record in supersedes has this very text",
      "this text is remembered already, so it can have no supersedes",
      "this text was remembered once and has been dropped since",
      "this text was remembered once and has been dropped since",
      undefined,
      "unknown ids in supersedes",
      "this text is remembered already, so it can have no supersedes",
      undefined,
    ]);
    expect(collector.accepted.map(({ content }) => content)).toEqual(["First."]);
    expect(collector.replaced.size).toBe(0);
  });

  it("never put an end to each other, whatever is sent: no chain and no circle comes of a run", () => {
    const texts = ["a", "b", "c", "d", "e"];
    const some = fc.subarray(texts);
    const sent = fc.array(fc.record({ content: fc.constantFrom(...texts), supersedes: some }));
    fc.assert(
      fc.property(some, some, sent, (active, droppedOnes, records) => {
        const memory = remembering(active.map(memoryId), droppedOnes.map(memoryId));
        const collector = collectObservations(SOURCES, memory);
        for (const { content, supersedes } of records) {
          const observation = record({ content, supersedes: supersedes.map(memoryId) });
          collector.tool.accept({ observations: [observation] });
        }
        const accepted = collector.accepted.map(({ id }) => id);
        for (const [id, by] of collector.replaced) {
          expect(active.map(memoryId)).toContain(id);
          expect(accepted).toContain(by);
          expect(accepted).not.toContain(id);
        }
      }),
    );
  });

  it("are judged one by one, and each refusal says why", () => {
    const collector = observations();
    const { text, isError } = collector.tool.accept({
      observations: [
        record({ content: " \n " }),
        record(),
        record({ content: "x".repeat(2001) }),
        record({ content: "a", relevance: "urgent" }),
        record({ content: "b", sourceEntryIds: [] }),
        record({ content: "c", sourceEntryIds: ["aaaa1111", "nope", "nada"] }),
        record({ content: 5 }),
        null,
      ],
    });
    expect(isError).toBe(true);
    expect(text.split("\n")).toEqual([
      "observations[0]: refused, content is empty",
      "observations[1]: recorded",
      "observations[2]: refused, content is too long: 2001 characters; at most 2000, and one fact to a record",
      expect.stringMatching(
        /^observations\[3\]: refused, malformed relevance: .*"low"\|"medium"\|"high"\|"critical"/,
      ),
      "observations[4]: refused, sourceEntryIds is empty: cite what shows it",
      "observations[5]: refused, unknown ids in sourceEntryIds: nope, nada",
      expect.stringMatching(/^observations\[6\]: refused, malformed content: .*expected string/),
      expect.stringMatching(/^observations\[7\]: refused, malformed record: .*expected object/),
      "Mend the refused ones and call the tool again with those only, or leave them out.",
    ]);
    expect(collector.accepted).toHaveLength(1);
    expect(collector.refusals).toHaveLength(7);
  });

  it("can be mended in the same run", () => {
    const collector = observations();
    collector.tool.accept({ observations: [record({ sourceEntryIds: ["nope"] })] });
    expect(collector.tool.accept({ observations: [record()] }).isError).toBe(false);
    expect(collector.accepted).toHaveLength(1);
    expect(collector.refusals).toHaveLength(1);
  });

  it("are not recorded twice, in one call, one run or one ledger; that is no refusal", () => {
    const known = memoryId("Known before.");
    const collector = observations([known]);
    const { text, isError } = collector.tool.accept({
      observations: [
        record(),
        record({ content: "User  likes tabs." }),
        record({ content: "Known before." }),
      ],
    });
    expect(isError).toBe(false);
    expect(text.split("\n").slice(1)).toEqual([
      `observations[1]: already recorded (${memoryId("User likes tabs.")}), nothing to do`,
      `observations[2]: already recorded (${known}), nothing to do`,
    ]);
    expect(collector.tool.accept({ observations: [record()] }).text).toContain("already recorded");
    expect(collector.accepted).toHaveLength(1);
    expect(collector.refusals).toEqual([]);
  });

  it("have content of up to 2000 characters", () => {
    const collector = observations();
    collector.tool.accept({ observations: [record({ content: "x".repeat(2000) })] });
    expect(collector.accepted[0]?.content).toHaveLength(2000);
  });

  it.each<[name: string, args: unknown]>([
    ["as JSON text", JSON.stringify({ observations: [record()] })],
    ["as a single record for the list", { observations: record() }],
    ["as the list in JSON text", { observations: JSON.stringify([record()]) }],
    ["as records in JSON text", { observations: [JSON.stringify(record())] }],
    ["as a bare list", [record()]],
    ["as a bare list in JSON text", JSON.stringify([record()])],
    ["as a bare record", record()],
    ["with a single id for the list", { observations: [record({ sourceEntryIds: "aaaa1111" })] }],
    ["with the ids in JSON text", { observations: [record({ sourceEntryIds: '["aaaa1111"]' })] }],
    ["with shouted relevance", { observations: [record({ relevance: " HIGH " })] }],
    ["with an id in its brackets", { observations: [record({ sourceEntryIds: ["[aaaa1111]"] })] }],
    [
      "with the whole source line",
      { observations: [record({ sourceEntryIds: ["[Source entry id: aaaa1111]"] })] },
    ],
    [
      "with fields that nobody asked for",
      { observations: [record({ id: "mine", timestamp: "now" })], note: 1 },
    ],
  ])("are understood %s", (_name, args) => {
    const collector = observations();
    expect(collector.tool.accept(args)).toMatchObject({ text: "observations[0]: recorded", isError: false });
    expect(collector.accepted).toMatchObject([{ relevance: "high", sourceEntryIds: ["aaaa1111"] }]);
  });

  it("take an id of digits only for an id, however it comes", () => {
    for (const ids of ["12345678", ["12345678"], '["12345678"]', "aaaa1111, 12345678"]) {
      const collector = observations();
      collector.tool.accept({ observations: [record({ sourceEntryIds: ids })] });
      expect(collector.accepted[0]?.sourceEntryIds).toContain("12345678");
    }
  });

  it.each<[args: unknown, reason: string]>([
    [undefined, 'no list "observations"'],
    [null, 'no list "observations"'],
    [{}, 'no list "observations"'],
    [{ observations: null }, 'no list "observations"'],
    [{ records: [] }, 'no list "observations"'],
    ["{broken", "the arguments are not valid JSON"],
    ["I would record that …", "the arguments are not valid JSON"],
  ])("are refused as a whole when the arguments are %j", (args, reason) => {
    const collector = observations();
    expect(collector.tool.accept(args)).toEqual({ text: `Nothing recorded: ${reason}.`, isError: true });
    expect(collector.refusals).toEqual([reason]);
  });

  it("may be none", () => {
    const collector = observations();
    expect(collector.tool.accept({ observations: [] }).isError).toBe(false);
    expect(collector.refusals).toEqual([]);
  });

  it.each<[name: string, args: unknown, isLast: boolean]>([
    ["true", { observations: [record()], done: true }, true],
    ["true in text", { observations: [record()], done: " True " }, true],
    ["true in JSON text", JSON.stringify({ observations: [record()], done: true }), true],
    ["true beside a bare record", record({ done: true }), true],
    ["true, and what is known already", { observations: [record(), record()], done: true }, true],
    ["true, and an empty list", { observations: [], done: true }, true],
    ["true, and nothing else", { done: true }, true],
    ["true, and no list", { observations: null, done: "true" }, true],
    ["false", { observations: [record()], done: false }, false],
    ["false in text", { observations: [record()], done: "false" }, false],
    ["missing", { observations: [record()] }, false],
    ["missing in a bare list", [record()], false],
    ["no answer to the question", { observations: [record()], done: { yes: 1 } }, false],
  ])("are the last when done is %s: no refusal", (_name, args, isLast) => {
    const collector = observations();
    const { isError, isLast: said = false } = collector.tool.accept(args);
    expect([isError, said]).toEqual([false, isLast]);
    expect(collector.refusals).toEqual([]);
  });

  it.each<[name: string, args: unknown]>([
    ["a record was refused", { observations: [record(), record({ sourceEntryIds: ["nope"] })], done: true }],
    ["the list has another name", { records: [record()], done: true }],
  ])("are not the last, done or not, when %s", (_name, args) => {
    expect(observations().tool.accept(args)).toMatchObject({ isError: true });
    expect(observations().tool.accept(args).isLast ?? false).toBe(false);
  });

  it("never quote the model in the reasons that are logged", () => {
    const collector = observations();
    const secret = "hunter2";
    collector.tool.accept({
      observations: [
        record({ relevance: secret }),
        record({ sourceEntryIds: [secret] }),
        record({ content: secret.repeat(400) }),
        { [secret]: secret },
        secret,
      ],
    });
    collector.tool.accept(secret);
    expect(collector.refusals).toHaveLength(6);
    expect(collector.refusals.join("\n")).not.toContain(secret);
  });
});

const SHOWN = ["d4e5f6a1b2c3", "123456789012"];

describe("reflections", () => {
  const shown = (id: string) => SHOWN.includes(id);

  it("replace reflections that the prompt shows, and nothing else", () => {
    const collector = collectReflections(shown, remembering([SEEN]));
    const rest = { supportingObservationIds: SHOWN };
    const { text } = collector.tool.accept({
      reflections: [
        { content: "Better.", ...rest, replaces: [SEEN] },
        { content: "Worse.", ...rest, replaces: [SHOWN[0]] },
        { content: "Best.", ...rest, replaces: [memoryId("Better.")] },
      ],
    });
    expect([...collector.replaced]).toEqual([[SEEN, memoryId("Better.")]]);
    expect(text).toContain(`reflections[1]: refused, unknown ids in replaces: ${SHOWN[0]}`);
    expect(text).toContain("reflections[2]: refused, unknown ids in replaces");
    expect(collector.accepted).toHaveLength(1);
  });

  it("rest on observations that were shown, and are not recorded twice", () => {
    const known = memoryId("Old news.");
    const collector = collectReflections(shown, remembering([known]));
    const { text } = collector.tool.accept({
      reflections: [
        { content: "User works at Acme.", supportingObservationIds: ["[D4E5F6A1B2C3]", "d4e5f6a1b2c3"] },
        { content: "Old news.", supportingObservationIds: SHOWN },
        { content: "Baseless.", supportingObservationIds: [] },
        { content: "Made up.", supportingObservationIds: ["d4e5f6a1b2c3", "ffffffffffff"] },
        { content: "Digits.", supportingObservationIds: "123456789012" },
      ],
    });
    expect(text.split("\n").slice(0, 5)).toEqual([
      "reflections[0]: recorded",
      `reflections[1]: already recorded (${known}), nothing to do`,
      "reflections[2]: refused, supportingObservationIds is empty: cite what shows it",
      "reflections[3]: refused, unknown ids in supportingObservationIds: ffffffffffff",
      "reflections[4]: recorded",
    ]);
    expect(collector.accepted).toEqual([
      {
        id: memoryId("User works at Acme."),
        content: "User works at Acme.",
        supportingObservationIds: ["d4e5f6a1b2c3"],
        tokenCount: estimateTextTokens("User works at Acme."),
      },
      expect.objectContaining({ supportingObservationIds: ["123456789012"] }),
    ]);
  });
});

describe("drops", () => {
  const ids = Array.from({ length: 5 }, (_, n) => memoryId(`observation ${n}`));
  const shown = (id: string) => ids.includes(id);

  it("are of active observations that were shown, once each", () => {
    const collector = collectDrops(shown);
    const { text } = collector.tool.accept({ observationIds: [ids[0], ids[0], "ffffffffffff", 7] });
    expect(text.split("\n").slice(0, 4)).toEqual([
      "observationIds[0]: proposed",
      `observationIds[1]: already proposed (${ids[0]}), nothing to do`,
      "observationIds[2]: refused, not an active observation shown here: ffffffffffff",
      expect.stringMatching(/^observationIds\[3\]: refused, malformed record/),
    ]);
  });

  it.each<[name: string, given: unknown]>([
    ["one id", ids[0]],
    ["one id in brackets", `[${ids[0]}]`],
    ["ids with commas", `${ids[0]}, ${ids[1]}`],
    ["JSON text", JSON.stringify(ids.slice(0, 2))],
  ])("are understood as %s", (_name, given) => {
    const collector = collectDrops(shown);
    expect(collector.tool.accept({ observationIds: given }).isError).toBe(false);
    expect(collector.accepted[0]).toBe(ids[0]);
  });
});

describe("the schemas for the model", () => {
  const tools = [observations(), collectReflections(() => true, remembering()), collectDrops(() => true)].map(
    ({ tool }) => tool,
  );

  it("have only what every server's grammar knows", () => {
    const known = ["type", "properties", "items", "required", "enum", "description"];
    const check = (schema: unknown): void => {
      if (typeof schema !== "object" || schema === null) return;
      for (const [key, value] of Object.entries(schema)) {
        expect(known).toContain(key);
        if (key === "properties") Object.values(value).forEach(check);
        else if (key === "items") check(value);
      }
    };
    for (const { parameters } of tools) check(parameters);
  });

  it("ask for the arguments that their docs name", () => {
    expect(tools.map(({ name }) => name)).toEqual([
      "record_observations",
      "record_reflections",
      "drop_observations",
    ]);
    const text = { type: "string" };
    const yesOrNo = { type: "boolean" };
    expect(tools.map(({ parameters }) => parameters)).toMatchObject([
      {
        required: ["observations", "done"],
        properties: {
          done: yesOrNo,
          observations: {
            type: "array",
            items: {
              type: "object",
              required: ["content", "relevance", "sourceEntryIds"],
              properties: {
                content: text,
                relevance: { type: "string", enum: ["low", "medium", "high", "critical"] },
                sourceEntryIds: { type: "array", items: text },
              },
            },
          },
        },
      },
      {
        required: ["reflections", "done"],
        properties: {
          done: yesOrNo,
          reflections: {
            items: {
              required: ["content", "supportingObservationIds"],
              properties: { content: text, supportingObservationIds: { type: "array", items: text } },
            },
          },
        },
      },
      {
        required: ["observationIds", "done"],
        properties: { done: yesOrNo, observationIds: { type: "array", items: text } },
      },
    ]);
  });
});

describe("whatever a model sends", () => {
  const RUNS = { numRuns: 500 };
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.constantFrom("a\nb", "a\u2028b", "\u0000", "\ud800", "[", "{", "same", " same ", "x".repeat(2001)),
  );
  const id = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...SOURCES.keys(), ...SHOWN) },
    { weight: 1, arbitrary: text },
  );
  const relevance = fc.oneof(fc.constantFrom("low", "HIGH", "critical", "none"), text);
  const ids = fc.oneof(
    fc.array(id, { maxLength: 4 }),
    id,
    fc.array(id).map((list) => JSON.stringify(list)),
  );
  /** What a model sends on a good day, so that enough is accepted to look at. */
  const good = fc.record({
    content: fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    relevance: fc.constantFrom("low", "critical"),
    sourceEntryIds: fc.array(fc.constantFrom(...SOURCES.keys()), { minLength: 1, maxLength: 4 }),
    supportingObservationIds: fc.array(fc.constantFrom(...SHOWN), { minLength: 1, maxLength: 4 }),
  });
  const item = fc.oneof(
    good,
    fc.record(
      { content: text, relevance, sourceEntryIds: ids, supportingObservationIds: ids },
      { requiredKeys: [] },
    ),
    fc
      .record({ content: text, relevance, sourceEntryIds: ids, supportingObservationIds: ids })
      .map((one) => JSON.stringify(one)),
    id,
    fc.jsonValue(),
  );
  const list = fc.oneof(fc.array(item, { maxLength: 6 }), item);
  const call = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record(
        { observations: list, reflections: list, observationIds: list },
        { requiredKeys: [] },
      ),
    },
    { weight: 1, arbitrary: list },
    { weight: 1, arbitrary: fc.anything() },
  );
  const calls = fc.array(call, { minLength: 1, maxLength: 4 });

  function send<T>(collector: Collector<T>, sent: readonly unknown[]): T[] {
    for (const args of sent) {
      const { text: answer } = collector.tool.accept(args);
      expect(answer.length).toBeGreaterThan(0);
    }
    return collector.accepted;
  }

  function expectUnique(accepted: readonly string[]): void {
    expect(new Set(accepted).size).toBe(accepted.length);
  }

  function expectOneLine(content: string): void {
    expect(content).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    expect(content).toBe(content.trim());
    expect(content.length).toBeGreaterThan(0);
    expect(content.length).toBeLessThanOrEqual(2000);
    expect(content.isWellFormed()).toBe(true);
  }

  it("no observation breaks the ledger's schema or cites what is not in the chunk", () => {
    let seen = 0;
    fc.assert(
      fc.property(calls, (sent) => {
        const accepted = send(observations(), sent);
        seen += accepted.length;
        expectUnique(accepted.map((one) => one.id));
        for (const one of accepted) {
          expect(ObservationSchema.parse(one)).toEqual(one);
          expectOneLine(one.content);
          expect(one.id).toBe(memoryId(one.content));
          expect(one.timestamp).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d$/);
          expect(one.sourceEntryIds.length).toBeGreaterThan(0);
          expectUnique(one.sourceEntryIds);
          expect(one.sourceEntryIds.every((source) => SOURCES.has(source))).toBe(true);
        }
      }),
      RUNS,
    );
    expect(seen).toBeGreaterThan(50);
  });

  it("no reflection breaks the ledger's schema or rests on what was not shown", () => {
    let seen = 0;
    fc.assert(
      fc.property(calls, (sent) => {
        const accepted = send(
          collectReflections((one) => SHOWN.includes(one), remembering()),
          sent,
        );
        seen += accepted.length;
        expectUnique(accepted.map((one: Reflection) => one.id));
        for (const one of accepted) {
          expect(ReflectionSchema.parse(one)).toEqual(one);
          expectOneLine(one.content);
          expect(one.supportingObservationIds.length).toBeGreaterThan(0);
          expect(one.supportingObservationIds.every((support) => SHOWN.includes(support))).toBe(true);
        }
      }),
      RUNS,
    );
    expect(seen).toBeGreaterThan(20);
  });

  it("no drop is of what was not shown", () => {
    let seen = 0;
    fc.assert(
      fc.property(calls, (sent) => {
        const accepted = send(
          collectDrops((one) => SHOWN.includes(one)),
          sent,
        );
        seen += accepted.length;
        expectUnique(accepted);
        for (const one of accepted) {
          expect(SHOWN).toContain(one);
          expect(MemoryIdSchema.safeParse(one).success).toBe(true);
        }
      }),
      RUNS,
    );
    expect(seen).toBeGreaterThan(20);
  });
});
