import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { createSessionSearch } from "../src/effects/session-search.ts";
import type { EntryLike } from "../src/reducers/entries/entry.ts";
import { sessionOfEntries } from "../src/reducers/memory.ts";

/**
 * How fast a search of a long session answers, how long its index takes, and how long that ever holds the loop:
 *
 *   node bench/search.ts [entries]
 *
 * One entry is huge, as the output of a tool may be.
 */
const [entries = 100_000] = process.argv.slice(2).map(Number);
const SYLLABLES = "ka lo mi ren tu vas po el dor in sa que by ost fi nar gu ther al wy".split(" ");
const WORDS = Array.from({ length: 8000 }, (_, n) =>
  [n % 20, Math.floor(n / 20) % 20, Math.floor(n / 400)].map((at) => SYLLABLES[at]).join(""),
);
const HUGE = 2_000_000;

let seed = 1;
function random(): number {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return seed / 2 ** 32;
}

/** Words as texts have them: few are frequent, most are rare. */
const prose = (count: number) =>
  Array.from({ length: count }, () => WORDS[Math.floor(random() ** 3 * WORDS.length)]).join(" ");

function content(at: number): string {
  if (at === Math.floor(entries / 2)) return prose(HUGE / 7);
  return `${prose(40)} src/part${at % 500}/file${at}.ts`;
}

const log: EntryLike[] = Array.from({ length: entries }, (_, at) => ({
  ...{ type: "message", id: `e${at}`, parentId: at === 0 ? null : `e${at - 1}` },
  timestamp: new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString(),
  message: { role: "user", content: content(at), timestamp: 0 },
}));
const { session, lookup } = sessionOfEntries(log);
const search = createSessionSearch(lookup);

let [longest, isIndexing] = [0, true];
const begun = performance.now();
const watched = (async () => {
  for (let last = performance.now(); isIndexing; last = performance.now()) {
    await setImmediate();
    longest = Math.max(longest, performance.now() - last);
  }
})();
await search.search(session, "first");
isIndexing = false;
await watched;
const { heapUsed } = process.memoryUsage();
console.log(
  `${entries.toLocaleString("en-US")} entries, one of ${HUGE / 1e6} MB: indexed in ${((performance.now() - begun) / 1000).toFixed(1)} s, the loop held for ${longest.toFixed(0)} ms at most, heap ${(heapUsed / 1e6).toFixed(0)} MB`,
);
const QUERIES = ["one word", "three words", "a path", "the most frequent words", "a beginning", "not there"];
const asked = [
  WORDS[4321],
  WORDS.slice(900, 903).join(" "),
  `src/part7/file${entries / 2 + 7}.ts`,
  WORDS.slice(0, 4).join(" "),
  WORDS[4321]?.slice(0, 5),
  "zzzxqy qqqqwx",
];
for (const [at, name] of QUERIES.entries()) {
  const query = asked[at] ?? "";
  const times = [];
  let found = 0;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    ({ found } = await search.search(session, query));
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  console.log(
    `${name.padEnd(24)} ${(times[2] ?? 0).toFixed(1).padStart(7)} ms   ${found.toLocaleString("en-US")} found`,
  );
}
