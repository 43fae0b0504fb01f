import { SessionManager } from "@earendil-works/pi-coding-agent";
import { estimateTextTokens } from "../src/reducers/entries/tokens.ts";
import { memoryId } from "../src/reducers/ledger/memory-id.ts";
import {
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_RECORDED,
  REFLECTIONS_RECORDED,
} from "../src/reducers/ledger/records.ts";

const BATCH = 5;

/**
 * A session in Pi's own session manager, in memory: turns of a prompt, a tool call, its result and an answer, with
 * `observations` observations in batches spread over it, most of them dropped again as in a real long session, some
 * reflections, and a compaction of ours now and then. Nothing is due at its end.
 */
export function syntheticSession(entries: number, observations: number): SessionManager {
  const manager = SessionManager.inMemory("/bench");
  const everyBatch = Math.max(2, Math.floor(entries / Math.max(1, observations / BATCH)));
  let recorded = 0;
  for (let n = 0; n < entries; n++) {
    const last = manager.getLeafId() ?? "";
    if (n > 0 && n % everyBatch === 0 && recorded < observations) {
      const ids = appendBatch(manager, last, recorded);
      recorded += BATCH;
      if (n % (everyBatch * 2) === 0)
        manager.appendCustomEntry(OBSERVATIONS_DROPPED, { observationIds: ids, coversUpToId: last });
      if (n % (everyBatch * 10) === 0) appendReflection(manager, last, ids, n);
    } else appendTurnPart(manager, n);
  }
  const tip = manager.getLeafId() ?? "";
  appendBatch(manager, tip, recorded);
  appendReflection(manager, tip, [memoryId("none")], entries);
  return manager;
}

/** The next entry of a turn: prompt, tool call, result, answer. */
export function appendTurnPart(manager: SessionManager, n: number): void {
  const text =
    `Entry ${n}: the quick checks of module ${n % 97} came back, and ${n % 13} of them need another look. `.repeat(
      2,
    );
  const base = { timestamp: 1_760_000_000_000 + n * 1000 };
  const usage = {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
  const assistant = {
    ...base,
    role: "assistant" as const,
    api: "bench",
    provider: "bench",
    model: "bench",
    usage,
  };
  switch (n % 4) {
    case 0:
      manager.appendMessage({ ...base, role: "user", content: text });
      break;
    case 1:
      manager.appendMessage({
        ...assistant,
        stopReason: "toolUse",
        content: [{ type: "toolCall", id: `call${n}`, name: "read", arguments: { path: `src/${n}.ts` } }],
      });
      break;
    case 2:
      manager.appendMessage({
        ...base,
        role: "toolResult",
        toolCallId: `call${n - 1}`,
        toolName: "read",
        isError: false,
        content: [{ type: "text", text: text.repeat(3) }],
      });
      break;
    default:
      manager.appendMessage({ ...assistant, stopReason: "stop", content: [{ type: "text", text }] });
  }
}

/** One observer's ledger entry; gives its observation ids. */
export function appendBatch(manager: SessionManager, source: string, first: number): string[] {
  const observations = Array.from({ length: BATCH }, (_, i) => {
    const content = `Observation ${first + i}: module ${(first + i) % 97} was checked and ${(first + i) % 13} findings are open.`;
    return {
      id: memoryId(content),
      content,
      timestamp: "2026-01-15 14:30",
      relevance: "medium",
      sourceEntryIds: [source],
      tokenCount: estimateTextTokens(content),
    };
  });
  manager.appendCustomEntry(OBSERVATIONS_RECORDED, { observations, coversUpToId: source });
  return observations.map(({ id }) => id);
}

function appendReflection(
  manager: SessionManager,
  source: string,
  supportingObservationIds: string[],
  n: number,
): void {
  const content = `Reflection ${n}: modules are checked one by one.`;
  manager.appendCustomEntry(REFLECTIONS_RECORDED, {
    reflections: [
      { id: memoryId(content), content, supportingObservationIds, tokenCount: estimateTextTokens(content) },
    ],
    coversUpToId: source,
  });
}
