import type { Observable } from "rxjs";
import type { DaySpent } from "../reducers/engine/budget.ts";
import type { EngineState } from "../reducers/engine/engine-state.ts";
import type { EntryLookup } from "../reducers/entries/entry.ts";
import type { ModelSetting } from "../reducers/settings.ts";
import type { ModelAccess } from "./workers/model/request.ts";

/** A model that workers may ask, or why it cannot be asked. */
export type ModelChoice = { access: ModelAccess } | { problem: string };

/** What the provider of the session's model may have of the context, and what it costs when that is gone. */
export interface PromptCache {
  /** `provider/id` of the session's model */
  readonly model: string;
  /** Tokens of the context, as Pi counts them */
  readonly contextTokens: number;
  /** Tokens that Pi keeps verbatim when it compacts */
  readonly keepTokens: number;
  /** Milliseconds for which the provider keeps what it was sent; undefined where Pi does not know */
  readonly lifetimeMs: number | undefined;
  /** USD per million tokens read anew; undefined where Pi knows no price */
  readonly usdPerMillion: number | undefined;
}

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
  /** The model that a setting names; without one, the session's own. */
  readonly workerModel: (setting: ModelSetting | undefined) => ModelChoice;
  /** Undefined where Pi does not say, and where nothing is to be done about it while the user may be typing. */
  readonly promptCache: () => PromptCache | undefined;
  /** Whether nothing goes on in Pi that asking it to compact would abort. */
  readonly isIdle: () => boolean;
  readonly compact: (handlers: { onError: (error: Error) => void }) => void;
  readonly notify: (message: string, level: "info" | "warning") => void;
  /** Milliseconds since the epoch */
  readonly now: () => number;
}
