import type { ExtensionAPI, ExtensionContext, SessionManager } from "@earendil-works/pi-coding-agent";
import * as host from "@earendil-works/pi-coding-agent";
import { type MemorySession, openMemorySession } from "../src/host/pi/memory-session.ts";

/**
 * The extension's own session object over a real session manager. Only what Pi would draw or send is left out, so that
 * the numbers are ours and not the terminal's or the network's.
 */
export function openOver(manager: SessionManager): MemorySession {
  const pi = {
    appendEntry: (customType: string, data: unknown) => manager.appendCustomEntry(customType, data),
  };
  const ctx = {
    sessionManager: manager,
    cwd: manager.getCwd(),
    hasUI: false,
    mode: "json",
    ui: {},
    model: undefined,
    isProjectTrusted: () => false,
    compact: () => {},
  };
  return openMemorySession(
    pi as unknown as ExtensionAPI,
    ctx as unknown as ExtensionContext,
    "startup",
    () => true,
    host,
  );
}
