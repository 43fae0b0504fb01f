import { createWebSocketReceiver, type StatelyInspectionEvent } from "@statelyai/inspect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LANES } from "../../../src/reducers/engine/lane-names.ts";
import { lanesAtRest, openHost, type PiHost, prose, SMALL, waitFor } from "../../pi/support/harness.ts";

const SECRET = "The ferry in bay 4 must never leave before 4:30.";

/** The addresses that `/om:inspect` tells. */
async function inspect(host: PiHost) {
  const text = (await host.pi.command("/om:inspect")).join("\n");
  const [page = ""] = /http:\S+/.exec(text) ?? [];
  const [socket = ""] = /ws:\S+/.exec(text) ?? [];
  return { page, socket };
}

describe("/om:inspect in a live Pi", { timeout: 60_000 }, () => {
  let host: PiHost;
  let addresses: { page: string; socket: string };
  const messages: StatelyInspectionEvent[] = [];

  beforeAll(async () => {
    host = await openHost({
      memory: SMALL,
      script: { agent: (_request, nth) => ({ text: prose(900, nth) }) },
    });
    await host.pi.prompt(SECRET);
    await lanesAtRest(host.pi);
    addresses = await inspect(host);
    createWebSocketReceiver({ server: addresses.socket }).subscribe((message) => messages.push(message));
    await waitFor(() => messages.length >= 8, "the actors and their snapshots");
    for (const turn of [1, 2, 3]) {
      await host.pi.prompt(`Turn ${turn}. ${SECRET}`);
      await lanesAtRest(host.pi);
    }
    await waitFor(() => messages.length > 50, "messages of the turns");
  }, 60_000);
  afterAll(() => host.close());

  it("tells a late receiver of every actor by name, with its machine, then its snapshot", () => {
    const actors = messages.slice(0, 4);
    expect(actors.map((message) => message.type === "@xstate.actor" && message.name)).toEqual([
      "scheduler",
      ...LANES,
    ]);
    for (const actor of actors) {
      if (actor.type !== "@xstate.actor") continue;
      const definition: { id: string; states: object } = JSON.parse(actor.definition ?? "{}");
      expect(definition.id).toBe(actor.name);
      expect(Object.keys(definition.states).length).toBeGreaterThan(1);
      expect(actor.snapshot).toMatchObject({ status: "active" });
    }
    expect(messages.slice(4, 8).map(({ type }) => type)).toEqual(
      Array.from({ length: 4 }, () => "@xstate.snapshot"),
    );
  });

  it("tells of events and snapshots in the protocol's form, with the engine's number and time", () => {
    const names = new Map(
      messages.flatMap((m) => (m.type === "@xstate.actor" ? [[m.sessionId, m.name]] : [])),
    );
    for (const message of messages) {
      expect(names.has(message.sessionId)).toBe(true);
      expect(message).toMatchObject({
        rootId: expect.any(String),
        id: expect.any(String),
        _version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        createdAt: expect.stringMatching(/^\d{13}$/),
      });
    }
    const later = messages.slice(8);
    expect(later.every((message) => typeof Reflect.get(message, "seq") === "number")).toBe(true);
    const seen = (type: string, name: string) =>
      later.some((message) => message.type === type && names.get(message.sessionId) === name);
    for (const name of ["scheduler", ...LANES]) {
      expect(seen("@xstate.event", name), `an event to ${name}`).toBe(true);
      expect(seen("@xstate.snapshot", name), `a snapshot of ${name}`).toBe(true);
    }
    const states = later.flatMap((message) =>
      message.type === "@xstate.snapshot" && names.get(message.sessionId) === "observer"
        ? [JSON.stringify(Reflect.get(message.snapshot, "value"))]
        : [],
    );
    expect(states).toContain('"running"');
  });

  it("says nothing of what was said", () => {
    expect(JSON.stringify(messages)).not.toContain("ferry");
    for (const message of messages) {
      if (message.type !== "@xstate.snapshot") continue;
      const { context } = message.snapshot as { context?: object };
      for (const value of Object.values(context ?? {}))
        expect(["number", "boolean", "string", "object"]).toContain(typeof value);
    }
  });

  it("gives the same address to who asks again, and to the page what has happened since the session was opened", async () => {
    expect(await inspect(host)).toEqual(addresses);
    const url = new URL(addresses.page);
    const overview = await (await fetch(new URL(`/data/overview${url.search}`, url))).json();
    expect(overview).toMatchObject({ source: { kind: "live" }, hasTexts: true });
    const first = (await (await fetch(new URL(`/data/events${url.search}&count=1`, url))).json()) as {
      rows: object[];
    };
    expect(first.rows[0]).toMatchObject({ type: "session.opened", number: 1 });
  });

  it("stops with the session", async () => {
    await host.pi.command("/test:reload");
    await expect(fetch(addresses.page)).rejects.toThrow();
    expect(host.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
  });
});
