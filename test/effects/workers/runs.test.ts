import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { recordingsDir } from "../../../src/host/pi/recording/session-recorder.ts";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { createReplay } from "../../../src/machines/recording/replay.ts";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import { memoryId } from "../../../src/reducers/ledger/memory-id.ts";
import { type FakePi, fakePi, ticks } from "../../support/programs/fake-pi.ts";
import type { FakeRequest } from "../../support/programs/fake-request.ts";
import { observationOf, observed } from "../../support/sessions/builders.ts";

const SETTINGS = {
  observeAfterTokens: 400,
  reflectAfterTokens: 100_000,
  compactAfterTokens: 100_000,
  workerTimeoutMs: 5000,
};
/** Four hundred tokens by Pi's estimate; two of them do not fit the smallest chunk. */
const LONG = "word ".repeat(320);

let pi: FakePi;

function start(changes: Record<string, unknown> = {}): void {
  pi = fakePi({ ...SETTINGS, ...changes });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-01-15T09:00:00.000Z") });
});
afterEach(async () => {
  await pi.dispose();
  expect(pi.staleUses).toEqual([]);
  vi.useRealTimers();
});

async function turn(): Promise<void> {
  pi.memory.turnEnded();
  await ticks();
}

/** The latest request, which must still wait for its answer. */
function waiting(tool: string): FakeRequest {
  const request = pi.requests.at(-1);
  if (request?.tool !== tool || request.answered) throw new Error(`no ${tool} request waits`);
  return request;
}

/** Lets the run that waits record this much and end. */
async function answer(tool: string, args: Parameters<FakeRequest["call"]>[0]): Promise<void> {
  waiting(tool).call(args);
  await ticks();
  waiting(tool).say("done");
  await ticks();
}

const observe = (content: string, ...sourceEntryIds: string[]) =>
  answer("record_observations", { observations: [{ content, relevance: "medium", sourceEntryIds }] });
const reflect = (content: string, ...supportingObservationIds: string[]) =>
  answer("record_reflections", { reflections: [{ content, supportingObservationIds }] });

/** The data of the branch's memory entries, oldest first. */
function ledger(): Record<string, unknown>[] {
  return pi.branch().flatMap((entry) => {
    const { customType, data } = entry as { customType?: string; data?: Record<string, unknown> };
    return customType?.startsWith("om.") && customType !== "om.cost" && data ? [data] : [];
  });
}

function observationId(index: number): string {
  const observations = (ledger()[index]?.observations ?? []) as { id: string }[];
  return observations[0]?.id ?? "";
}

/** The last source entry that a prompt shows. */
function sourceIn(prompt: string): string | undefined {
  return [...prompt.matchAll(/\[Source entry id: (\S+)\]/g)].at(-1)?.[1];
}

/** How a lane stands, as `/om:lanes` says. */
async function lane(name: string): Promise<string | undefined> {
  return new RegExp(`^${name} +(\\S+(?: \\S+)*)`, "m").exec(await pi.lanes())?.[1];
}

describe("a result", () => {
  it("is appended with the watermark that its run read through", async () => {
    start();
    const said = pi.user(LONG);
    await turn();
    pi.user("more, in the meantime");
    await observe("The user says word.", said);
    expect(ledger()).toMatchObject([
      { coversUpToId: said, observations: [{ content: "The user says word.", sourceEntryIds: [said] }] },
    ]);
    expect(await pi.lanes()).toContain("recorded 1 observation");
  });

  it("stands when what it took cannot be written after it, and the spend is said to be more than is known", async () => {
    start();
    const said = pi.user(LONG);
    await turn();
    pi.refuses = "om.cost";
    await observe("The user says word.", said);
    expect(ledger()).toHaveLength(1);
    expect(await pi.lanes()).toMatch(/recorded 1 observation/);
    expect(await pi.lanes()).toMatch(/^spend +—/m);
  });

  it("drops what its records supersede right after them, and the next run reads neither as memory", async () => {
    start();
    const asked = pi.user(LONG);
    await turn();
    await observe("Not known yet: does the build pass?", asked);
    const open = observationId(0);
    const told = pi.user(LONG);
    await turn();
    expect(waiting("record_observations").prompt).toContain(`[${open}]`);
    await answer("record_observations", {
      observations: [
        { content: "The build passes.", relevance: "high", sourceEntryIds: [told], supersedes: [open] },
        {
          content: "It is Friday.",
          relevance: "low",
          sourceEntryIds: [told],
          supersedes: [memoryId("Elsewhere.")],
        },
      ],
    });
    const passes = memoryId("The build passes.");
    expect(ledger().slice(1)).toEqual([
      { observations: [expect.objectContaining({ id: passes })], coversUpToId: told },
      { observationIds: [open], coversUpToId: told, reason: "superseded", supersededBy: { [open]: passes } },
    ]);
    expect(await pi.lanes()).toContain("recorded 1 observation");
    expect(await pi.lanes()).toMatch(/1 active observation, 0 reflections, 1 dropped/);
    pi.user(LONG);
    await turn();
    expect(waiting("record_observations").prompt).toContain(`[${passes}]`);
    expect(waiting("record_observations").prompt).not.toContain(`[${open}]`);
  });

  it("replaces reflections with an entry for each new one", async () => {
    start({ observeAfterTokens: 1, reflectAfterTokens: 1 });
    const said = pi.user("hello");
    await turn();
    await observe("The user says hello.", said);
    const hello = observationId(0);
    await turn();
    await reflect("The user is polite.", hello);
    const more = pi.user("hello again");
    await turn();
    await observe("The user says hello again.", more);
    await turn();
    const polite = memoryId("The user is polite.");
    const replaces = [polite];
    await answer("record_reflections", {
      reflections: [{ content: "The user greets each time.", supportingObservationIds: [hello], replaces }],
    });
    expect(ledger().at(-1)).toEqual({
      ...{ reflectionIds: [polite], replacedBy: memoryId("The user greets each time.") },
      ...{ kind: "replaced", coversUpToId: more },
    });
    expect(await pi.lanes()).toMatch(/2 active observations, 1 reflection, 0 dropped/);
  });

  it("is dropped when its watermark is not on the branch any more", async () => {
    start();
    const first = pi.user("hello");
    const second = pi.user(LONG);
    await turn();
    pi.moveTo(first);
    await observe("The user says word.", second);
    expect(ledger()).toEqual([]);
    expect(await pi.lanes()).toContain("last  stale");
    expect(await lane("observer")).toBe("idle");
  });

  it("that found nothing stands for no branch that lacks what was observed before it", async () => {
    start({ observerChunkMaxTokens: 500 });
    const [first, second] = [pi.user(LONG), pi.user(LONG)];
    await turn();
    await observe("The user says word.", first);
    // The rest is read at once; meanwhile the branch is left for one on which nothing is observed.
    pi.moveTo(second);
    waiting("record_observations").say("Nothing worth recording.");
    await ticks();
    await turn();
    expect(waiting("record_observations").prompt).toContain(`[Source entry id: ${first}]`);
  });

  it("stands when the branch that was moved to has its watermark", async () => {
    start();
    const first = pi.user(LONG);
    await turn();
    pi.user("this is taken back");
    pi.moveTo(first);
    await observe("The user says word.", first);
    expect(ledger()).toMatchObject([{ coversUpToId: first }]);
  });

  it("is dropped when the branch has its watermark, but not the coverage that it goes on from", async () => {
    start({ observerChunkMaxTokens: 500 });
    const first = pi.user(LONG);
    const second = pi.user(LONG);
    await turn();
    await observe("One.", first);
    await turn();
    // Before the ledger entry of the first run: taken for covered, the first entry would never be observed here.
    pi.moveTo(second);
    await observe("Two.", second);
    expect(ledger()).toEqual([]);
    expect(await lane("observer")).toBe("due");
    await turn();
    expect(waiting("record_observations").prompt).toContain(first);
  });

  it("is dropped when an entry stands on the branch that was omitted where the run read", async () => {
    start();
    const omitted = pi.user("not to be read");
    const said = pi.user(LONG);
    pi.append({ type: "context_edit", targetId: omitted, replacement: null });
    await turn();
    expect(waiting("record_observations").prompt).not.toContain(omitted);
    pi.moveTo(said);
    await observe("The user says word.", said);
    expect(ledger()).toEqual([]);
    await turn();
    expect(waiting("record_observations").prompt).toContain(omitted);
  });

  it("of nothing does not stand for an entry that was put back since", async () => {
    start({ observerChunkMaxTokens: 900 });
    const hidden = pi.user(LONG);
    pi.append({ type: "context_edit", targetId: hidden, replacement: null });
    pi.user(LONG);
    await turn();
    waiting("record_observations").say("done");
    await ticks();
    pi.append({ type: "context_edit", targetId: hidden, replacement: { content: LONG } });
    // More than one chunk: reading would go on behind what was judged.
    for (let n = 0; n < 3; n++) pi.user(LONG);
    await turn();
    expect(waiting("record_observations").prompt).toContain(hidden);
    // Judged again, it is not read for ever.
    waiting("record_observations").say("done");
    await ticks();
    for (let n = 0; n < 4; n++) pi.user(LONG);
    await turn();
    expect(waiting("record_observations").prompt).not.toContain(hidden);
  });

  it("stands when an entry that was read is omitted meanwhile", async () => {
    start();
    const said = pi.user(LONG);
    const omitted = pi.user("taken back");
    await turn();
    pi.append({ type: "context_edit", targetId: omitted, replacement: null });
    await observe("The user says word.", said);
    expect(ledger()).toMatchObject([{ coversUpToId: omitted }]);
  });

  it("is dropped when the observations that a reflection rests on are not on the branch", async () => {
    start({ reflectAfterTokens: 100 });
    const said = pi.user(LONG);
    await turn();
    await observe("One.", said);
    await turn();
    const id = observationId(0);
    pi.moveTo(said);
    await reflect("Ones matter.", id);
    expect(ledger()).toEqual([]);
    expect(await pi.lanes()).toContain("reflector stale");
  });

  it("is dropped when the observations that it wants dropped are not on the branch", async () => {
    start({ reflectAfterTokens: 100, observationsPoolMaxTokens: 10, observationsPoolTargetTokens: 1 });
    const said = pi.user(LONG);
    await turn();
    await observe("One long observation of what the user said.", said);
    await turn();
    const id = observationId(0);
    await reflect("Ones matter.", id);
    pi.moveTo(said);
    await answer("drop_observations", { observationIds: [id] });
    expect(ledger()).toEqual([]);
    expect(await pi.lanes()).toContain("dropper stale");
  });

  it("of nothing says nothing about a branch that it did not read", async () => {
    start();
    const first = pi.user("hello");
    pi.user(LONG);
    await turn();
    pi.moveTo(first);
    pi.user(LONG);
    await turn();
    waiting("record_observations").say("Nothing worth recording.");
    await ticks();
    expect(await lane("observer")).toBe("due");
  });
});

describe("closing a session", () => {
  it("aborts the request, appends nothing and never touches what Pi has taken back", async () => {
    start();
    const said = pi.user(LONG);
    await turn();
    const request = waiting("record_observations");
    await pi.close("new");
    expect(request.aborted).toBe(true);
    request.call({ observations: [{ content: "Late.", relevance: "low", sourceEntryIds: [said] }] });
    await ticks();
    expect(ledger()).toEqual([]);
    expect(pi.notices).toEqual([]);
  });

  it("makes no request of a run that was about to start", async () => {
    start();
    pi.user(LONG);
    pi.memory.turnEnded();
    await pi.close("reload");
    await ticks();
    expect(pi.requests).toEqual([]);
  });

  it("leaves what an empty result stands for to the next opening of the session", async () => {
    start();
    pi.user(LONG);
    await turn();
    waiting("record_observations").say("Nothing worth recording.");
    await ticks();
    await pi.reopen("reload");
    await turn();
    expect(pi.requests).toHaveLength(1);
    expect(await lane("observer")).toBe("cooling down");
    pi.user(LONG);
    await turn();
    expect(pi.requests).toHaveLength(2);
  });

  it("leaves the delay after a failure to the next opening, and nothing to another session", async () => {
    start();
    pi.user(LONG);
    await turn();
    waiting("record_observations").fail("400: bad request");
    await ticks();
    expect(pi.notices).toHaveLength(1);
    await pi.reopen("reload");
    await turn();
    expect(pi.requests).toHaveLength(1);
    expect(await lane("observer")).toBe("backing off");

    await pi.openAnother("new");
    pi.user(LONG);
    await turn();
    expect(pi.requests).toHaveLength(2);
  });

  it("of a session whose run it aborted lets the next opening run at its next trigger", async () => {
    start();
    pi.user(LONG);
    await turn();
    await pi.reopen("reload");
    expect(await lane("observer")).toBe("due");
    await turn();
    expect(pi.requests).toHaveLength(2);
  });
});

describe("a screen that cannot be drawn on", () => {
  it("keeps no run from being started and recorded", async () => {
    start();
    pi.hasBrokenScreen = true;
    const said = pi.user(LONG);
    await turn();
    await observe("The user says word.", said);
    expect(ledger()).toHaveLength(1);
  });
});

describe("a recording", () => {
  it("replays to the same decisions across a reload that keeps how the lanes stand", async () => {
    start({ debugLog: true });
    pi.user(LONG);
    await turn();
    waiting("record_observations").say("Nothing worth recording.");
    await ticks();
    await pi.reopen("reload");
    pi.user(LONG);
    await turn();
    expect(pi.requests).toHaveLength(2);
    await pi.close("quit");
    const file = join(recordingsDir(pi.dir), `${pi.sessionId}.ndjson`);
    const replayed = createReplay();
    for (const line of readFileSync(file, "utf8").trimEnd().split("\n"))
      replayed.take(parseRecordingLine(line));
    const { verification } = replayed.end();
    expect(verification.difference).toBeUndefined();
    expect(verification).toMatchObject({ unverified: 0 });
    expect(verification.decisions).toBeGreaterThan(5);
  });
});

describe("a compaction", () => {
  /** A session that is over its threshold, and of which something is remembered. */
  function remembering(): void {
    start({ observeAfterTokens: 100_000, compactAfterTokens: 100 });
    const said = pi.user(LONG);
    const observations = [observationOf("The user says word.", { sourceEntryIds: [said] })];
    pi.append({
      type: "custom",
      customType: "om.observations.recorded",
      data: { observations, coversUpToId: said },
    });
  }

  it("is asked for when Pi is idle, and reported once when Pi refuses", async () => {
    remembering();
    pi.memory.agentSettled(false);
    expect(pi.compactions).toHaveLength(1);
    pi.memory.compactFailed(false, "Nothing to compact");
    pi.compactions[0]?.(new Error("Nothing to compact"));
    expect(pi.notices).toEqual([expect.stringContaining("Nothing to compact")]);
    expect(await lane("compaction")).toBe("backing off");
  });

  it("is not asked for while something goes on that it would interrupt, but at the next settling", async () => {
    remembering();
    pi.isIdle = false;
    pi.memory.agentSettled(false);
    expect(pi.compactions).toEqual([]);
    expect(await lane("compaction")).toBe("due");
    pi.isIdle = true;
    pi.memory.agentSettled(false);
    expect(pi.compactions).toHaveLength(1);
    expect(pi.notices).toEqual([]);
  });

  it("that Pi refuses after the session was closed is nobody's business", async () => {
    remembering();
    pi.memory.agentSettled(false);
    await pi.close("new");
    pi.compactions[0]?.(new Error("This extension ctx is stale"));
    expect(pi.notices).toEqual([]);
  });

  it("is left to Pi while nothing is remembered", async () => {
    start({ observeAfterTokens: 100_000, compactAfterTokens: 100 });
    pi.user(LONG);
    pi.memory.agentSettled(false);
    expect(pi.compactions).toEqual([]);
    expect(await pi.lanes()).toContain("nothing to fold yet, so compacting is left to Pi's own limit");
  });
});

describe("an observer that reads less at a time than a session brings", () => {
  it("reads on until it has caught up, says once that it is behind, and stops nobody", async () => {
    start({ observerChunkMaxTokens: 500, compactAfterTokens: 2000, compactionGapMaxTokens: 100 });
    const said = Array.from({ length: 12 }, () => pi.user(LONG));
    await turn();
    expect(await pi.lanes()).toContain("observer");
    for (const id of said) await observe(`The user says word, as ${id}.`, id);
    expect(ledger()).toHaveLength(said.length);
    expect(pi.requests.at(-1)?.answered).toBe(true);
    expect(pi.notices.filter((notice) => /tokens of this session are not observed yet/.test(notice))).toEqual(
      [expect.stringContaining("4,400 tokens")],
    );
  });
});

describe("a model that takes less than Pi thinks", () => {
  it("is found out once: later runs keep to what passes, with no further refusal and no further warning", async () => {
    start();
    const said = pi.user(LONG);
    const observations = Array.from({ length: 300 }, (_, n) =>
      observationOf(`Module number ${n} of the project is released on Fridays after its nightly build.`, {
        sourceEntryIds: [said],
      }),
    );
    pi.append({ ...observed("", observations, said) });
    const refused: number[] = [];
    for (let recorded = 0; recorded < 5; ) {
      const next = pi.user(LONG);
      await turn();
      const request = waiting("record_observations");
      if (estimateTextTokens(request.prompt) > 3000) {
        refused.push(recorded);
        request.fail("400 the request exceeds the available context size");
        await ticks();
        vi.setSystemTime(Date.now() + 11 * 60_000);
      } else await observe(`Remark ${recorded++}.`, sourceIn(request.prompt) ?? next);
    }
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every((recorded) => recorded === 0)).toBe(true);
    expect(pi.notices.filter((notice) => notice.includes("failed"))).toHaveLength(1);
  });
});

describe("no model", () => {
  it("is a failure with one warning, and mended by a model that appears", async () => {
    start();
    pi.hasModel = false;
    const said = pi.user(LONG);
    await turn();
    expect(pi.notices).toEqual([expect.stringContaining("the session has no model")]);
    vi.setSystemTime(Date.now() + 30_000);
    await turn();
    expect(await lane("observer")).toBe("backing off");
    expect(pi.notices).toHaveLength(1);
    pi.hasModel = true;
    vi.setSystemTime(Date.now() + 60_000);
    await turn();
    await observe("The user says word.", said);
    expect(ledger()).toHaveLength(1);
  });
});
