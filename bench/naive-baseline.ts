import { estimateTokens, type SessionEntry, type SessionManager } from "@earendil-works/pi-coding-agent";
import {
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_RECORDED,
  type Observation,
  REFLECTIONS_RECORDED,
  type Reflection,
} from "../src/reducers/ledger/records.ts";
import { renderObservation, renderReflection } from "../src/reducers/ledger/summary.ts";

/**
 * The way such extensions usually work: at every event, read the whole branch, count its tokens and fold its ledger
 * anew. Fair in everything else: plain loops, no validation, no library.
 */
export function naiveClocks(manager: SessionManager): { observe: number; reflect: number; compact: number } {
  const branch = manager.getBranch();
  const positions = new Map(branch.map((entry, at) => [entry.id, at]));
  let observe = -1;
  let reflect = -1;
  let cut = 0;
  for (const entry of branch) {
    if (entry.type === "compaction") cut = positions.get(entry.firstKeptEntryId) ?? 0;
    if (entry.type !== "custom") continue;
    const covers = positions.get((entry.data as { coversUpToId: string }).coversUpToId) ?? -1;
    if (entry.customType === OBSERVATIONS_RECORDED) observe = Math.max(observe, covers);
    if (entry.customType === REFLECTIONS_RECORDED) reflect = Math.max(reflect, covers);
  }
  const clocks = { observe: 0, reflect: 0, compact: 0 };
  for (const [at, entry] of branch.entries()) {
    const tokens = tokensOf(entry);
    if (at > observe) clocks.observe += tokens;
    if (at > reflect) clocks.reflect += tokens;
    if (at >= cut) clocks.compact += tokens;
  }
  return clocks;
}

/** Folds the whole ledger and renders the summary, as a compaction hook of that kind does. */
export function naiveCompaction(
  manager: SessionManager,
  firstKeptEntryId: string,
): { summary: string; details: object } {
  naiveClocks(manager);
  const branch = manager.getBranch();
  const observations = new Map<string, Observation>();
  const reflections = new Map<string, Reflection>();
  const dropped = new Set<string>();
  const end = branch.findIndex((entry) => entry.id === firstKeptEntryId);
  for (const entry of branch) {
    if (entry.type !== "custom") continue;
    const data = entry.data as {
      observations?: Observation[];
      reflections?: Reflection[];
      observationIds?: string[];
      coversUpToId: string;
    };
    if (branch.findIndex((other) => other.id === data.coversUpToId) >= end) continue;
    if (entry.customType === OBSERVATIONS_RECORDED)
      for (const o of data.observations ?? []) observations.set(o.id, o);
    if (entry.customType === REFLECTIONS_RECORDED)
      for (const r of data.reflections ?? []) reflections.set(r.id, r);
    if (entry.customType === OBSERVATIONS_DROPPED)
      for (const id of data.observationIds ?? []) dropped.add(id);
  }
  const active = [...observations.values()].filter(({ id }) => !dropped.has(id));
  const lines = [...[...reflections.values()].map(renderReflection), ...active.map(renderObservation)];
  return {
    summary: lines.join("\n"),
    details: { observations: active, reflections: [...reflections.values()] },
  };
}

/** One `getBranch()` and one pass that estimates tokens: what opening a session costs at the very least. */
export function onePass(manager: SessionManager): number {
  return manager.getBranch().reduce((sum, entry) => sum + tokensOf(entry), 0);
}

function tokensOf(entry: SessionEntry): number {
  return entry.type === "message" ? estimateTokens(entry.message) : 0;
}
