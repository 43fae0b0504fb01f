import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { lastUserText } from "../../../demo/model/scripted-model.ts";
import { runPi } from "../../../demo/pi/pi-launch.ts";
import { customEntries } from "../../../demo/pi/session-file.ts";
import { OBSERVATIONS_RECORDED, type ObservationsRecorded } from "../../../src/reducers/ledger/records.ts";
import {
  lanesAtRest,
  NEVER,
  onlyObserver,
  openHost,
  type PiHost,
  prose,
  waitFor,
  withPi,
} from "../support/harness.ts";

const agent = (_request: unknown, nth: number) => ({ text: prose(700, nth) });

describe("the commands through RPC", { timeout: 30_000 }, () => {
  let host: PiHost;

  beforeAll(async () => {
    host = await openHost({ memory: { ...onlyObserver(600), debugLog: true }, script: { agent } });
  }, 30_000);
  afterAll(() => host.close());

  const observed = async () =>
    customEntries<ObservationsRecorded>(await host.pi.entries(), OBSERVATIONS_RECORDED).flatMap(
      ({ data }) => data.observations,
    );

  it("are listed with a description each", async () => {
    const { commands } = (await host.pi.send("get_commands")) as {
      commands: { name: string; description?: string }[];
    };
    for (const name of ["om:status", "om:view"]) {
      expect(commands.find((command) => command.name === name)?.description).toMatch(/\w+ \w+/);
    }
  });

  it("answer in a session that has no memory yet", async () => {
    for (const command of ["/om:status", "/om:view", "/om:view full"]) {
      expect((await host.pi.command(command)).join("\n")).toMatch(/\w/);
    }
  });

  it("show what was observed: in full memory at once, in visible memory only after a compaction", async () => {
    await host.pi.prompt("The ferry in bay 4 must never leave before 4:30.");
    await waitFor(async () => (await observed()).length > 0, "the observer to record");
    const ids = (await observed()).map(({ id }) => id);
    const full = (await host.pi.command("/om:view full")).join("\n");
    const visible = (await host.pi.command("/om:view")).join("\n");
    for (const id of ids) {
      expect(full).toContain(`[${id}]`);
      expect(visible).not.toContain(id);
    }

    for (const bay of [5, 6, 7]) {
      await host.pi.prompt(`And the one in bay ${bay}?`);
      await lanesAtRest(host.pi);
    }
    await host.pi.compact();
    const compacted = (await host.pi.command("/om:view")).join("\n");
    for (const id of ids) expect(compacted).toContain(`[${id}]`);
  });

  it("tell in status how each lane stands", async () => {
    const status = (await host.pi.command("/om:status")).join("\n");
    for (const word of [/observ/i, /reflect/i, /compact/i, /\b600\b/]) expect(status).toMatch(word);
  });

  it("make no error", () => {
    expect(host.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
    expect(host.pi.events.filter((record) => record.type === "stray_output")).toEqual([]);
    expect(host.pi.stderr).toBe("");
  });

  it("run in print mode on the same session: the answer, and memory in words", async () => {
    const session = await host.pi.sessionFile();
    const ids = (await observed()).map(({ id }) => id);
    expect(await host.pi.stop()).toEqual({ code: 0, signal: null });
    host.model.use({ agent: (request) => ({ text: `You asked: ${lastUserText(request)}` }) });

    const answer = await runPi({ ...host.launch, session }, ["-p", "What is in bay 7?"]);
    expect(answer).toMatchObject({ code: 0, stdout: "You asked: What is in bay 7?\n", stderr: "" });

    const view = await runPi({ ...host.launch, session }, ["-p", "/om:view full"]);
    expect(view.code).toBe(0);
    for (const id of ids) expect(view.stdout + view.stderr).toContain(`[${id}]`);
  });

  it("leave JSON mode's output a stream of records", async () => {
    const json = await runPi(host.launch, ["--mode", "json", "What is in bay 8?"]);
    expect(json).toMatchObject({ code: 0, stderr: "" });
    const types = json.stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toContain("agent_settled");
    expect(types).not.toContain("extension_error");
  });
});

describe("without memory", { timeout: 30_000 }, () => {
  it("leaves compaction to Pi's own summariser", async () => {
    await withPi({ memory: NEVER, script: { agent } }, async ({ pi, model }) => {
      for (const bay of [1, 2, 3, 4]) await pi.prompt(`What is in bay ${bay}?`);
      await pi.compact();
      expect(model.by("summariser").length).toBeGreaterThan(0);
      const compaction = (await pi.entries()).find((entry) => entry.type === "compaction");
      expect(compaction?.summary).toContain("the host's own summariser");
      expect(compaction?.details ?? {}).not.toMatchObject({ type: "om.folded" });
    });
  });
});
