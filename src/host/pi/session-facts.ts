import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { SessionHost } from "../../reducers/engine/session-host.ts";

/** Where a session lives: whether it is kept, whose child it is, and whether Pi ends with its answer. */
export function hostOf({ sessionManager, mode }: ExtensionContext): SessionHost {
  const isChild = sessionManager.getHeader()?.parentSession !== undefined;
  return {
    kept: sessionManager.getSessionFile() === undefined ? "inMemory" : isChild ? "child" : "file",
    print: mode === "print" || mode === "json",
  };
}

/** The window of the session's model in tokens, where Pi knows it. */
export function contextWindowOf(ctx: ExtensionContext): { contextWindow?: number } {
  const contextWindow = ctx.model?.contextWindow;
  return contextWindow ? { contextWindow } : {};
}
