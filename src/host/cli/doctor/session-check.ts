import { basename } from "node:path";
import { SessionFileError } from "../../../reducers/entries/session-file.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { isPartial, totalOf } from "../../../reducers/spend.ts";
import { spentWords } from "../../../reducers/spend-words.ts";
import { countOf, grouped } from "../../../reducers/words.ts";
import { sessionFiles } from "../input/session-files.ts";
import { type SecretLines, scrubSession, secretsWords } from "../input/session-secrets.ts";
import { type Surroundings, sessionsDir } from "../input/surroundings.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { readSession, sessionHealth } from "./session-health.ts";

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
  const read = readSession(file);
  const { entries, observations, reflections, unobserved, spend, problems } = sessionHealth(read, settings);
  const memory =
    observations + reflections === 0
      ? "no memory"
      : `${countOf(observations, "active observation")}, ${countOf(reflections, "reflection")}`;
  const total = totalOf(spend);
  const took = total.runs === 0 ? "" : `, ${spentWords(total, isPartial(spend))}`;
  const state = `${name}: ${countOf(entries, "entry", "entries")}, ${memory}, ${grouped(unobserved)} tokens unobserved${took}`;
  const findings = problems.map(({ message, advice }) => finding("warning", `${name}: ${message}`, advice));
  return [...(findings.length > 0 ? findings : [finding("ok", state)]), ...secretsIn(name, read)];
}

/** Pi keeps what was said as it was said; memory only does not spread it. */
function secretsIn(name: string, read: ReturnType<typeof readSession>): Finding[] {
  const secrets = secretsOf(read);
  if (secrets.size === 0) return [];
  const advice = "revoke what is still valid; `memory-lanes scrub FILE` makes a copy without them to pass on";
  return [finding("note", `${name}: secrets stand in it: ${secretsWords(secrets)}`, advice)];
}

/** None for a file that cannot be read, which is said already. */
function secretsOf(read: ReturnType<typeof readSession>): SecretLines {
  if (!Buffer.isBuffer(read)) return new Map();
  try {
    return scrubSession(read).secrets;
  } catch (error) {
    if (error instanceof SessionFileError) return new Map();
    throw error;
  }
}
