import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultObserver } from "../../../demo/model/scripted-model.ts";
import { lanesAtRest, NEVER, openHost, type PiHost } from "../support/harness.ts";
import { agent, expectNoErrors, laneState, notices, observations, warnings } from "./outcome.ts";

const THRESHOLD = 2000;
/** A prompt and its answer; three of them pass the threshold. */
const TURNS_PER_THRESHOLD = 3;
const NOTHING = { text: "Nothing worth recording." };

let host: PiHost;
let bays = 0;

beforeAll(async () => {
  host = await openHost({
    memory: { ...NEVER, observeAfterTokens: THRESHOLD, reflectAfterTokens: THRESHOLD },
    script: { agent, observer: () => NOTHING, reflector: () => NOTHING },
  });
}, 60_000);
afterAll(() => host.close());

/** So many turns, each with a new trigger or two; what a run finds is known before the next one. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await host.pi.prompt(`What is in bay ${++bays}?`);
    await lanesAtRest(host.pi);
  }
}

/** Tokens on a clock, as `/om:status` has it. */
async function clock(name: "observe" | "reflect"): Promise<number> {
  const said = (await host.pi.command("/om:status")).join("\n");
  return Number(new RegExp(`^ +${name} +([\\d,]+) of`, "m").exec(said)?.[1]?.replaceAll(",", ""));
}

describe.sequential("a worker that finds nothing is asked once for each further threshold", {
  timeout: 60_000,
}, () => {
  it("as observer, in one session and across /reload", async () => {
    const { pi, model } = host;
    const asked = () => model.by("observer").length;
    await turns(3 * TURNS_PER_THRESHOLD);
    expect(asked()).toBe(3);
    expect(await laneState(host, "observer")).toBe("cooling down");
    for (let reload = 0; reload < 3; reload++) await pi.command("/test:reload");
    await turns(TURNS_PER_THRESHOLD - 1);
    expect(asked()).toBe(3);
    await pi.command("/test:reload");
    await turns(1);
    expect(asked()).toBe(4);
    expect(asked()).toBeLessThanOrEqual((await clock("observe")) / THRESHOLD);
  });

  it("as observer, once more when another process goes on, and no oftener", async () => {
    const session = await host.pi.sessionFile();
    const before = host.model.by("observer").length;
    await host.pi.stop();
    await host.restart({ session });
    await turns(TURNS_PER_THRESHOLD - 1);
    expect(host.model.by("observer").length - before).toBe(1);
    await turns(TURNS_PER_THRESHOLD);
    expect(host.model.by("observer").length - before).toBe(2);
  });

  it("as reflector, in one session and across /reload", async () => {
    const { pi, model } = host;
    await pi.newSession();
    model.use({ observer: defaultObserver });
    const asked = () => model.by("reflector").length;
    await turns(2 * TURNS_PER_THRESHOLD);
    const first = asked();
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThanOrEqual((await clock("reflect")) / THRESHOLD);
    await pi.command("/test:reload");
    await turns(2 * TURNS_PER_THRESHOLD);
    expect(asked()).toBeGreaterThan(first);
    expect(asked()).toBeLessThanOrEqual((await clock("reflect")) / THRESHOLD);
    expect((await observations(host)).length).toBeGreaterThan(2);
  });

  it("without a word to the user", () => {
    expect(warnings(host)).toEqual([]);
    expect(notices(host).filter((words) => /nothing/i.test(words))).toEqual([]);
    expectNoErrors(host);
  });
});
