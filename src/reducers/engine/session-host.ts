import { z } from "zod";
import type { Settings } from "../settings.ts";
import type { LaneName } from "./lane-names.ts";

/** What a session lives in, as far as memory does less in some of them. */
export const SessionHostSchema = z.object({
  /** `child`: kept, and its file names a parent, as that of a fork does. `inMemory`: not kept in a file at all. */
  kept: z.enum(["file", "child", "inMemory"]),
  /** Pi answers and ends (print and JSON mode). */
  print: z.boolean(),
});
export type SessionHost = z.infer<typeof SessionHostSchema>;

/** A session that a user has opened; also that of recordings that do not say. */
export const PLAIN_HOST: SessionHost = { kept: "file", print: false };

interface Hosted {
  readonly settings: Settings;
  readonly host: SessionHost;
}

/** What memory does in a session: everything, only what it is asked for, or not even that for compactions. */
export function memoryMode({ settings, host }: Hosted): "on" | "fold" | "off" {
  if (host.kept === "file") return "on";
  return settings.subagents ?? (host.kept === "inMemory" ? "fold" : "on");
}

/** The setting, with its value, for which a lane does nothing by itself; undefined when it works. */
export function whyPassive(hosted: Hosted, lane: LaneName): string | undefined {
  const { settings, host } = hosted;
  if (settings.passive) return "passive: true";
  const mode = memoryMode(hosted);
  if (mode !== "on") return `subagents: ${mode}`;
  if (lane !== "compaction" && host.print && settings.printWaitMs === 0) return "printWaitMs: 0";
  return undefined;
}
