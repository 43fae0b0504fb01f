import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LiveSession } from "../../../effects/live-session.ts";

/** Asks Pi to compact, and knows how that goes. */
export interface CompactionRequests {
  readonly compact: LiveSession["compact"];
  /** Resolves at the end of the compaction that was asked for last */
  readonly ended: () => Promise<void>;
  /**
   * Another extension takes its time over compactions. Pi refuses prompts while it compacts: without that extension no prompt can
   * come in between, so with it none is started at a moment when the user may be typing.
   */
  readonly takeTurns: () => boolean;
}

export function createCompactionRequests(ctx: Pick<ExtensionContext, "compact">): CompactionRequests {
  let last = Promise.resolve();
  let takeTurns = false;
  return {
    compact({ onError }) {
      const ended = Promise.withResolvers<void>();
      let isSameTurn = true;
      setImmediate(() => {
        isSameTurn = false;
      });
      ctx.compact({
        onComplete() {
          takeTurns ||= !isSameTurn;
          ended.resolve();
        },
        onError(error) {
          ended.resolve();
          onError(error);
        },
      });
      last = ended.promise;
    },
    ended: () => last,
    takeTurns: () => takeTurns,
  };
}
