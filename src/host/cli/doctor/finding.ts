import { z } from "zod";

export const LEVELS = ["ok", "note", "warning", "error"] as const;

/** One thing that the doctor looked at: a line of `memory-lanes doctor --json`. */
export const FindingSchema = z.object({
  type: z.literal("finding"),
  check: z.enum(["pi", "extension", "settings", "model", "sessions"]),
  level: z.enum(LEVELS),
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

/** Where the doctor looks. */
export interface Surroundings {
  /** Pi's agent directory */
  agentDir: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  home: string;
}
