import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runPi } from "../../../demo/pi/pi-launch.ts";
import {
  EXTENSION,
  lanesAtRest,
  NEVER,
  openHost,
  type PiHost,
  prose,
  waitFor,
  withPi,
} from "../support/harness.ts";

const agent = (_request: unknown, nth: number) => ({ text: prose(600, nth) });

/** The texts that Pi was asked to show in its footer, oldest first; null where it was cleared. */
function footers(host: PiHost): (string | null)[] {
  return host.pi.uiRequests
    .filter(({ method, statusKey }) => method === "setStatus" && statusKey === "om")
    .map(({ statusText }) => statusText ?? null);
}

function notices(host: PiHost): string[] {
  return host.pi.uiRequests.filter(({ method }) => method === "notify").map(({ message }) => String(message));
}

describe("the windows through RPC", { timeout: 60_000 }, () => {
  let host: PiHost;

  beforeAll(async () => {
    host = await openHost({ memory: NEVER, script: { agent } });
  }, 60_000);
  afterAll(() => host.close());

  it("says so when there is nothing to observe yet", async () => {
    expect((await host.pi.command("/om:run")).join("\n")).toMatch(/nothing to observe/);
  });

  it("shows the clocks in the footer as plain text, only when they read differently", async () => {
    await host.pi.prompt("The ferry in bay 4 must never leave before 4:30.");
    await lanesAtRest(host.pi);
    const shown = footers(host);
    expect(shown.length).toBeGreaterThan(0);
    for (const [at, text] of shown.entries()) {
      expect(text).toMatch(/^om observe .{5} reflect .{5} compact .{5}/);
      if (at > 0) expect(text).not.toBe(shown[at - 1]);
    }
  });

  it("runs the observer on request: progress first, then the result, once", async () => {
    await host.pi.command("/om:run observer");
    await waitFor(
      () => notices(host).some((text) => /observer recorded/.test(text)),
      "the observer's result",
    );
    const told = notices(host).filter((text) => /^Memory: the observer/.test(text));
    expect(told[0]).toMatch(/the observer runs now/);
    expect(told[1]).toMatch(/the observer recorded \d+ observations? \(1 request, [\d,]+ in, [\d,]+ out/);
    expect(told).toHaveLength(2);
    expect(footers(host).some((text) => text?.includes("observing…"))).toBe(true);
    expect((await host.pi.command("/om:run observer")).join("\n")).toMatch(/nothing to observe/);
  });

  it("runs the reflector, and again when there is nothing new", async () => {
    const before = notices(host).length;
    await host.pi.command("/om:run reflector");
    await waitFor(
      () =>
        notices(host)
          .slice(before)
          .some((text) => /reflector (recorded|found)/.test(text)),
      "the reflector's result",
    );
  });

  it("names what it does not know", async () => {
    expect((await host.pi.command("/om:run dishes")).join("\n")).toMatch(/does not know "dishes"/);
  });

  it("shows the lanes as plain text", async () => {
    const text = (await host.pi.command("/om:lanes")).join("\n");
    for (const word of ["observer", "reflect/drop", "compaction", "why", "spend", "model"])
      expect(text).toContain(word);
    expect(text.includes(String.fromCharCode(27))).toBe(false);
  });

  it("opens no browser and makes no error", async () => {
    expect((await host.pi.command("/om:inspect")).join("\n")).toMatch(/http:\/\/127\.0\.0\.1:\d+\/\?token=/);
    expect(host.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
    expect(host.pi.stderr).toBe("");
  });

  it("clears the footer when the session ends", async () => {
    await host.pi.command("/test:reload");
    await waitFor(() => footers(host).includes(null), "the footer to be cleared");
  });
});

describe("the windows elsewhere", { timeout: 60_000 }, () => {
  it("print text and wait for a run in print mode", async () => {
    await withPi({ memory: NEVER, script: { agent } }, async (host) => {
      await host.pi.prompt("The ferry in bay 4 must never leave before 4:30.");
      const session = await host.pi.sessionFile();
      await host.pi.stop();
      // Pi keeps standard output for the answer and sends what extensions print to standard error.
      const print = async (command: string) => {
        const { code, stdout, stderr } = await runPi({ ...host.launch, session }, ["-p", command]);
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
      async (host) => {
        await host.pi.prompt("The ferry in bay 4 must never leave before 4:30.");
        await lanesAtRest(host.pi);
        expect(footers(host).at(-1)).toMatch(/observe/);
        expect((await host.pi.command("/om:lanes")).join("\n")).toContain("spend");
        expect(host.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
      },
    );
  });
});
