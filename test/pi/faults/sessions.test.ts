import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  defaultDropper,
  defaultObserver,
  defaultReflector,
  type Reply,
  type Role,
} from "../../../demo/model/scripted-model.ts";
import { readSessionFile } from "../../../demo/pi/session-file.ts";
import {
  lanesAtRest,
  NEVER,
  onlyObserver,
  openHost,
  type PiHost,
  waitFor,
  withPi,
} from "../support/harness.ts";
import { agent, expectNoErrors, laneStands, observations, runNow, warnings } from "./outcome.ts";

/** Everything runs on request; a dropper follows each reflector. The deadline is the real one, three minutes. */
const MEMORY = { ...NEVER, observationsPoolTargetTokens: 1 };
const DEFAULTS = { observer: defaultObserver, reflector: defaultReflector, dropper: defaultDropper };
const HANGS = { kind: "hang" } as const;

/** Far less than the deadline of a run, and enough for a busy machine to load the engine meanwhile. */
const QUICKLY_MS = 4000;

type Worker = "observer" | "reflector" | "dropper";

/** Brings a session to the point where a worker waits for its model for ever. */
async function letHang(host: PiHost, worker: Worker): Promise<void> {
  const { pi, model } = host;
  model.use(DEFAULTS);
  await pi.prompt("What is in the bay?");
  if (worker !== "observer") await runNow(host, "observer");
  model.use({ [worker]: () => HANGS });
  const before = model.by(worker).length;
  await pi.command(worker === "observer" ? "/om:run observer" : "/om:run reflector");
  await waitFor(() => model.by(worker).length > before, `the ${worker}'s request`);
}

/** Waits until nothing that was asked of the model is open any more, and tells how long that took. */
async function untilLetGo(host: PiHost, role: Role): Promise<void> {
  await waitFor(() => host.model.by(role).at(-1)?.aborted === true, `the ${role}'s request to be aborted`, {
    timeoutMs: 2000,
  });
}

function ledgerEntries(file: string): unknown[] {
  return readSessionFile(file).filter(({ customType }) => String(customType).startsWith("om."));
}

const MOVES: Readonly<Record<string, (host: PiHost, firstUser: string, other: string) => Promise<void>>> = {
  "/new": ({ pi }) => pi.newSession(),
  "/resume": ({ pi }, _firstUser, other) => pi.switchSession(other),
  "/fork": ({ pi }, firstUser) => pi.fork(firstUser),
  "/reload": async ({ pi }) => {
    await pi.command("/test:reload");
  },
};

describe("while a worker runs", { timeout: 60_000 }, () => {
  let host: PiHost;
  let other: string;

  beforeAll(async () => {
    host = await openHost({ memory: MEMORY, script: { agent } });
    await host.pi.prompt("This is another session.");
    other = await host.pi.sessionFile();
  }, 60_000);
  afterAll(() => host.close());

  for (const worker of ["observer", "reflector", "dropper"] as const) {
    it.each(Object.entries(MOVES))(
      `(the ${worker}) %s aborts it, and nothing is written anywhere`,
      async (_name, move) => {
        const { pi } = host;
        await pi.newSession();
        await letHang(host, worker);
        const left = await pi.sessionFile();
        const firstUser = (await pi.entries()).find(
          ({ message }) => (message as { role?: string })?.role === "user",
        );
        const [before, otherBefore] = [ledgerEntries(left), ledgerEntries(other)];

        await move(host, firstUser?.id ?? "", other);
        await untilLetGo(host, worker);
        await lanesAtRest(pi);
        expect(ledgerEntries(left)).toEqual(before);
        expect(ledgerEntries(other)).toEqual(otherBefore);
        const arrived = await pi.sessionFile();
        if (arrived !== left && arrived !== other) expect(ledgerEntries(arrived)).toEqual([]);
        expectNoErrors(host);
        expect(warnings(host)).toEqual([]);
      },
    );

    it(`(the ${worker}) quitting aborts it, and Pi does not wait`, async () => {
      await host.pi.newSession();
      await letHang(host, worker);
      const left = await host.pi.sessionFile();
      const before = ledgerEntries(left);
      const startedAt = performance.now();
      expect(await host.pi.stop()).toEqual({ code: 0, signal: null });
      expect(performance.now() - startedAt).toBeLessThan(QUICKLY_MS);
      await untilLetGo(host, worker);
      expect(ledgerEntries(left)).toEqual(before);
      expectNoErrors(host);
      await host.restart();
    });
  }

  it("the session goes on afterwards as if nothing had happened", async () => {
    await host.pi.newSession();
    await letHang(host, "observer");
    await host.pi.command("/test:reload");
    host.model.use(DEFAULTS);
    expect(await runNow(host, "observer")).toMatch(/recorded/);
    expect(await runNow(host, "reflector")).toMatch(/recorded/);
    await laneStands(host, "reflect/drop", "idle");
    expectNoErrors(host);
  });
});

describe("in the first moments of a session", { timeout: 60_000 }, () => {
  let host: PiHost;
  let session: string;

  /** A session whose observer is due at the first trigger. */
  beforeAll(async () => {
    host = await openHost({ memory: onlyObserver(1500), script: { agent, observer: () => HANGS } });
    for (const bay of [1, 2]) await host.pi.prompt(`What is in bay ${bay}?`);
    session = await host.pi.sessionFile();
    await host.pi.stop();
  }, 60_000);
  afterAll(() => host.close());

  // Before the engine is loaded, while it is, and after.
  it.each([0, 300, 450])("quitting %i ms after Pi answers ends it at once", async (ms) => {
    await host.restart({ session });
    await sleep(ms);
    const startedAt = performance.now();
    expect(await host.pi.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(QUICKLY_MS);
    expectNoErrors(host);
  });

  it.each([
    ["/new", ({ pi }: PiHost) => pi.newSession()],
    ["/reload", ({ pi }: PiHost) => pi.command("/test:reload")],
    ["/resume", ({ pi }: PiHost) => pi.switchSession(session)],
  ])("%s before and while the engine loads makes no error, and memory works", async (_name, move) => {
    await host.restart({ session });
    await move(host);
    // A turn's end sends the engine to be loaded; the next move comes while that goes on.
    await host.pi.send("prompt", { message: "What is in bay 3?" });
    await host.pi.idle();
    await move(host);
    await host.pi.prompt("What is in bay 4?");
    expect((await host.pi.command("/om:status")).join("\n")).toMatch(/observe +[\d,]+ of 1,500/);
    expectNoErrors(host);
    expect(await host.pi.stop()).toEqual({ code: 0, signal: null });
    const open = host.model.requests.filter(({ answered, aborted }) => !answered && !aborted);
    expect(open).toEqual([]);
  });
});

describe("/tree while a worker runs", { timeout: 60_000 }, () => {
  it("drops a result whose watermark is not on the new branch, and observes that branch", async () => {
    const gate = Promise.withResolvers<void>();
    const observer = async (...[request]: Parameters<typeof defaultObserver>): Promise<Reply> => {
      await gate.promise;
      return defaultObserver(request);
    };
    await withPi({ memory: onlyObserver(600), script: { agent, observer } }, async (host) => {
      const { pi, model } = host;
      await pi.prompt("What is in bay 1?");
      await waitFor(() => model.by("observer").length === 1, "the observer's request");
      const first = (await pi.entries()).find(
        ({ message }) => (message as { role?: string })?.role === "user",
      );
      await pi.command(`/test:tree ${first?.id}`);
      gate.resolve();
      await waitFor(
        async () => (await pi.command("/om:lanes")).join("\n").includes("stale"),
        "the run to end",
      );
      expect(await observations(host)).toEqual([]);

      await pi.prompt("Tell me about bay 2 instead.");
      await waitFor(async () => (await observations(host)).length > 0, "the new branch to be observed");
      const entries = await pi.entries();
      const ids = entries.map(({ id }) => id);
      const branch = new Set<unknown>();
      for (let id: unknown = ids.at(-1); id; id = entries.find((entry) => entry.id === id)?.parentId)
        branch.add(id);
      for (const { coversUpToId } of await observations(host)) expect(branch).toContain(coversUpToId);
      expectNoErrors(host);
      expect(warnings(host)).toEqual([]);
    });
  });
});
