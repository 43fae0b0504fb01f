import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import fc from "fast-check";
import { firstValueFrom } from "rxjs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dayFileOf, openDayBudget } from "../../../../src/host/pi/budget/day-budget.ts";
import { openDayFile } from "../../../../src/host/pi/budget/day-file.ts";

const SPENDER = resolve(import.meta.dirname, "../../../support/programs/day-spender.ts");
const NOON = new Date(2026, 0, 15, 12).getTime();
const DAY = 86_400_000;

let dir: string;
let file: string;
let now: number;
let children: ChildProcess[];
let warnings: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-day-"));
  file = dayFileOf(dir);
  now = NOON;
  children = [];
  warnings = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true });
});

const day = () => openDayFile({ file, now: () => now, onFailure: (why) => warnings.push(why) });

/** A run that may begin, or why it may not. */
async function begun(limit: number, runMs = 60_000): Promise<string> {
  const answer = await day().begin(limit, runMs);
  return typeof answer === "string" ? answer : answer.id;
}

/** A spender in a process of its own; `lines` is live, `ended` resolves with its end. */
function spender(limit: number, cost: number, ms: number) {
  const child = spawn(process.execPath, [SPENDER, dir, `${limit}`, `${cost}`, `${ms}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const lines: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => lines.push(...text.trim().split("\n")));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const first = new Promise<void>((done) => child.stdout.once("data", () => done()));
  return { child, lines, ended, first };
}

describe("the day's figure", () => {
  it("is the sum of what ended runs cost, for every process, and another day's is none of it", async () => {
    const id = await begun(1);
    await day().end(id, 0.25);
    expect(day().spent()).toEqual({ date: "2026-01-15", usd: 0.25 });
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ usd: 0.25, running: [] });
    now += DAY;
    expect(day().spent()).toEqual({ date: "2026-01-16", usd: 0 });
    await day().end(await begun(1), 0.1);
    expect(day().spent().usd).toBe(0.1);
    expect(warnings).toEqual([]);
  });

  it("leaves nothing beside the file", async () => {
    await day().end(await begun(1), 0.25);
    expect(readdirSync(dirname(file))).toEqual(["spent-today.json"]);
  });

  it("sets aside what is left for the first run, and then what the dearest has cost", async () => {
    const first = await begun(1);
    expect(await begun(1)).toBe("waits");
    await day().end(first, 0.4);
    const [second, third] = [await begun(1), await begun(1)];
    expect([second, third]).not.toContain("waits");
    expect(await begun(1)).toBe("waits");
    await day().end(second, 0.1);
    await day().end(third, 0.5);
    expect(await begun(1)).toBe("over");
    expect(await begun(1.1)).not.toBe("over");
  });

  it("holds nobody back over models without a price", async () => {
    await day().end(await begun(1), 0);
    for (let nth = 0; nth < 5; nth++) expect(await begun(1)).not.toBe("waits");
  });

  it("forgets what was set aside for a run that should have ended long ago", async () => {
    await begun(1, 1000);
    expect(await begun(1)).toBe("waits");
    now += 1001;
    expect(await begun(1)).not.toBe("waits");
  });

  it("is never passed by more than a run, whatever begins and ends in which order", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ begins: fc.boolean(), which: fc.nat(3), cost: fc.integer({ min: 1, max: 100 }) }),
          {
            maxLength: 40,
          },
        ),
        fc.integer({ min: 1, max: 400 }),
        async (acts, limit) => {
          file = join(dir, `${Math.random()}`, "day.json");
          const inFlight: string[] = [];
          let spent = 0;
          let dearest = 0;
          for (const { begins, which, cost } of acts) {
            if (begins) {
              const answer = await begun(limit);
              if (answer === "over") expect(spent).toBeGreaterThanOrEqual(limit);
              else if (answer !== "waits") inFlight.push(answer);
              if (answer !== "over") expect(spent).toBeLessThan(limit);
            } else {
              const [id] = inFlight.splice(which % Math.max(1, inFlight.length), 1);
              if (id === undefined) continue;
              // No run is dearer than the dearest before it, but for the first, which runs alone.
              const usd = dearest === 0 ? cost : Math.min(cost, dearest);
              await day().end(id, usd);
              spent += usd;
              dearest = Math.max(dearest, usd);
            }
          }
          if (dearest > 0) expect(spent).toBeLessThan(limit + dearest);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("two processes", () => {
  it("stop together within one run", { timeout: 60_000 }, async () => {
    const both = [spender(1, 0.08, 15), spender(1, 0.08, 25)];
    await Promise.all(both.map(({ ended }) => ended));
    for (const { lines } of both) expect(lines.at(-1)).toBe("over");
    const runs = both.flatMap(({ lines }) => lines).filter((line) => line === "begun").length;
    expect(runs).toBe(Math.ceil(1 / 0.08));
    now = Date.now();
    expect(day().spent().usd).toBeCloseTo(runs * 0.08, 9);
  });

  it("are not stopped for ever by one that was killed in its run", { timeout: 60_000 }, async () => {
    const killed = spender(1, 0, 0);
    await killed.first;
    killed.child.kill("SIGKILL");
    await killed.ended;
    now = Date.now();
    expect(await begun(1)).toBe("waits");
    now += 60_001;
    expect(await begun(1)).not.toBe("waits");
    expect(warnings).toEqual([]);
  });

  it("take over the lock of one that was killed while it held it", { timeout: 60_000 }, async () => {
    await day().end(await begun(1), 0.25);
    mkdirSync(`${file}.lock`);
    const old = new Date(Date.now() - 60_000);
    utimesSync(`${file}.lock`, old, old);
    await day().end(await begun(1), 0.25);
    expect(day().spent().usd).toBe(0.5);
    mkdirSync(`${file}.lock`);
    await day().end(await begun(1), 0.25);
    expect(day().spent().usd).toBe(0.75);
    expect(warnings).toEqual([]);
  });
});

describe("a file that cannot be used", () => {
  it.each([
    "",
    "{",
    "null",
    '{"date":"2026-01-15","usd":"much"}',
    '{"date":"2026-01-15","usd":-5,"running":[]}',
  ])("(%j) is set aside, and what this process has spent still counts", async (text) => {
    await day().end(await begun(1), 0.25);
    writeFileSync(file, text);
    expect(day().spent().usd).toBe(0.25);
    await day().end(await begun(1), 0.25);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ usd: 0.5 });
    expect(readFileSync(`${file}.broken`, "utf8")).toBe(text);
    expect(warnings).toEqual([]);
  });

  it("where nothing can be written is said once, and this process counts for itself", async () => {
    writeFileSync(join(dir, "observational-memory"), "a file where the folder would be");
    const told: string[] = [];
    const budget = openDayBudget({
      ...{ agentDir: dir, limit: 0.5, runMs: 1000, now: () => now, known: () => null },
      warn: (message) => told.push(message),
    });
    for (const cost of [0.2, 0.3]) await (await firstValueFrom(budget.begin()))?.end(cost);
    expect(await firstValueFrom(budget.begin())).toBeUndefined();
    expect(budget.news()).toEqual({ daySpent: { date: "2026-01-15", usd: 0.5 } });
    expect(told).toEqual([
      expect.stringMatching(/counts this Pi alone for now, since .*spent-today\.json cannot be used/),
    ]);
  });
});

describe("a run's turn", () => {
  const open = (limit: number) =>
    openDayBudget({
      ...{ agentDir: dir, limit, runMs: 60_000, now: () => now, known: () => null },
      warn: (message) => warnings.push(message),
    });

  it("comes when the one before it has ended", async () => {
    const [one, other] = [open(1), open(1)];
    const first = await firstValueFrom(one.begin());
    const second = firstValueFrom(other.begin());
    await first?.end(0.1);
    expect(await second).toBeDefined();
  });

  it("that nobody waits for any more is given up", async () => {
    const budget = open(1);
    const waiting = budget.begin().subscribe();
    waiting.unsubscribe();
    const next = await firstValueFrom(open(1).begin());
    expect(next).toBeDefined();
  });

  it("is counted once, however often it is ended", async () => {
    const budget = open(1);
    const grant = await firstValueFrom(budget.begin());
    await Promise.all([grant?.end(0.1), grant?.end(0), grant?.end(0.1)]);
    await budget.idle();
    expect(budget.news().daySpent?.usd).toBe(0.1);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });
});
