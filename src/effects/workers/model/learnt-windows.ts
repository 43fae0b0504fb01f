import type { WorkerFailure } from "./failure.ts";
import { usableWindow } from "./prompt-room.ts";
import type { ModelAccess } from "./request.ts";

/** What models turned out to take. It is learnt from their answers, for as long as the session is open. */
export interface LearntWindows {
  /** The same model with the window that it is now taken to be served with */
  within(access: ModelAccess): ModelAccess;
  /** Says how a run went whose last request had so many tokens, output included. */
  went(access: ModelAccess, tokens: number, failure: WorkerFailure | undefined): void;
}

interface Learnt {
  window: number;
  /** The server itself named it; otherwise it is a guess, which grows back. */
  said: boolean;
  /** Runs in a row that passed with it */
  passed: number;
}

/** No further down: a request that is still refused has another fault. */
const SMALLEST_WINDOW = 4096;
/** After so many runs in a row that passed, a guess is doubled: the refusal may have been a passing fault. */
const DOUBLED_AFTER = 10;

/**
 * Pi takes a model that says nothing of its limits, as local ones do, to have a large window, and servers are started with
 * smaller ones than they declare. A request that is refused as too long tells better: the window that the error names, or
 * half of what was asked, so that prior memory, chunk and output all shrink until they pass. Otherwise each run would
 * begin with the same refusals.
 */
export function createLearntWindows(): LearntWindows {
  const learnt = new Map<string, Learnt>();

  function refused(access: ModelAccess, tokens: number, said: number | undefined): void {
    const asked = Math.min(usableWindow(access), tokens);
    const guess = Math.max(Math.min(SMALLEST_WINDOW, usableWindow(access)), Math.floor(asked / 2));
    const window = said !== undefined && said < asked ? said : guess;
    learnt.set(nameOf(access), { window, said: window === said, passed: 0 });
  }

  function passed(access: ModelAccess): void {
    const name = nameOf(access);
    const known = learnt.get(name);
    if (!known || known.said) return;
    const isProven = known.passed + 1 >= DOUBLED_AFTER;
    const window = isProven ? known.window * 2 : known.window;
    if (window >= usableWindow({ model: access.model })) learnt.delete(name);
    else learnt.set(name, { window, said: false, passed: isProven ? 0 : known.passed + 1 });
  }

  return {
    within(access) {
      const known = learnt.get(nameOf(access));
      return known === undefined ? access : { ...access, servedWindow: known.window };
    },
    went(access, tokens, failure) {
      if (failure?.kind === "prompt-too-long") refused(access, tokens, failure.window);
      else if (failure === undefined && tokens > 0) passed(access);
    },
  };
}

function nameOf({ model: { provider, id } }: ModelAccess): string {
  return `${provider}/${id}`;
}
