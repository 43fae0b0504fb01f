import type { Observable } from "rxjs";
import type { DaySpent } from "../reducers/engine/budget.ts";
import type { EngineState } from "../reducers/engine/engine-state.ts";
import type { EntryLookup } from "../reducers/entries/entry.ts";
import type { ModelAccess } from "./workers/model/request.ts";

/** The model that workers use, or why there is none. */
export type ModelChoice = { access: ModelAccess } | { problem: string };

/** The day's budget, which this session's runs share with those of other processes. */
export interface DayBudget {
  /**
   * Lets a run begin once it may: it waits for its turn while what others have in flight may use up what is left. Emits once;
   * undefined when the day's budget is used up. Unsubscribing gives up the turn.
   */
  begin(): Observable<RunGrant | undefined>;
  /** The day's figure as a fact for the next event, where it is another than the engine knows */
  news(): { daySpent?: DaySpent };
}

/** That a run may go on. */
export interface RunGrant {
  /** The run is over and has cost so much, in USD; resolves when others can see it. Only the first call counts. */
  end(usd: number): Promise<void>;
}

/**
 * What effects may do to a live Pi session. All of it is safe to call at any time; once the session is closed it does
 * nothing, since Pi's contexts throw when they are used after that.
 */
export interface LiveSession {
  readonly state: () => EngineState;
  /** Finds entries as they may be read: without secrets, unless the settings leave them in. */
  readonly lookup: EntryLookup;
  /** False once the session has been closed, and once Pi has dropped it without a word. */
  readonly isOpen: () => boolean;
  /** The session is about to end, and lives only for what is under way: nothing new is begun. */
  readonly isEnding: () => boolean;
  /** Somebody else has written to the session's file since Pi has: what is appended now would hide it. Tells the user once. */
  readonly isExtendedElsewhere: () => boolean;
  /** Brings the engine's branch up to date with Pi's. */
  readonly sync: () => void;
  /** Appends ledger entries to the session, in order, and brings the branch up to date with all of them at once. */
  readonly append: (entries: readonly { customType: string; data: unknown }[]) => void;
  /** Unset where the settings set none */
  readonly dayBudget?: DayBudget | undefined;
  readonly workerModel: () => ModelChoice;
  /** Whether nothing goes on in Pi that asking it to compact would abort. */
  readonly isIdle: () => boolean;
  readonly compact: (handlers: { onError: (error: Error) => void }) => void;
  readonly notify: (message: string, level: "info" | "warning") => void;
  /** Milliseconds since the epoch */
  readonly now: () => number;
}
