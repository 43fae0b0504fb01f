/**
 * The files of the invented project that the demo's agent writes: `tidewatch`, a tool that finds impossible
 * readings in the data of a tide gauge. They are real and run, so that the tool results in the demo's session are
 * real too.
 */

/** Makes a week of readings with known faults; the same file every time. */
export const MAKE_SAMPLE = `// Makes data/harbour.csv: one week of readings from one gauge, with known faults in it.
import { mkdirSync, writeFileSync } from "node:fs";

const READINGS_A_DAY = 144;
const DAYS = 7;
const TIDE_HOURS = 12.42;
const SPIKES = new Map([[97, 60], [310, -45], [611, 38], [842, -72]]);
const GAPS = new Set([45, 46, 47, 400, 401, 777]);
const STUCK = { from: 520, to: 529 };

function level(index) {
  const hours = index / 6;
  const springTide = 230 + (100 * index) / (DAYS * READINGS_A_DAY);
  const wind = 4 * Math.sin(index * 0.71) + 3 * Math.sin(index * 0.137);
  return 400 + springTide * Math.sin((2 * Math.PI * hours) / TIDE_HOURS) + wind;
}

function reading(index) {
  if (GAPS.has(index)) return "";
  const source = index >= STUCK.from && index <= STUCK.to ? STUCK.from : index;
  return String(Math.round(level(source) + (SPIKES.get(index) ?? 0)));
}

const lines = ["time,level_cm,battery_v"];
for (let index = 0; index < DAYS * READINGS_A_DAY; index++) {
  const day = String(2 + Math.floor(index / READINGS_A_DAY)).padStart(2, "0");
  const minutes = (index % READINGS_A_DAY) * 10;
  const clock = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, "0")).join(":");
  const battery = (12.9 - index * 0.0006).toFixed(2);
  lines.push("2026-03-" + day + " " + clock + "," + reading(index) + "," + battery);
}
mkdirSync("data", { recursive: true });
writeFileSync("data/harbour.csv", lines.join("\\n") + "\\n");
console.log("data/harbour.csv: " + (lines.length - 1) + " readings");
`;

/** The parser as first written: an empty level becomes 0, which the test then catches. */
export const PARSE_WITH_BUG = `// Reads a gauge file into readings: { at, level, battery }.
const GAUGE_UTC_OFFSET_HOURS = 1; // The gauge's clock stays on winter time all year.

export function parseReadings(text) {
  const [header, ...lines] = text.trimEnd().split("\\n");
  if (header !== "time,level_cm,battery_v") throw new Error("Not a gauge file: its first line is " + header);
  return lines.map((line, index) => parseLine(line, index + 2));
}

function parseLine(line, number) {
  const [time, level, battery] = line.split(",");
  const at = utc(time);
  if (Number.isNaN(at.getTime())) throw new Error("Line " + number + ": no time in " + JSON.stringify(line));
  return { at, level: Number(level), battery: Number(battery) };
}

function utc(time) {
  const [day, clock] = time.split(" ");
  const local = new Date(day + "T" + clock + ":00Z");
  return new Date(local.getTime() - GAUGE_UTC_OFFSET_HOURS * 3_600_000);
}
`;

export const PARSE_TEST = `import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseReadings } from "../src/parse.mjs";

const file = (...lines) => ["time,level_cm,battery_v", ...lines].join("\\n") + "\\n";

test("times become UTC: the gauge runs one hour ahead all year", () => {
  const [winter] = parseReadings(file("2026-03-02 00:00,402,12.90"));
  const [summer] = parseReadings(file("2026-07-02 00:00,402,12.90"));
  assert.equal(winter.at.toISOString(), "2026-03-01T23:00:00.000Z");
  assert.equal(summer.at.toISOString(), "2026-07-01T23:00:00.000Z");
});

test("a missing level is null, never zero", () => {
  const [reading] = parseReadings(file("2026-03-02 07:30,,12.87"));
  assert.equal(reading.level, null);
});

test("a level of zero stays zero", () => {
  const [reading] = parseReadings(file("2026-03-02 07:30,0,12.87"));
  assert.equal(reading.level, 0);
});

test("another kind of file is refused by its first line", () => {
  assert.throws(() => parseReadings("date;value\\n"), /Not a gauge file/);
});

test("a line without a time is refused with its number", () => {
  assert.throws(() => parseReadings(file("2026-03-02 00:00,402,12.90", "yesterday,3,1")), /Line 3/);
});

test("the sample week has all its readings", () => {
  const readings = parseReadings(readFileSync("data/harbour.csv", "utf8"));
  assert.equal(readings.length, 1008);
  assert.equal(readings.filter((reading) => reading.level === null).length, 6);
});
`;

export const DETECT_BY_JUMP = `// Finds readings that cannot be right.
const JUMP_CM = 25;

export function findFaults(readings) {
  const faults = [];
  for (let index = 1; index < readings.length; index++) {
    const before = readings[index - 1].level;
    const { level } = readings[index];
    if (before === null || level === null) continue;
    if (Math.abs(level - before) > JUMP_CM) faults.push({ index, kind: "spike", off: level - before });
  }
  return faults;
}
`;

export const DETECT_BY_MEDIAN = `// Finds readings that cannot be right.
const WINDOW = 5;
const OFF_MEDIAN_CM = 18;

export function findFaults(readings) {
  const faults = [];
  for (let index = 0; index < readings.length; index++) {
    const { level } = readings[index];
    if (level === null) continue;
    const expected = median(around(readings, index));
    const off = Math.round(level - expected);
    if (Math.abs(off) > OFF_MEDIAN_CM) faults.push({ index, kind: "spike", off });
  }
  return faults;
}

function around(readings, index) {
  const half = Math.floor(WINDOW / 2);
  const from = Math.max(0, Math.min(index - half, readings.length - WINDOW));
  return readings.slice(from, from + WINDOW).flatMap(({ level }) => (level === null ? [] : [level]));
}

function median(levels) {
  const sorted = levels.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
`;

/** What the median rule's loop becomes once readings with a gap or the file's end beside them are not judged. */
export const JUDGE_WHOLE_WINDOWS = {
  oldText: `    const expected = median(around(readings, index));
    const off = Math.round(level - expected);`,
  newText: `    const levels = around(readings, index);
    if (levels.length < WINDOW) continue; // A gap or the end of the file: too little to judge by.
    const off = level - median(levels);`,
};
export const WINDOW_WITHOUT_SHIFT = {
  oldText: `  const from = Math.max(0, Math.min(index - half, readings.length - WINDOW));
  return readings.slice(from, from + WINDOW).flatMap(({ level }) => (level === null ? [] : [level]));`,
  newText: `  if (index < half) return [];
  return readings.slice(index - half, index + half + 1).flatMap(({ level }) => (level === null ? [] : [level]));`,
};

/** Lists what `findFaults` finds, one line a reading. */
export const LIST_FAULTS = `// Prints every reading that findFaults flags.
import { readFileSync } from "node:fs";
import { findFaults } from "../src/detect.mjs";
import { parseReadings } from "../src/parse.mjs";

const readings = parseReadings(readFileSync("data/harbour.csv", "utf8"));
const faults = findFaults(readings);
for (const { index, off } of faults) {
  const { at, level } = readings[index];
  console.log(at.toISOString() + "  level " + level + " cm, off by " + off + " cm");
}
console.log(faults.length + " of " + readings.length + " readings flagged");
`;

/** Goes before `findFaults` when stuck sensors are added. */
export const STUCK_RULE = `const STUCK_READINGS = 6; // One hour.

export function findStuck(readings) {
  const stuck = [];
  let start = 0;
  for (let index = 1; index <= readings.length; index++) {
    if (readings[index]?.level === readings[start].level) continue;
    if (readings[start].level !== null && index - start >= STUCK_READINGS) {
      stuck.push({ index: start, kind: "stuck", readings: index - start });
    }
    start = index;
  }
  return stuck;
}

`;

export const DETECT_TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { findFaults, findStuck } from "../src/detect.mjs";

const readings = (...levels) => levels.map((level) => ({ level }));

test("a reading far from the median of its neighbours is a spike", () => {
  assert.deepEqual(findFaults(readings(100, 104, 168, 112, 116)), [{ index: 2, kind: "spike", off: 56 }]);
});

test("a steep spring tide is no fault", () => {
  assert.deepEqual(findFaults(readings(100, 128, 156, 184, 212, 240)), []);
});

test("gaps are skipped, not read as zero", () => {
  assert.deepEqual(findFaults(readings(100, null, 104, null, 108)), []);
});

test("six equal readings are a stuck sensor, five are slack water", () => {
  assert.deepEqual(findStuck(readings(1, 7, 7, 7, 7, 7, 7, 2)), [{ index: 1, kind: "stuck", readings: 6 }]);
  assert.deepEqual(findStuck(readings(1, 7, 7, 7, 7, 7, 2)), []);
});
`;

export const REPORT = `// Writes faults for people: a Markdown table, metres, the gauge's own clock.
const GAUGE_UTC_OFFSET_HOURS = 1;

export function report(readings, faults) {
  const rows = faults.map((fault) => row(readings[fault.index], fault));
  return ["| time (gauge clock) | level | fault |", "| --- | ---: | --- |", ...rows].join("\\n");
}

function row({ at, level }, fault) {
  const what = fault.kind === "stuck" ? "stuck for " + fault.readings * 10 + " minutes" : "off by " + metres(fault.off);
  return "| " + clock(at) + " | " + metres(level) + " | " + what + " |";
}

function metres(centimetres) {
  return (centimetres / 100).toFixed(2) + " m";
}

function clock(at) {
  return new Date(at.getTime() + GAUGE_UTC_OFFSET_HOURS * 3_600_000).toISOString().slice(0, 16).replace("T", " ");
}
`;

export const CLI = `// tidewatch FILE: prints the report; exit code 2 when there are faults, so that cron sends its mail.
import { readFileSync } from "node:fs";
import { findFaults, findStuck } from "./detect.mjs";
import { parseReadings } from "./parse.mjs";
import { report } from "./report.mjs";

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("Usage: node src/cli.mjs FILE");
  process.exit(1);
}
const readings = parseReadings(readFileSync(file, "utf8"));
const faults = [...findFaults(readings), ...findStuck(readings)].sort((a, b) => a.index - b.index);
if (faults.length > 0) {
  console.log(report(readings, faults));
  process.exitCode = 2;
}
`;

export const README = `# tidewatch

Finds readings of a tide gauge that cannot be right.

    node src/cli.mjs data/harbour.csv

- A reading more than 18 cm from the median of the five around it is a spike.
- Six equal readings in a row (one hour) are a stuck sensor.
- A missing level is a gap, never a zero.

Times in gauge files are the gauge's own clock, which stays on winter time (UTC+1) all year. Inside the program all
times are UTC; the report prints the gauge's clock again. The exit code is 2 when there are faults and 0 when there
are none. Needs Node and nothing else.
`;
