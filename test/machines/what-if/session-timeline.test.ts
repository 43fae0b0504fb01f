import { describe, expect, it } from "vitest";
import { timelineOf } from "../../../src/machines/what-if/session-timeline.ts";
import { DEFAULT_SETTINGS } from "../../../src/reducers/settings.ts";
import { dropped, replaced, superseded } from "../../support/sessions/builders.ts";
import { type PlainSession, plainSession } from "../../support/sessions/plain-session.ts";

/** What happened, in words: an entry's kind, or the event without its first word. */
function told({ entries }: PlainSession, ledgerIsResult = false): string[] {
  const items = timelineOf({ sessionId: "s", entries, settings: DEFAULT_SETTINGS, ledgerIsResult });
  return items.slice(1).map(({ event, resultOf }) => {
    const words =
      event.type === "branch.extended" ? event.entries.map(({ kind }) => kind).join() : event.type;
    const aborted = event.type === "agent.settled" && event.aborted ? " aborted" : "";
    return `${words}${aborted}${resultOf === undefined ? "" : ` of ${resultOf}`}`;
  });
}

describe("the events of a plain session", () => {
  it("start with an empty branch at the time of the first entry", () => {
    const [opened] = timelineOf({
      sessionId: "s",
      entries: plainSession().user().entries,
      settings: DEFAULT_SETTINGS,
      ledgerIsResult: false,
    });
    expect(opened?.event).toMatchObject({
      type: "session.opened",
      reason: "startup",
      at: "2026-01-15T09:00:01.000Z",
      branch: [],
    });
  });

  it("are a run of one turn when the agent just answers", () => {
    expect(told(plainSession().user().assistant())).toEqual([
      "user",
      "agent.started",
      "assistant",
      "turn.ended",
      "agent.settled",
    ]);
  });

  it("end a turn when all tool results are in, and settle after the answer", () => {
    const session = plainSession()
      .user()
      .assistant(10, { calls: ["a", "b"] })
      .result("a")
      .result("b")
      .assistant();
    expect(told(session)).toEqual([
      "user",
      "agent.started",
      "assistant",
      "toolResult",
      "toolResult",
      "turn.ended",
      "assistant",
      "turn.ended",
      "agent.settled",
    ]);
  });

  it("take a message between a tool's result and the next answer for steering", () => {
    const session = plainSession()
      .user()
      .assistant(10, { calls: ["a"] })
      .result("a")
      .user()
      .assistant();
    expect(told(session).slice(4)).toEqual([
      "turn.ended",
      "user",
      "assistant",
      "turn.ended",
      "agent.settled",
    ]);
  });

  it("settle a turn that was broken off before its tools had ended", () => {
    const session = plainSession()
      .user()
      .assistant(10, { calls: ["a", "b"], stopReason: "aborted" })
      .result("a")
      .user()
      .assistant();
    expect(told(session).slice(2)).toEqual([
      "assistant",
      "toolResult",
      "turn.ended",
      "agent.settled aborted",
      "user",
      "agent.started",
      "assistant",
      "turn.ended",
      "agent.settled",
    ]);
  });

  it("do not settle between an answer that failed and its repetition", () => {
    const session = plainSession().user().assistant(0, { stopReason: "error" }).assistant();
    expect(told(session).slice(2)).toEqual([
      "assistant",
      "turn.ended",
      "assistant",
      "turn.ended",
      "agent.settled",
    ]);
  });

  it("enclose a compaction, and let a run end with a ledger entry", () => {
    const session = plainSession()
      .user()
      .assistant()
      .observed("e2")
      .compacted("e2")
      .compacted("e2", { isOurs: false });
    expect(told(session).slice(5)).toEqual([
      "ledger",
      "run.finished of e3",
      "compaction.started",
      "compaction",
      "compaction.finished",
      "compaction.started",
      "compaction",
      "compaction.finished",
    ]);
    expect(told(session, true).slice(5)).toEqual([
      "ledger of e3",
      "run.finished of e3",
      "compaction.started of e4",
      "compaction of e4",
      "compaction.finished of e4",
      "compaction.started",
      "compaction",
      "compaction.finished",
    ]);
  });

  it("take what a run's records supersede for a part of its result, and no run of the dropper", () => {
    const [old, now] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb"];
    const session = plainSession().user().assistant().observed("e2");
    const entries = [...session.entries, superseded("s", { [old]: now }, "e2"), dropped("d", [old], "e2")];
    expect(told({ ...session, entries } as PlainSession, true).slice(5)).toEqual([
      "ledger,ledger of e3",
      "run.finished of e3",
      "ledger of d",
      "run.finished of d",
    ]);
    const alone = [...plainSession().user().assistant().entries, replaced("r", [old], now, "e2")];
    expect(told({ ...session, entries: alone } as PlainSession, true).slice(5)).toEqual(["ledger"]);
  });

  it("pass over what is no message, and never go back in time", () => {
    const session = plainSession().user().wait(-3600).other("label").assistant();
    const items = timelineOf({
      sessionId: "s",
      entries: session.entries,
      settings: DEFAULT_SETTINGS,
      ledgerIsResult: false,
    });
    const times = items.map(({ event }) => Date.parse(event.at));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(told(session)).toEqual([
      "user",
      "agent.started",
      "other",
      "assistant",
      "turn.ended",
      "agent.settled",
    ]);
  });

  it("begin at the first time that an entry tells", () => {
    const entries = plainSession()
      .user()
      .assistant()
      .entries.map((entry, index) => (index === 0 ? { ...entry, timestamp: "" } : entry));
    const items = timelineOf({ sessionId: "s", entries, settings: DEFAULT_SETTINGS, ledgerIsResult: false });
    expect(new Set(items.map(({ event }) => event.at))).toEqual(new Set([entries[1]?.timestamp]));
  });

  it("say how many records a ledger entry holds", () => {
    const session = plainSession().user().assistant().observed("e2");
    const items = timelineOf({
      sessionId: "s",
      entries: session.entries,
      settings: DEFAULT_SETTINGS,
      ledgerIsResult: false,
    });
    const run = items.find(({ event }) => event.type === "run.finished")?.event;
    expect(run).toMatchObject({
      worker: "observer",
      outcome: "recorded",
      coversUpToId: "e2",
      records: 1,
      runId: "e3",
    });
  });

  it("have a time even where no entry tells one", () => {
    const entries = plainSession()
      .user()
      .assistant()
      .entries.map((entry) => ({ ...entry, timestamp: "" }));
    const items = timelineOf({ sessionId: "s", entries, settings: DEFAULT_SETTINGS, ledgerIsResult: false });
    expect(new Set(items.map(({ event }) => event.at))).toEqual(new Set(["1970-01-01T00:00:00.000Z"]));
  });
});
