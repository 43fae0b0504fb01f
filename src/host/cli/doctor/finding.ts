import { existsSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { readJson } from "../input/surroundings.ts";

/** One thing that the doctor looked at: a line of `memory-lanes doctor --json`. */
export const FindingSchema = z.object({
  type: z.literal("finding"),
  check: z.enum(["pi", "extension", "settings", "model", "sessions"]),
  level: z.enum(["ok", "note", "warning", "error"]),
  message: z.string(),
  /** What to do about it; for warnings and errors */
  advice: z.string().optional(),
});
export type Finding = z.infer<typeof FindingSchema>;

/** Makes the findings of one check. */
export function findingsOf(check: Finding["check"]) {
  return (level: Finding["level"], message: string, advice?: string): Finding => ({
    type: "finding",
    check,
    level,
    message,
    ...(advice !== undefined && { advice }),
  });
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The package that a file or folder belongs to: its folder with links resolved, its name and its version. */
export function packageAround(path: string): { dir: string; name: string; version: string } | undefined {
  if (!existsSync(path)) return undefined;
  for (let dir = realpathSync(path); ; dir = dirname(dir)) {
    const { name, version } = readJson(dir, "package.json");
    if (typeof name === "string") return { dir, name, version: String(version ?? "without a version") };
    if (dirname(dir) === dir) return undefined;
  }
}
