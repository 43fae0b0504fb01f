import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { clocksOf } from "../../../reducers/clocks.ts";
import { textOf } from "../../../reducers/entries/entry.ts";
import { readSessionFile, SessionFileError } from "../../../reducers/entries/session-file.ts";
import { isVisibleMemoryStale } from "../../../reducers/ledger/projections.ts";
import { sessionOfEntries } from "../../../reducers/memory.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { isPartial, type Spend, totalOf } from "../../../reducers/spend.ts";
import { spentWords } from "../../../reducers/spend-words.ts";
import { countOf, grouped } from "../../../reducers/words.ts";
import { scrubSession, secretsWords } from "../input/session-secrets.ts";
import { breakOffWords } from "../replay/replay-source.ts";
import { type Finding, findingsOf, readJson, type Surroundings } from "./finding.ts";

const finding = findingsOf("sessions");
const LATEST = 5;
/** So many thresholds behind, the observer has not just been unlucky with the moment. */
const FAR_BEHIND = 3;

/** The health of the ledger in the sessions written last. */
export function checkSessions(around: Surroundings, settings: Settings): Finding[] {
  const files = latestSessions(sessionsDir(around));
  if (files.length === 0) return [finding("note", `there are no sessions yet in ${sessionsDir(around)}`)];
  return files.flatMap((file) => checkSession(file, settings));
}

function sessionsDir({ agentDir, cwd, env }: Surroundings): string {
  const set = env.PI_CODING_AGENT_SESSION_DIR ?? textOf(readJson(agentDir, "settings.json").sessionDir);
  return set === "" ? join(agentDir, "sessions") : resolve(cwd, set);
}

function latestSessions(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return globSync("**/*.jsonl", { cwd: dir })
    .map((name) => join(dir, name))
    .flatMap((file) => {
      // A link may lead nowhere.
      const stats = statSync(file, { throwIfNoEntry: false });
      return stats?.isFile() ? [{ file, at: stats.mtimeMs }] : [];
    })
    .sort((a, b) => b.at - a.at)
    .slice(0, LATEST)
    .map(({ file }) => file);
}

function checkSession(file: string, settings: Settings): Finding[] {
  const name = basename(file);
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const why = messageOf(error);
    return [finding("warning", `${name} cannot be read: ${why}`, `see who may read ${file}`)];
  }
  try {
    return [...judge(name, bytes.toString("utf8"), settings), ...secretsIn(name, bytes)];
  } catch (error) {
    if (!(error instanceof SessionFileError)) throw error;
    return [finding("warning", `${name}: ${error.message}`, "Pi cannot open it either; move it away")];
  }
}

/** Pi keeps what was said as it was said; memory only does not spread it. */
function secretsIn(name: string, bytes: Buffer): Finding[] {
  const { secrets } = scrubSession(bytes);
  if (secrets.size === 0) return [];
  const advice = "revoke what is still valid; `memory-lanes scrub FILE` makes a copy without them to pass on";
  return [finding("note", `${name}: secrets stand in it: ${secretsWords(secrets)}`, advice)];
}

/** What the session's memory took so far; nothing where nothing is known of it. */
function spendWords(spend: Spend): string {
  const total = totalOf(spend);
  return total.runs === 0 ? "" : `, ${spentWords(total, isPartial(spend))}`;
}

function judge(name: string, text: string, settings: Settings): Finding[] {
  const { entries, problems, breakOff } = readSessionFile(text);
  const { session } = sessionOfEntries(entries);
  const { branch, ledger } = session;
  const { observe } = clocksOf(branch, ledger);
  const { counts, ignored } = ledger;
  const findings: Finding[] = [];
  const complain = (message: string, advice: string) =>
    findings.push(finding("warning", `${name}: ${message}`, advice));

  if (problems.length > 0) {
    const advice = "nothing to do: Pi passes over such lines, and so does memory";
    complain(
      `${countOf(problems.length, "line")} cannot be read, the first is line ${problems[0]?.line}`,
      advice,
    );
  }
  if (breakOff) {
    const advice = "Pi sees nothing of it either; with that --leaf, view and recall do";
    complain(breakOffWords(breakOff), advice);
  }
  if (ignored.malformed > 0) {
    const advice = "it was written by something else; what it covered is observed again";
    complain(`${countOf(ignored.malformed, "memory record")} cannot be read`, advice);
  }
  if (counts.observations > 0 && observe > FAR_BEHIND * settings.observeAfterTokens) {
    const advice = "see /om:status for the observer's failures, or replay this file";
    complain(`the observer is far behind: ${grouped(observe)} tokens are unobserved`, advice);
  }
  if (isVisibleMemoryStale(ledger)) {
    const advice = "the next compaction of ours shows it again: /compact in Pi";
    complain("the latest compaction was not ours, so that the agent does not see its memory", advice);
  }
  const memory =
    counts.observations === 0
      ? "no memory"
      : `${countOf(counts.active, "active observation")}, ${countOf(counts.reflections, "reflection")}`;
  const state = `${name}: ${countOf(entries.length, "entry", "entries")}, ${memory}, ${grouped(observe)} tokens unobserved${spendWords(ledger.spend)}`;
  return findings.length > 0 ? findings : [finding("ok", state)];
}
