import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type FakePi, fakePi, ticks } from "../../support/programs/fake-pi.ts";
import type { FakeRequest } from "../../support/programs/fake-request.ts";

const A = { provider: "cheap", id: "a" };
const B = { provider: "other", id: "b" };
const OUT_OF_QUOTA = '429 {"message":"You exceeded your current quota","type":"insufficient_quota"}';
const SETTINGS = {
  ...{ observeAfterTokens: 400, reflectAfterTokens: 100_000, compactAfterTokens: 100_000 },
  ...{ model: A, fallbackModels: [B], workerTimeoutMs: 60_000 },
};
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

async function turn(): Promise<string> {
  const said = pi.user(LONG);
  pi.memory.turnEnded();
  await ticks();
  return said;
}

function waiting(): FakeRequest {
  const request = pi.requests.at(-1);
  if (!request || request.answered) throw new Error("no request waits");
  return request;
}

async function fail(words: string): Promise<void> {
  waiting().fail(words);
  await ticks();
}

async function record(source: string): Promise<void> {
  const observations = [{ content: `Said at ${source}.`, relevance: "medium", sourceEntryIds: [source] }];
  waiting().call({ observations, done: true });
  await ticks();
}

const asked = () => pi.requests.map(({ model }) => model);
const costs = () =>
  pi.branch().flatMap((entry) => {
    const { customType, data } = entry as { customType?: string; data?: unknown };
    return customType === "om.cost" ? [data] : [];
  });

describe("a model that has nothing left to give", () => {
  it("is followed by the next in the same run, is left alone, and is asked first again after its rest", async () => {
    start();
    const said = await turn();
    await fail(OUT_OF_QUOTA);
    expect(asked()).toEqual(["cheap/a", "other/b"]);
    expect(waiting().prompt).toContain(said);
    await record(said);
    expect(costs()).toMatchObject([{ model: "other/b", usage: { input: 2, output: 2 } }]);
    expect(pi.notices).toEqual([
      expect.stringMatching(
        /^Memory: the observer asked other\/b instead: cheap\/a failed \(quota\): .*quota/,
      ),
      "Memory: recorded 1 observation; asked other/b after cheap/a failed (quota): 429: You exceeded your current quota",
    ]);
    expect(pi.status()).toMatch(
      /model +other\/b \(a fallback; cheap\/a rests until \d\d:\d\d:00: 429: You exceeded your current quota\)/,
    );

    const more = await turn();
    expect(asked().slice(2)).toEqual(["other/b"]);
    await record(more);

    vi.setSystemTime(Date.now() + 60_000);
    const last = await turn();
    expect(asked().slice(3)).toEqual(["cheap/a"]);
    await record(last);
    expect(pi.status()).toMatch(/model +cheap\/a \(set for the workers\)/);
    expect(pi.notices).toHaveLength(4);
  });

  it("is followed by nobody where no other is allowed, least of all by the session's own", async () => {
    start({ fallbackModels: [] });
    await turn();
    await fail(OUT_OF_QUOTA);
    expect(asked()).toEqual(["cheap/a"]);
    expect(pi.notices).toEqual([expect.stringContaining("failed and will be tried again later: 429")]);
  });

  it("is followed by the session's own where that is allowed", async () => {
    start({ sessionFallback: true, fallbackModels: [] });
    const said = await turn();
    await fail(OUT_OF_QUOTA);
    expect(asked()).toEqual(["cheap/a", "fake/fake"]);
    await record(said);
    expect(pi.status()).toContain("fake/fake (the session's own, as a fallback; cheap/a rests");
  });

  it("does not keep the others' workers from theirs", async () => {
    start({ workers: { observer: { model: { provider: "missing", id: "x" } } } });
    const said = await turn();
    expect(asked()).toEqual(["other/b"]);
    await record(said);
    expect(pi.status()).toMatch(
      /model +observer: other\/b \(a fallback; missing\/x rests until .*\)\n +reflector and dropper: cheap\/a \(set for the workers\)/,
    );
  });
});

describe("a run in which all fail", () => {
  it("fails once, with all that it took; the lane then asks the one that is back first", async () => {
    start();
    await turn();
    await fail(OUT_OF_QUOTA);
    await fail("401 Unauthorized");
    expect(asked()).toEqual(["cheap/a", "other/b"]);
    expect(await pi.lanes()).toMatch(
      /last +failed \(auth\): 401 Unauthorized; asked other\/b after cheap\/a failed \(quota\).*2 requests, 2 in, 2 out/,
    );
    expect(costs()).toMatchObject([{ model: "other/b", usage: { input: 2, output: 2 } }]);
    expect(pi.notices).toEqual([
      expect.stringMatching(
        /failed and will be tried again later: 401.* \(before that, cheap\/a failed \(quota\)/,
      ),
    ]);
    vi.setSystemTime(Date.now() + 30_000);
    const said = await turn();
    await record(said);
    expect(asked().slice(2)).toEqual(["cheap/a"]);
  });

  it("knows of it after the session is opened again", async () => {
    start();
    const said = await turn();
    await fail(OUT_OF_QUOTA);
    await record(said);
    await pi.reopen("reload");
    await turn();
    expect(asked().slice(2)).toEqual(["other/b"]);
  });
});

describe("a model that hangs", () => {
  it("is followed by the next in the run after", async () => {
    start({ workerTimeoutMs: 30 });
    await turn();
    await vi.waitFor(() => expect(pi.status()).toContain("(timeout)"));
    expect(asked()).toEqual(["cheap/a"]);
    vi.setSystemTime(Date.now() + 30_000);
    await turn();
    expect(asked().slice(1)).toEqual(["other/b"]);
  });
});

describe("no other model is asked", () => {
  it.each([
    ["too long a prompt", "400 prompt is too long: 200000 tokens > 100000 maximum"],
    ["a reply that cannot be read", "Unexpected token < in JSON"],
    ["a bad request", "400 Invalid value for tools"],
  ])("after %s", async (_what, words) => {
    start();
    await turn();
    await fail(words);
    expect(asked()).toEqual(["cheap/a"]);
    expect(pi.status()).toMatch(/model +cheap\/a \(set for the workers\)/);
  });

  it("after the run's time is over", async () => {
    start();
    await turn();
    vi.setSystemTime(Date.now() + 60_000);
    await fail(OUT_OF_QUOTA);
    expect(asked()).toEqual(["cheap/a"]);
  });

  it("after the budget is used up, of which what failed counts", async () => {
    start({ budget: { sessionTokens: 2 } });
    await turn();
    await fail(OUT_OF_QUOTA);
    expect(asked()).toEqual(["cheap/a"]);
    expect(costs()).toMatchObject([{ model: "cheap/a", usage: { input: 1, output: 1 } }]);
  });

  it("after the session is closed", async () => {
    start();
    await turn();
    const request = waiting();
    await pi.close("new");
    request.fail(OUT_OF_QUOTA);
    await ticks();
    expect(asked()).toEqual(["cheap/a"]);
  });
});
