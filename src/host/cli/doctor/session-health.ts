import { readFileSync } from "node:fs";
import { clocksOf } from "../../../reducers/clocks.ts";
import { readSessionFile, SessionFileError } from "../../../reducers/entries/session-file.ts";
import { isVisibleMemoryStale } from "../../../reducers/ledger/projections.ts";
import { sessionOfEntries } from "../../../reducers/memory.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { noSpend, type Spend } from "../../../reducers/spend.ts";
import { countOf, grouped } from "../../../reducers/words.ts";
import { breakOffWords } from "../replay/replay-source.ts";

/** What a look at a session's file tells of its memory. */
export interface SessionHealth {
  /** Of the branch that Pi would open, like the other figures */
  entries: number;
  /** Active ones */
  observations: number;
  reflections: number;
  /** Source tokens */
  unobserved: number;
  /** What its runs took */
  spend: Spend;
  /** The first is the gravest. */
  problems: SessionProblem[];
}

export interface SessionProblem {
  message: string;
  advice: string;
}

/** So many thresholds behind, the observer has not just been unlucky with the moment. */
const FAR_BEHIND = 3;

/** A session file's bytes, or why there are none. */
export function readSession(file: string): Buffer | SessionProblem {
  try {
    return readFileSync(file);
  } catch (error) {
    return { message: `cannot be read: ${messageOf(error)}`, advice: `see who may read ${file}` };
  }
}

/** Judges what was read of a session. That it could not be read is a problem, too. */
export function sessionHealth(read: Buffer | SessionProblem, settings: Settings): SessionHealth {
  if (!Buffer.isBuffer(read)) return unreadable(read);
  try {
    return judged(read.toString("utf8"), settings);
  } catch (error) {
    if (!(error instanceof SessionFileError)) throw error;
    return unreadable({ message: error.message, advice: "Pi cannot open it either; move it away" });
  }
}

function unreadable(problem: SessionProblem): SessionHealth {
  return {
    entries: 0,
    observations: 0,
    reflections: 0,
    unobserved: 0,
    spend: noSpend(),
    problems: [problem],
  };
}

function judged(text: string, settings: Settings): SessionHealth {
  const { entries, problems: lines, breakOff } = readSessionFile(text);
  const { branch, ledger } = sessionOfEntries(entries).session;
  const { observe } = clocksOf(branch, ledger);
  const { counts, ignored } = ledger;
  const problems: SessionProblem[] = [];
  const complain = (message: string, advice: string) => problems.push({ message, advice });

  if (lines.length > 0) {
    const advice = "nothing to do: Pi passes over such lines, and so does memory";
    complain(`${countOf(lines.length, "line")} cannot be read, the first is line ${lines[0]?.line}`, advice);
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
  return {
    entries: entries.length,
    observations: counts.active,
    reflections: counts.reflections,
    unobserved: observe,
    spend: ledger.spend,
    problems,
  };
}
