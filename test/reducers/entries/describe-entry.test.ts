import { estimateTokens, findCutPoint, type SessionEntry } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  contextEditOf,
  describeEntry,
  isValidCutKind,
  sourceKind,
} from "../../../src/reducers/entries/describe-entry.ts";
import type { EntryLike, EntryLookup } from "../../../src/reducers/entries/entry.ts";
import { ENTRY_KINDS, type EntryFact, EntryFactSchema } from "../../../src/reducers/entries/entry-fact.ts";
import { memoryId } from "../../../src/reducers/ledger/memory-id.ts";
import * as build from "../../support/sessions/builders.ts";
import {
  dropped,
  observation,
  observed,
  reflected,
  reflection,
  text,
} from "../../support/sessions/builders.ts";

const NOBODY: EntryLookup = () => undefined;
const entry = (type: string, fields: object = {}) => build.entry("e1", type, fields);
const message = (role: string, fields: object) => build.message("e1", role, fields);
const custom = (customType: string, data: unknown) => build.custom("e1", customType, data);

function described(given: EntryLike, lookup: EntryLookup = NOBODY): Omit<EntryFact, "id"> {
  const { id, ...fact } = describeEntry(given, lookup);
  expect(id).toBe("e1");
  return fact;
}

describe("describeEntry of conversation", () => {
  it.each<[string, EntryLike, string, number]>([
    ["user", message("user", { content: "12345" }), "user", 2],
    ["assistant", message("assistant", { content: [text("1234")] }), "assistant", 1],
    ["assistant that failed", message("assistant", { content: [], stopReason: "error" }), "assistant", 0],
    ["toolResult", message("toolResult", { content: [{ type: "image", data: "" }] }), "toolResult", 1200],
    ["custom", message("custom", { content: "12345678" }), "custom", 2],
    ["bashExecution", message("bashExecution", { command: "ls", output: "a\nb" }), "bash", 2],
    ["nothing said", message("user", { content: null }), "user", 0],
    ["custom_message", entry("custom_message", { customType: "x", content: "1234" }), "customMessage", 1],
    ["branch_summary", entry("branch_summary", { fromId: "e0", summary: "12345678" }), "branchSummary", 2],
  ])("%s", (_case, given, kind, tokens) => {
    expect(described(given)).toEqual({ kind, tokens, source: true });
  });

  it.each<[string, EntryLike]>([
    ["system prompt", message("system", { content: "You are", sections: { a: "b" } })],
    ["hidden command", message("bashExecution", { command: "ls", output: "a", excludeFromContext: true })],
    [
      "hidden command of another spelling",
      message("bashExecution", { command: "ls", output: "", excludeFromContext: 1 }),
    ],
    ["empty branch_summary", entry("branch_summary", { summary: "" })],
    ["unknown role", message("toString", { content: "x" })],
    ["no message", entry("message")],
    ["usage", entry("usage", { usage: { totalTokens: 5 } })],
    ["label", entry("label", { targetId: "e0", label: "x" })],
    ["state of an extension", entry("custom", { customType: "todo", data: { open: 1 } })],
    ["a type of a newer Pi", entry("hologram", { content: "x" })],
  ])("is nothing but an id for: %s", (_case, given) => {
    expect(described(given)).toEqual({ kind: "other", tokens: 0 });
  });
});

describe("describeEntry of a context edit", () => {
  const targets: Record<string, EntryLike> = {
    user: message("user", { content: "a long question" }),
    reply: message("assistant", { content: [text("a long reply")], stopReason: "aborted" }),
    result: message("toolResult", { toolName: "read", content: [text("a long result")] }),
    custom: message("custom", { content: "x" }),
    mail: entry("custom_message", { content: "x" }),
    bash: message("bashExecution", { command: "ls", output: "123456" }),
    summary: entry("branch_summary", { summary: "12345678" }),
    system: message("system", { content: "x" }),
    label: entry("label"),
  };
  const lookup: EntryLookup = (id) => targets[id];
  const edit = (targetId: unknown, replacement: unknown) => build.edit("e1", targetId, replacement);

  it.each(["user", "reply", "result", "custom", "mail"])("of %s counts the new content", (targetId) => {
    const fact = { kind: "contextEdit", tokens: 0 };
    expect(described(edit(targetId, { content: "12345" }), lookup)).toEqual({
      ...fact,
      edit: { targetId, tokens: 2 },
    });
    const blocks = [text("1234"), { type: "image", data: "", mimeType: "image/png" }];
    const tokens = targetId === "reply" ? 1 : 1201;
    expect(described(edit(targetId, { content: blocks }), lookup)).toEqual({
      ...fact,
      edit: { targetId, tokens },
    });
    expect(described(edit(targetId, null), lookup)).toEqual({ ...fact, edit: { targetId, tokens: null } });
  });

  it.each(["bash", "summary"])("of %s omits it, or lets it stand as it is", (targetId) => {
    expect(described(edit(targetId, null), lookup).edit).toEqual({ targetId, tokens: null });
    expect(described(edit(targetId, { content: "something long" }), lookup).edit).toEqual({
      targetId,
      tokens: 2,
    });
  });

  it.each<[string, EntryLike]>([
    ["an unknown entry", edit("nobody", null)],
    ["no entry", edit(undefined, null)],
    ["the system prompt", edit("system", null)],
    ["a label", edit("label", { content: "x" })],
    ["nothing to put in place", edit("user", undefined)],
    ["no content to put in place", edit("user", {})],
    ["content of another kind", edit("user", { content: 7 })],
    ["content that is null", edit("user", { content: null })],
  ])("says nothing of %s", (_case, given) => {
    expect(described(given, lookup)).toEqual({ kind: "contextEdit", tokens: 0 });
  });

  it("is told apart from other entries", () => {
    expect(contextEditOf(undefined)).toBeUndefined();
    expect(contextEditOf(entry("custom", { targetId: "a", replacement: null }))).toBeUndefined();
    expect(contextEditOf(edit("a", null))).toEqual({ targetId: "a", omits: true, content: undefined });
    expect(contextEditOf(edit("a", { content: [] }))).toEqual({ targetId: "a", omits: false, content: [] });
  });
});

const OBSERVATION = observation(memoryId("User ships on Friday."), ["e0"], {
  content: "User ships on Friday.",
});
const REFLECTION = reflection(memoryId("User is brief."), [OBSERVATION.id], "User is brief.");

describe("describeEntry of the ledger", () => {
  it("keeps valid records with their place in the list, counts the others, and holds no text", () => {
    const observations = [
      { ...OBSERVATION, id: "XYZ" },
      OBSERVATION,
      null,
      { ...OBSERVATION, note: "extra" },
    ];
    const fact = described(observed("e1", observations, "e0"));
    const record = { id: OBSERVATION.id, tokens: 5, relevance: "high", sources: ["e0"] };
    expect(fact).toEqual({
      kind: "ledger",
      tokens: 0,
      ledger: {
        type: "observations",
        coversUpToId: "e0",
        records: [
          { ...record, index: 1 },
          { ...record, index: 3 },
        ],
      },
      ignored: { reason: "malformed", records: 2 },
    });
    expect(JSON.stringify(fact)).not.toContain("Friday");
  });

  it("reads reflections and drops", () => {
    const reflections = described(reflected("e1", [REFLECTION], "e0"));
    expect(reflections.ledger).toEqual({
      type: "reflections",
      coversUpToId: "e0",
      records: [{ id: REFLECTION.id, tokens: 5, supports: [OBSERVATION.id], index: 0 }],
    });
    expect(reflections.ignored).toBeUndefined();
    const observationIds = [OBSERVATION.id, "not an id", 5];
    const drops = described(dropped("e1", observationIds, "e0"));
    expect(drops.ledger).toEqual({ type: "drops", coversUpToId: "e0", observationIds: [OBSERVATION.id] });
    expect(drops.ignored).toEqual({ reason: "malformed", records: 2 });
  });

  it("reads what supersedes and what replaces, by id or for all alike", () => {
    const [a, b, c] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"];
    const drops = (type: string, data: object) => {
      const { ledger } = described({ ...custom(`om.${type}.dropped`, data), parentId: "e1" });
      return ledger?.type === "drops" ? ledger : undefined;
    };
    const observationIds = [a, b, "no id"];
    const data = { observationIds, coversUpToId: "e0", reason: "superseded" };
    expect(drops("observations", { ...data, supersededBy: { [a]: c, [b]: b, [c]: a } })).toEqual({
      ...{ type: "drops", coversUpToId: "e0", observationIds: [a, b], replacedBy: { [a]: c } },
    });
    expect(drops("observations", { ...data, supersededBy: b })?.replacedBy).toEqual({ [a]: b });
    for (const by of [null, 5, [c], "?", { [a]: 5 }]) {
      expect(drops("observations", { ...data, supersededBy: by })).not.toHaveProperty("replacedBy");
    }
    const replaced = { reflectionIds: [a, b], replacedBy: c, kind: "replaced" };
    const read = { type: "drops", observationIds: [], reflectionIds: [a, b], replacedBy: { [a]: c, [b]: c } };
    expect(drops("reflections", { ...replaced, coversUpToId: "e0" })).toEqual({
      ...read,
      coversUpToId: "e0",
    });
    // Without a marker it holds from where it stands.
    expect(drops("reflections", replaced)).toEqual({ ...read, coversUpToId: "e1" });
    expect(drops("reflections", { ...replaced, coversUpToId: "" })).toBeUndefined();
  });

  it.each(["observations.recorded", "reflections.recorded", "observations.dropped", "reflections.dropped"])(
    "takes om.%s with an empty list for nothing at all: it covers nothing, and nothing of it is ignored",
    (kind) => {
      const data = {
        observations: [],
        reflections: [],
        observationIds: [],
        reflectionIds: [],
        coversUpToId: "e0",
      };
      expect(described(custom(`om.${kind}`, data))).toEqual({ kind: "other", tokens: 0 });
    },
  );

  it.each<[string, unknown]>([
    ["no data", undefined],
    ["data of another kind", "observations"],
    ["no list", { coversUpToId: "e0" }],
    ["an object for a list", { observations: { 0: OBSERVATION }, coversUpToId: "e0" }],
    ["no marker", { observations: [OBSERVATION] }],
    ["an empty marker", { observations: [OBSERVATION], coversUpToId: "" }],
    ["no readable record", { observations: [{}], coversUpToId: "e0" }],
  ])("leaves an entry out as malformed: %s", (_case, data) => {
    const ignored = { reason: "malformed", records: 1 };
    expect(described(custom("om.observations.recorded", data))).toEqual({
      kind: "other",
      tokens: 0,
      ignored,
    });
  });

  it.each(["om.observation", "om.reflection", "om.folded", "om."])(
    "leaves %s out as of version 2",
    (type) => {
      const ignored = { reason: "v2", records: 1 };
      expect(described(custom(type, { content: "x" }))).toEqual({ kind: "other", tokens: 0, ignored });
    },
  );
});

describe("describeEntry of a compaction", () => {
  const folded = build.folded({ fullFold: true, observations: [OBSERVATION] });
  const plain = { firstKeptEntryId: "e0", folded: false, fullFold: false };

  it("knows memory of ours", () => {
    const given = entry("compaction", { firstKeptEntryId: "e0", summary: "s", details: folded });
    const compaction = { firstKeptEntryId: "e0", folded: true, fullFold: true };
    expect(described(given)).toEqual({ kind: "compaction", tokens: 0, compaction });
    const pressed = entry("compaction", { firstKeptEntryId: "e0", details: { ...folded, fullFold: false } });
    expect(described(pressed).compaction).toEqual({ ...compaction, fullFold: false });
  });

  it("counts the records in it that cannot be read as ignored", () => {
    const details = { ...folded, observations: [OBSERVATION, { id: 1 }, null], reflections: [OBSERVATION] };
    const { compaction, ignored } = described(entry("compaction", { firstKeptEntryId: "e0", details }));
    expect(compaction?.folded).toBe(true);
    expect(ignored).toEqual({ reason: "malformed", records: 3 });
  });

  it.each<[string, unknown, EntryFact["ignored"]]>([
    ["none", undefined, undefined],
    ["Pi's own", { readFiles: [], modifiedFiles: [] }, undefined],
    ["another extension's", { type: "omelette" }, undefined],
    ["a type that is no text", { type: 7 }, undefined],
    ["of version 2", { type: "observational-memory", version: 3 }, { reason: "v2", records: 1 }],
    ["of another name", { type: "om.snapshot" }, { reason: "v2", records: 1 }],
    ["of a later version", { ...folded, version: 2 }, { reason: "malformed", records: 1 }],
    ["without a fold", { ...folded, fullFold: undefined }, { reason: "malformed", records: 1 }],
    ["without lists", { ...folded, reflections: "none" }, { reason: "malformed", records: 1 }],
  ])("details: %s", (_case, details, ignored) => {
    const fact = described(entry("compaction", { firstKeptEntryId: "e0", details }));
    expect(fact).toEqual({ kind: "compaction", tokens: 0, compaction: plain, ...(ignored && { ignored }) });
  });

  it("has an empty cut when the file has none", () => {
    expect(described(entry("compaction")).compaction?.firstKeptEntryId).toBe("");
  });
});

describe("describeEntry of anything", () => {
  const junk = fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true });
  const words = fc.constantFrom<unknown>(
    ...["message", "custom", "custom_message", "branch_summary", "context_edit", "compaction"],
    ...[
      "user",
      "assistant",
      "toolResult",
      "bashExecution",
      "om.observations.recorded",
      "om.folded",
      "e1",
      null,
    ],
  );
  const field = fc.oneof(junk, words);
  const odd = fc.record(
    {
      type: words,
      id: field,
      timestamp: field,
      message: fc.oneof(
        junk,
        fc.record({ role: words, content: fc.oneof(junk, fc.array(junk)) }, { requiredKeys: [] }),
      ),
      customType: words,
      data: fc.oneof(
        junk,
        fc.record({ observations: fc.array(junk), coversUpToId: field }, { requiredKeys: [] }),
      ),
      content: field,
      summary: field,
      targetId: field,
      replacement: fc.oneof(junk, fc.record({ content: field })),
      firstKeptEntryId: field,
      details: fc.oneof(junk, fc.record({ type: words, version: fc.constantFrom(1, 2), fullFold: junk })),
    },
    { requiredKeys: [] },
  );

  it("gives a valid fact, whatever the fields hold", () => {
    fc.assert(
      fc.property(odd, odd, (given, target) => {
        const fact = describeEntry(given as unknown as EntryLike, () => target as unknown as EntryLike);
        expect(EntryFactSchema.parse(fact)).toEqual(fact);
        expect(fact.source === true).toBe(sourceKind(given as unknown as EntryLike) !== undefined);
        if (!fact.source) expect(fact.tokens).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("isValidCutKind", () => {
  /** One entry of each kind of conversation. */
  const conversation: EntryLike[] = [
    message("user", { content: "x" }),
    message("assistant", { content: [text("x")] }),
    message("toolResult", { content: [text("x")] }),
    message("custom", { content: "x" }),
    message("bashExecution", { command: "ls", output: "" }),
    entry("custom_message", { content: "x" }),
    entry("branch_summary", { summary: "x" }),
  ];

  it("says what Pi's own cut rule says", () => {
    const valid = conversation.flatMap((given) => {
      const filler = Array.from({ length: 3 }, (_, n) => ({ ...entry("label"), id: `filler${n}` }));
      // Pi cuts at the first valid place, and at the start if there is none: the fillers tell the two apart.
      const entries = [
        ...filler,
        { ...message("toolResult", { content: "x" }), id: "r" },
        given,
      ] as SessionEntry[];
      const isCut = findCutPoint(entries, 0, entries.length, 1_000_000).firstKeptEntryIndex === 4;
      return isCut ? [sourceKind(given)] : [];
    });
    expect(ENTRY_KINDS.filter(isValidCutKind).sort()).toEqual(valid.sort());
    expect(valid).not.toContain("toolResult");
  });

  it("counts as Pi counts", () => {
    const message = conversation[0] as SessionEntry & { message: Parameters<typeof estimateTokens>[0] };
    expect(described(message).tokens).toBe(estimateTokens(message.message));
  });
});
