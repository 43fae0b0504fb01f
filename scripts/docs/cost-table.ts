import { DEFAULT_COMPACTION_SETTINGS } from "@earendil-works/pi-coding-agent";
import { createTune } from "../../src/machines/what-if/tune.ts";
import { DEFAULT_MODEL } from "../../src/machines/what-if/workload.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { DEFAULT_SETTINGS } from "../../src/reducers/settings.ts";
import { grouped } from "../../src/reducers/words.ts";
import { markdownTable } from "./markdown-table.ts";

/** USD per million tokens */
const LEVELS = [
  { name: "small", input: 0.25, output: 2, cached: 0.025 },
  { name: "middle", input: 1, output: 5, cached: 0.1 },
  { name: "large", input: 3, output: 15, cached: 0.3 },
] as const;
const SIZES = [100_000, 350_000, 1_000_000];

/** One round of a session: a call and its result; every eighth begins with a prompt. */
const [PROMPT, CALL, RESULT, ROUNDS_PER_PROMPT] = [200, 400, 1600, 8];

/** Pi cuts tool results to 2,000 characters for a summary. What a summary and the request for it come to is assumed. */
const [RESULT_IN_SUMMARY, SUMMARY, INSTRUCTIONS] = [500, 2000, 600];
const WINDOWS = [128_000, 200_000];

interface Spend {
  calls: number;
  input: number;
  /** Of the input, what surely begins as the request before */
  cached: number;
  output: number;
}

/** What memory costs in sessions of three sizes, and what Pi's own summaries of the same sessions do. */
export function costTables(): string {
  const money = LEVELS.map(
    ({ name, input, output, cached }) => `${name}: $${input} / $${output} / $${cached}`,
  );
  const head = ["session", "calls", "tokens in", "of them from cache", "tokens out", ...money];
  const rows = SIZES.flatMap((size) => {
    const session = sessionOf(size);
    const lanes = lanesSpend(session);
    const perToken = (lanes.input / size).toFixed(2);
    const pi = WINDOWS.map((window) =>
      rowOf(`Pi's summaries, window ${grouped(window)}`, piSpend(session, window)),
    );
    return [rowOf(`**${grouped(size)} tokens**, memory (${perToken} in per token)`, lanes), ...pi];
  });
  return markdownTable(head, rows);
}

function rowOf(name: string, spend: Spend): string[] {
  const { calls, input, cached, output } = spend;
  const costs = LEVELS.map((level) => {
    const usd = ((input - cached) * level.input + cached * level.cached + output * level.output) / 1_000_000;
    return `$${usd.toFixed(2)}`;
  });
  return [name, ...[calls, input, cached, output].map(grouped), ...costs];
}

/** The engine's own simulation of all workers at default settings. */
function lanesSpend(session: readonly Part[]): Spend {
  const { observeAfterTokens, reflectAfterTokens, compactAfterTokens } = DEFAULT_SETTINGS;
  const grid = [{ observeAfterTokens, reflectAfterTokens, compactAfterTokens }];
  const tune = createTune({ grid, model: DEFAULT_MODEL });
  tune.takeSession(session.map(entryOf));
  const [row] = tune.rows();
  if (!row) throw new Error("the grid is empty");
  const { observer, reflector, dropper } = row.runs;
  // The first request of each worker has nothing before it.
  const cached =
    Math.max(0, observer - 1) * DEFAULT_MODEL.observer.overheadPerRequest +
    Math.max(0, reflector - 1) * DEFAULT_MODEL.reflector.overheadPerRequest +
    Math.max(0, dropper - 1) * DEFAULT_MODEL.dropper.overheadPerRequest;
  return { calls: row.requests, input: row.usage.input, cached, output: row.usage.output };
}

/** Pi's rule: a context over its window less the reserve is summarised but for what it keeps, the last summary given along. */
function piSpend(session: readonly Part[], window: number): Spend {
  const { reserveTokens, keepRecentTokens } = DEFAULT_COMPACTION_SETTINGS;
  const spend: Spend = { calls: 0, input: 0, cached: 0, output: 0 };
  let start = 0;
  for (let end = 1; end <= session.length; end++) {
    const summary = spend.calls > 0 ? SUMMARY : 0;
    const context = summary + sum(session.slice(start, end), ({ tokens }) => tokens);
    if (context <= window - reserveTokens) continue;
    let cut = end;
    while (cut > start && sum(session.slice(cut, end), ({ tokens }) => tokens) < keepRecentTokens) cut--;
    const read = sum(session.slice(start, cut), ({ role, tokens }) =>
      role === "toolResult" ? Math.min(tokens, RESULT_IN_SUMMARY) : tokens,
    );
    spend.calls++;
    spend.input += read + summary + INSTRUCTIONS;
    spend.output += SUMMARY;
    start = cut;
  }
  return spend;
}

interface Part {
  role: "user" | "assistant" | "toolResult";
  tokens: number;
}

function sessionOf(size: number): Part[] {
  const parts: Part[] = [];
  for (let left = size, round = 0; left > 0; round++) {
    if (round % ROUNDS_PER_PROMPT === 0) parts.push({ role: "user", tokens: PROMPT });
    parts.push({ role: "assistant", tokens: CALL }, { role: "toolResult", tokens: RESULT });
    left -= CALL + RESULT + (round % ROUNDS_PER_PROMPT === 0 ? PROMPT : 0);
  }
  return parts;
}

/** A message of so many tokens at four characters each, half a minute after the one before. */
function entryOf({ role, tokens }: Part, index: number): EntryLike {
  const content = [{ type: "text", text: "abcd".repeat(tokens) }];
  const entry = {
    type: "message",
    id: `e${index}`,
    parentId: index === 0 ? null : `e${index - 1}`,
    timestamp: new Date(Date.UTC(2026, 0, 1) + index * 30_000).toISOString(),
    message: role === "toolResult" ? { role, toolCallId: `c${index}`, content } : { role, content },
  };
  return entry;
}

function sum(parts: readonly Part[], of: (part: Part) => number): number {
  return parts.reduce((total, part) => total + of(part), 0);
}
