import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runPi } from "../../demo/pi/pi-launch.ts";
import { EXTENSION, lanesAtRest, NEVER, openWorld, prose, type World, waitFor, withPi } from "./harness.ts";

const agent = (_request: unknown, nth: number) => ({ text: prose(600, nth) });

/** The texts that Pi was asked to show in its footer, oldest first; null where it was cleared. */
function footers(world: World): (string | null)[] {
  return world.pi.uiRequests
    .filter(({ method, statusKey }) => method === "setStatus" && statusKey === "om")
    .map(({ statusText }) => statusText ?? null);
}

function notices(world: World): string[] {
  return world.pi.uiRequests
    .filter(({ method }) => method === "notify")
    .map(({ message }) => String(message));
}

describe("the windows through RPC", { timeout: 60_000 }, () => {
  let world: World;

  beforeAll(async () => {
    world = await openWorld({ memory: NEVER, script: { agent } });
  }, 60_000);
  afterAll(() => world.close());

  it("says so when there is nothing to observe yet", async () => {
    expect((await world.pi.command("/om:run")).join("\n")).toMatch(/nothing to observe/);
  });

  it("shows the clocks in the footer as plain text, only when they read differently", async () => {
    await world.pi.prompt("The ferry in bay 4 must never leave before 4:30.");
    await lanesAtRest(world.pi);
    const shown = footers(world);
    expect(shown.length).toBeGreaterThan(0);
    for (const [at, text] of shown.entries()) {
      expect(text).toMatch(/^om observe .{5} reflect .{5} compact .{5}/);
      if (at > 0) expect(text).not.toBe(shown[at - 1]);
    }
  });

  it("runs the observer on request: progress first, then the result, once", async () => {
    await world.pi.command("/om:run observer");
    await waitFor(
      () => notices(world).some((text) => /observer recorded/.test(text)),
      "the observer's result",
    );
    const told = notices(world).filter((text) => /^Memory: the observer/.test(text));
    expect(told[0]).toMatch(/the observer runs now/);
    expect(told[1]).toMatch(/the observer recorded \d+ observations? \(2 requests, [\d,]+ in, [\d,]+ out/);
    expect(told).toHaveLength(2);
    expect(footers(world).some((text) => text?.includes("observing…"))).toBe(true);
    expect((await world.pi.command("/om:run observer")).join("\n")).toMatch(/nothing to observe/);
  });

  it("runs the reflector, and again when there is nothing new", async () => {
    const before = notices(world).length;
    await world.pi.command("/om:run reflector");
    await waitFor(
      () =>
        notices(world)
          .slice(before)
          .some((text) => /reflector (recorded|found)/.test(text)),
      "the reflector's result",
    );
  });

  it("names what it does not know", async () => {
    expect((await world.pi.command("/om:run dishes")).join("\n")).toMatch(/does not know "dishes"/);
  });

  it("shows the lanes as plain text", async () => {
    const text = (await world.pi.command("/om:lanes")).join("\n");
    for (const word of ["observer", "reflect/drop", "compaction", "why", "spend", "model"])
      expect(text).toContain(word);
    expect(text.includes(String.fromCharCode(27))).toBe(false);
  });

  it("opens no browser and makes no error", async () => {
    expect((await world.pi.command("/om:inspect")).join("\n")).toMatch(/http:\/\/127\.0\.0\.1:\d+\/\?token=/);
    expect(world.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
    expect(world.pi.stderr).toBe("");
  });

  it("clears the footer when the session ends", async () => {
    await world.pi.command("/test:reload");
    await waitFor(() => footers(world).includes(null), "the footer to be cleared");
  });
});

describe("the windows elsewhere", { timeout: 60_000 }, () => {
  it("print text and wait for a run in print mode", async () => {
    await withPi({ memory: NEVER, script: { agent } }, async (world) => {
      await world.pi.prompt("The ferry in bay 4 must never leave before 4:30.");
      const session = await world.pi.sessionFile();
      await world.pi.stop();
      // Pi keeps standard output for the answer and sends what extensions print to standard error.
      const print = async (command: string) => {
        const { code, stdout, stderr } = await runPi({ ...world.launch, session }, ["-p", command]);
        expect(code).toBe(0);
        return stdout + stderr;
      };
      expect(await print("/om:lanes")).toMatch(/observer +idle/);
      expect(await print("/om:run observer")).toMatch(/the observer recorded \d/);
      expect(await print("/om:inspect")).toMatch(/needs a Pi that stays/);
    });
  });

  const oldest = process.env.PI_OLDEST_DIR;
  it.skipIf(oldest === undefined)("work on the oldest Pi", async () => {
    await withPi(
      { memory: NEVER, script: { agent }, ...(oldest && { piDir: oldest }), extension: EXTENSION },
      async (world) => {
        await world.pi.prompt("The ferry in bay 4 must never leave before 4:30.");
        await lanesAtRest(world.pi);
        expect(footers(world).at(-1)).toMatch(/observe/);
        expect((await world.pi.command("/om:lanes")).join("\n")).toContain("spend");
        expect(world.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
      },
    );
  });
});
