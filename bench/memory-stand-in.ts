import type { ExtensionAPI, ExtensionContext, SessionManager } from "@earendil-works/pi-coding-agent";
import * as host from "@earendil-works/pi-coding-agent";
import type { ModelAccess } from "../src/effects/workers/model/request.ts";
import { type MemorySession, openMemorySession, type PiHost } from "../src/host/pi/memory-session.ts";

/**
 * The extension's own session object over a real session manager. Only what Pi would draw or send is left out, so that
 * the numbers are ours and not the terminal's or the network's.
 */
export function openOver(manager: SessionManager): MemorySession {
  return opened(manager, { model: undefined }, host);
}

/** The same with a model for the workers, and the settings of an agent directory of its own. */
export function openWithModel(
  manager: SessionManager,
  agentDir: string,
  { model, stream }: ModelAccess,
): MemorySession {
  const streamSimple = (_model: unknown, ...request: Parameters<ModelAccess["stream"]>) => stream(...request);
  return opened(
    manager,
    { model, modelRegistry: { find: () => model, streamSimple } },
    { ...host, getAgentDir: () => agentDir },
  );
}

function opened(manager: SessionManager, models: object, pi: PiHost): MemorySession {
  const api = {
    appendEntry: (customType: string, data: unknown) => manager.appendCustomEntry(customType, data),
  };
  const ctx = {
    sessionManager: manager,
    cwd: manager.getCwd(),
    hasUI: false,
    mode: "json",
    ui: {},
    isIdle: () => true,
    isProjectTrusted: () => false,
    compact: () => {},
    ...models,
  };
  return openMemorySession(
    api as unknown as ExtensionAPI,
    ctx as unknown as ExtensionContext,
    "startup",
    () => true,
    pi,
  );
}
