import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { MemorySession } from "../memory-session.ts";
import type { HandCommand } from "./hand-commands.ts";

const DESCRIPTIONS: Readonly<Record<HandCommand, string>> = {
  pin: "Memory: keep a line for good (type some of its words, pick it)",
  unpin: "Memory: let a pinned line go like any other",
  forget: "Memory: take a line out, with a reason if you like",
  note: "Memory: keep a fact as you say it",
  promote: "Memory: move lines into this project's AGENTS.md, after a look at the change",
  undo: "Memory: take back what you did last by hand",
};

interface Registration {
  /** Does something with the session's memory; a fault of ours goes no further. */
  attempt: (ctx: ExtensionContext, act: (session: MemorySession) => Promise<void>) => Promise<void>;
  /** The session's memory if it is loaded: a completion waits for nothing. */
  loaded: () => Promise<MemorySession | undefined>;
}

/** Registers the commands by which the user corrects memory. */
export function registerHandCommands(pi: ExtensionAPI, { attempt, loaded }: Registration): void {
  for (const command of Object.keys(DESCRIPTIONS) as HandCommand[]) {
    const picksLine = command !== "note" && command !== "undo";
    pi.registerCommand(`om:${command}`, {
      description: DESCRIPTIONS[command],
      ...(picksLine && {
        getArgumentCompletions: async (typed: string) => {
          try {
            return (await loaded())?.hand.completions(command, typed) ?? null;
          } catch {
            return null;
          }
        },
      }),
      handler: (args, ctx) => attempt(ctx, (session) => session.hand.act(command, args, ctx)),
    });
  }
}
