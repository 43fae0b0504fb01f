import { type ExtensionAPI, type ExtensionContext, VERSION } from "@earendil-works/pi-coding-agent";
import { describe, expect, it, vi } from "vitest";
import memoryLanes, { isTooOld } from "../../../src/host/pi/extension.ts";

type Handler = (event: unknown, ctx: ExtensionContext) => unknown;

/** A Pi that has hooks, tools and commands, and a context of a version that had less to offer. */
function oldPi(more: object = {}) {
  const handlers = new Map<string, Handler>();
  const commands = new Map<string, (args: string, ctx: ExtensionContext) => unknown>();
  const notices: string[] = [];
  const pi = {
    on: (event: string, handler: Handler) => handlers.set(event, handler),
    registerTool: () => {},
    registerCommand: (
      name: string,
      { handler }: { handler: (args: string, ctx: ExtensionContext) => unknown },
    ) => commands.set(name, handler),
  };
  const ctx = {
    hasUI: true,
    cwd: "/",
    ui: { notify: (message: string) => notices.push(message) },
    modelRegistry: { find: () => undefined },
    ...more,
  } as unknown as ExtensionContext;
  memoryLanes(pi as unknown as ExtensionAPI);
  return {
    notices,
    fire: (event: string, fields: object = {}) => handlers.get(event)?.({ type: event, ...fields }, ctx),
    command: (name: string) => commands.get(name)?.("", ctx),
  };
}

describe("a Pi that is too old", () => {
  it.each([{}, { mode: "tui" }])("gets one clear line a session, and nothing else ($mode)", async (more) => {
    const pi = oldPi(more);
    await pi.fire("session_start", { reason: "startup" });
    for (const event of ["agent_start", "turn_end", "turn_end", "agent_settled"]) await pi.fire(event);
    await vi.waitFor(() => expect(pi.notices).toHaveLength(1));
    expect(pi.notices).toEqual([`Memory Lanes needs Pi 0.87.1 or newer; this is ${VERSION}.`]);
    expect(await pi.fire("session_before_compact", { preparation: {} })).toBeUndefined();
    await pi.fire("session_compact");
    await pi.fire("session_shutdown", { reason: "quit" });
    expect(pi.notices).toHaveLength(1);
  });

  it("is told from a newer one by its version, or by what it lacks", () => {
    const complete = { modelRegistry: { streamSimple: () => {} } } as unknown as ExtensionContext;
    for (const version of ["0.87.1", "0.99.1", "1.0.0", "1.6.0", "10.0.0-beta.1", "unknown"]) {
      expect(isTooOld(version, complete)).toBe(false);
      expect(isTooOld(version, {} as ExtensionContext)).toBe(true);
    }
    for (const version of ["0.87.0", "0.86.1", "0.9.12", "0.74.2"])
      expect(isTooOld(version, complete)).toBe(true);
  });
});
