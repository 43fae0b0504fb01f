import { filter, mergeMap, Observable } from "rxjs";
import { AGENT_BUSY, type Failure, type Unstamped } from "../reducers/engine/events.ts";
import { messageOf } from "../reducers/message-of.ts";
import { commandsOf, type Effect } from "./effect.ts";
import type { LiveSession } from "./live-session.ts";

/**
 * Carries out `requestCompaction`. Pi answers through its compaction hooks; a refusal that comes before any hook ("Nothing to
 * compact", "Already compacted") comes through `onError` alone on some versions and through both on others. The
 * lane takes the first word and is deaf to the second.
 */
export const compactionRequests: Effect = (steps$, session) =>
  commandsOf(steps$).pipe(
    filter(({ type }) => type === "requestCompaction"),
    mergeMap(() => refusalOf(session)),
  );

const WRITTEN_ELSEWHERE = "another program has written to this session's file";

/**
 * Asks Pi to compact; emits why it did not, if it says so. Pi would first abort whatever it is at, so it is asked only when
 * it is at nothing: hooks reach the engine a little later than Pi calls them, and by then the user may have gone on.
 */
function refusalOf(session: LiveSession): Observable<Unstamped> {
  return new Observable((subscriber) => {
    const refuse = (failure: Failure) => subscriber.next({ type: "compaction.failed", failure });
    const onError = (error: unknown) => refuse({ kind: "refused", message: messageOf(error) });
    try {
      if (session.isExtendedElsewhere()) refuse({ kind: "refused", message: WRITTEN_ELSEWHERE });
      else if (session.isIdle()) session.compact({ onError });
      else refuse({ kind: AGENT_BUSY, message: "the agent is at work again" });
    } catch (error) {
      onError(error);
    }
  });
}
