import { readFileSync } from "node:fs";

/** What memory of a session file of the existing V3 extension (test/fixtures) is, by the spec. */
export interface V3Session {
  leaf?: string;
  /** Contents of all observations in the order of recording, and of those that are active */
  observations: string[];
  active: string[];
  reflections: string[];
  ignored: { malformed: number; dangling: number; v2: number };
  /** Contents of what the latest `om.folded` compaction shows */
  visible: { observations: string[]; reflections: string[] };
  clocks: { observe: number; reflect: number; drop: number; compact: number; sinceCompaction: number };
  /** The memory of a normal fold that keeps the last entry only, at a pool of 20,000 tokens: as V3 folds, and `"pool"` */
  next: { observations: string[]; reflections: string[] };
  /** The same by the default policy where that folds everything anew; unset: it folds normally */
  anew?: { observations: string[]; reflections: string[] };
  /** What `recall` says, by the content of the record: its status, or for a reflection what it rests on */
  recalls: Record<string, string>;
}

export function fixtureText(name: string): string {
  return readFileSync(new URL(`../../fixtures/${name}.jsonl`, import.meta.url), "utf8");
}

const NOTHING = { malformed: 0, dangling: 0, v2: 0 };
const EMPTY = { observations: [], reflections: [] };

const BAY_4 = "User requires that ferries in bay 4 leave at half past the hour.";
const MINUTES = "User wants times in minutes, never in seconds.";
const DONE = "Done: schedule.ts holds minutes only.";
const BAY_5 = "User had bay 5 closed until noon.";
const COARSE = "User wants coarse, round times in the schedule.";
const TIDES = "The tide table is tides.csv and has 365 rows.";
const READ = "Agent read tides.csv.";
const PLOTTED = "Done: the tide table was plotted to tides.png.";
const SOURCE = "Tide data comes from tides.csv.";
const REVIEWS = "User reviews data before it is plotted.";
const LANE = "User had lane renamed to channel.";
const RENAMED = "Agent renamed lane to channel in 12 files.";
const PORT = "User wants port 8080.";
const SET = "Agent set port 8080.";
const FIXED = "Port 8080 is fixed.";
const FRIDAY = "User wants the deploy on Friday.";
const LOST = "Something from a branch that this file lost.";
const AHEAD = "A batch that claims to cover what comes after it.";
const DAY = "The deploy day is Friday.";
const LOST_CONCLUSION = "A conclusion whose range is lost.";
const SYSLOG = "User wants logs in syslog.";
const HOUR = "User wants maps cached for an hour, no longer for a day.";
const ASKED = "User asked which database to use; SQLite and Postgres are open.";
const SQLITE = "User chose SQLite.";
const POSTGRES = "User chose Postgres.";
const RUNS_ON = "The project runs on Postgres.";

/** By case: the fixture's name, and a leaf where a file has several branches. */
export const V3_SESSIONS: Readonly<Record<string, V3Session & { file: string }>> = {
  "two normal folds": {
    file: "v3-normal-folds",
    observations: [BAY_4, MINUTES, DONE, BAY_5],
    active: [BAY_4, MINUTES, BAY_5],
    reflections: [COARSE],
    ignored: NOTHING,
    // A normal fold shows neither reflections nor drops that no full fold has folded yet.
    visible: { observations: [BAY_4, MINUTES, DONE, BAY_5], reflections: [] },
    clocks: { observe: 13, reflect: 35, drop: 13, compact: 13, sinceCompaction: 4 },
    next: { observations: [BAY_4, MINUTES, DONE, BAY_5], reflections: [] },
    // Two folds and no full one: what a third normal fold would hide is more than a tenth of it.
    anew: { observations: [BAY_4, MINUTES, BAY_5], reflections: [COARSE] },
    recalls: { [BAY_4]: "active", [DONE]: "dropped", [COARSE]: "active, active" },
  },
  "a full fold": {
    file: "v3-full-fold",
    observations: [TIDES, READ, PLOTTED],
    active: [PLOTTED],
    reflections: [SOURCE, REVIEWS],
    ignored: NOTHING,
    visible: { observations: [TIDES], reflections: [SOURCE] },
    clocks: { observe: 4, reflect: 4, drop: 4, compact: 23, sinceCompaction: 14 },
    // What the full fold folded stays folded; the later drop and the later reflection wait for the next one.
    next: { observations: [TIDES, PLOTTED], reflections: [SOURCE] },
    anew: { observations: [PLOTTED], reflections: [SOURCE, REVIEWS] },
    recalls: { [READ]: "dropped", [TIDES]: "dropped", [REVIEWS]: "dropped, active" },
  },
  "drops before their observation": {
    file: "v3-early-drops",
    observations: [LANE, RENAMED],
    active: [LANE],
    reflections: [],
    ignored: NOTHING,
    visible: EMPTY,
    clocks: { observe: 5, reflect: 16, drop: 0, compact: 16, sinceCompaction: 16 },
    next: { observations: [LANE, RENAMED], reflections: [] },
    // The first fold on a branch is full.
    anew: { observations: [LANE], reflections: [] },
    recalls: { [LANE]: "active", [RENAMED]: "dropped" },
  },
  "ids that repeat": {
    file: "v3-duplicates",
    observations: [PORT, SET],
    active: [PORT],
    reflections: [FIXED],
    ignored: NOTHING,
    visible: EMPTY,
    clocks: { observe: 3, reflect: 3, drop: 3, compact: 12, sinceCompaction: 12 },
    next: { observations: [PORT, SET], reflections: [] },
    anew: { observations: [PORT], reflections: [FIXED] },
    // The first record of an id stands: that of the first batch, which cites u1. Recall has the evidence of them all.
    recalls: { [PORT]: "active", [SET]: "dropped", [FIXED]: "active, dropped" },
  },
  "markers that are not on the branch": {
    file: "v3-dangling",
    observations: [FRIDAY],
    active: [FRIDAY],
    reflections: [DAY],
    ignored: { malformed: 0, dangling: 4, v2: 0 },
    visible: EMPTY,
    clocks: { observe: 5, reflect: 5, drop: 14, compact: 14, sinceCompaction: 14 },
    next: { observations: [FRIDAY], reflections: [] },
    anew: { observations: [FRIDAY], reflections: [DAY] },
    recalls: {
      [FRIDAY]: "active",
      [LOST]: "dangling",
      [AHEAD]: "dangling",
      [DAY]: "active",
      [LOST_CONCLUSION]: "active, dangling",
    },
  },
  "malformed entries": {
    file: "v3-malformed",
    observations: [SYSLOG],
    active: [SYSLOG],
    reflections: [],
    ignored: { malformed: 14, dangling: 0, v2: 0 },
    visible: EMPTY,
    clocks: { observe: 14, reflect: 18, drop: 18, compact: 9, sinceCompaction: 4 },
    next: { observations: [SYSLOG], reflections: [] },
    anew: { observations: [SYSLOG], reflections: [] },
    recalls: { [SYSLOG]: "active" },
  },
  "leftovers of version 2": {
    file: "v3-v2-leftovers",
    observations: [HOUR],
    active: [HOUR],
    reflections: [],
    ignored: { malformed: 0, dangling: 0, v2: 2 },
    visible: EMPTY,
    clocks: { observe: 2, reflect: 16, drop: 16, compact: 12, sinceCompaction: 7 },
    next: { observations: [HOUR], reflections: [] },
    anew: { observations: [HOUR], reflections: [] },
    recalls: { [HOUR]: "active" },
  },
  "two branches, the newer": {
    file: "v3-two-branches",
    observations: [ASKED, POSTGRES],
    active: [ASKED, POSTGRES],
    reflections: [RUNS_ON],
    ignored: NOTHING,
    visible: EMPTY,
    clocks: { observe: 4, reflect: 4, drop: 20, compact: 20, sinceCompaction: 20 },
    next: { observations: [ASKED, POSTGRES], reflections: [] },
    anew: { observations: [ASKED, POSTGRES], reflections: [RUNS_ON] },
    recalls: { [ASKED]: "active", [POSTGRES]: "active", [SQLITE]: "unknown", [RUNS_ON]: "active" },
  },
  "two branches, the older": {
    file: "v3-two-branches",
    leaf: "a6",
    observations: [ASKED, SQLITE],
    active: [SQLITE],
    reflections: [],
    ignored: NOTHING,
    visible: { observations: [SQLITE], reflections: [] },
    clocks: { observe: 7, reflect: 21, drop: 7, compact: 7, sinceCompaction: 3 },
    next: { observations: [SQLITE], reflections: [] },
    recalls: { [ASKED]: "dropped", [SQLITE]: "active", [POSTGRES]: "unknown" },
  },
};
