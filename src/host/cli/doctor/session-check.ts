import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Settings } from "../../../reducers/settings.ts";
import { countOf, grouped } from "../../../reducers/words.ts";
import { sessionFiles } from "../input/session-files.ts";
import { scrubSession, secretsWords } from "../input/session-secrets.ts";
import { type Surroundings, sessionsDir } from "../input/surroundings.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { sessionHealth } from "./session-health.ts";

const finding = findingsOf("sessions");
const LATEST = 5;

/** The health of the ledger in the sessions written last. */
export function checkSessions(around: Surroundings, settings: Settings): Finding[] {
  const files = sessionFiles(around).slice(0, LATEST);
  if (files.length === 0) return [finding("note", `there are no sessions yet in ${sessionsDir(around)}`)];
  return files.flatMap(({ file }) => checkSession(file, settings));
}

function checkSession(file: string, settings: Settings): Finding[] {
  const name = basename(file);
  const { entries, observations, reflections, unobserved, problems } = sessionHealth(file, settings);
  const memory =
    observations + reflections === 0
      ? "no memory"
      : `${countOf(observations, "active observation")}, ${countOf(reflections, "reflection")}`;
  const state = `${name}: ${countOf(entries, "entry", "entries")}, ${memory}, ${grouped(unobserved)} tokens unobserved`;
  const findings = problems.map(({ message, advice }) => finding("warning", `${name}: ${message}`, advice));
  return [...(findings.length > 0 ? findings : [finding("ok", state)]), ...secretsIn(name, file)];
}

/** Pi keeps what was said as it was said; memory only does not spread it. */
function secretsIn(name: string, file: string): Finding[] {
  const secrets = secretsOf(file);
  if (!secrets || secrets.size === 0) return [];
  const advice = "revoke what is still valid; `memory-lanes scrub FILE` makes a copy without them to pass on";
  return [finding("note", `${name}: secrets stand in it: ${secretsWords(secrets)}`, advice)];
}

/** Nothing for a file that cannot be read, which is said already. */
function secretsOf(file: string): ReturnType<typeof scrubSession>["secrets"] | undefined {
  try {
    return scrubSession(readFileSync(file)).secrets;
  } catch {
    return undefined;
  }
}
