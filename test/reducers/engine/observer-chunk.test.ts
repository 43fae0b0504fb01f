import { describe, expect, it } from "vitest";
import { type EngineState, evolve } from "../../../src/reducers/engine/engine-state.ts";
import type { Unstamped } from "../../../src/reducers/engine/events.ts";
import { observerChunk } from "../../../src/reducers/engine/observer-chunk.ts";
import { type Schedule, schedule } from "../../support/engine/schedule.ts";
import { fact, finished, stamped } from "../../support/sessions/builders.ts";

/** Four entries of 100 tokens, of which the first is observed. */
function session(): Schedule {
  const s = schedule({ observeAfterTokens: 100 });
  s.turn(100);
  s.finish("recorded");
  for (let n = 0; n < 3; n++) s.say(100);
  return s;
}

const start = (state: EngineState, maxTokens: number, emptyUpToId: string | null = null) =>
  observerChunk(state, { failures: 0, emptyUpToId }, maxTokens).start;

const stateAfter = (state: EngineState, event: Unstamped) => evolve(state, stamped(event, 99));

describe("the next observer run", () => {
  const { state } = session().engine;
  const [first, second] = [2, 4];

  it("reads from behind the watermark, an empty range with it while both fit", () => {
    expect(start(state, 1000)).toBe(first);
    expect(start(state, 300, "e4")).toBe(first);
  });

  it("reads behind an empty range that would not fit", () => {
    expect(start(state, 299, "e4")).toBe(second);
    expect(start(state, 299, "gone")).toBe(first);
    expect(start(state, 10, "e1")).toBe(first);
  });

  it("reads an empty range again that has changed since it was judged", () => {
    const judged = stateAfter(state, finished("observer-2", "observer", "empty", "e4"));
    expect(judged.emptyRange).toEqual({ upToId: "e4", tokens: 200 });
    expect(start(judged, 299, "e4")).toBe(second);
    const edit = { id: "x", kind: "contextEdit", tokens: 0, edit: { targetId: "e3", tokens: 150 } } as const;
    const edited = stateAfter(judged, { type: "branch.extended", entries: [edit] });
    expect(start(edited, 299, "e4")).toBe(first);
    const judgedAnew = stateAfter(edited, finished("observer-3", "observer", "empty", "e4"));
    expect(start(judgedAnew, 299, "e4")).toBe(second);
  });

  it("has nothing to read when all is observed", () => {
    const s = session();
    s.turn();
    s.finish("recorded");
    expect(start(s.engine.state, 1000)).toBe(-1);
  });

  it("may read half as much after each failure, but never less than the smallest chunk", () => {
    const most = (failures: number, whole: number) =>
      observerChunk(state, { failures, emptyUpToId: null }, whole).maxTokens;
    expect([0, 1, 2].map((failures) => most(failures, 4000))).toEqual([4000, 2000, 1000]);
    expect(most(9, 4000)).toBe(500);
    expect(most(9, 300)).toBe(300);
  });

  it("knows of an empty range only what the observer said", () => {
    const others = [
      finished("reflectDrop-1", "reflector", "empty", "e4"),
      finished("observer-2", "observer", "recorded", "e4"),
    ];
    for (const event of others) expect(stateAfter(state, event).emptyRange).toBeNull();
    expect(stateAfter(state, { type: "branch.replaced", branch: [fact.user("a", 1)] }).emptyRange).toBeNull();
  });
});
