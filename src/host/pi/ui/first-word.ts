import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NAMESPACE } from "../../settings/settings.ts";

/** What a user is told who has never had memory before. */
const FIRST_WORD =
  "Memory Lanes takes notes of this session for the agent. In the line at the bottom, om is short for observational memory: a bar that is full means that its turn has come. /om:status says more.";

/** What to tell at the first terminal of this agent directory; undefined ever after, and where that cannot be remembered. */
export function firstWord(agentDir: string): string | undefined {
  const folder = join(agentDir, NAMESPACE);
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "welcomed"), "", { flag: "wx" });
    return FIRST_WORD;
  } catch {
    return undefined;
  }
}
