import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import type { DaySpent } from "../../../reducers/engine/budget.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import { dateOf } from "../../../reducers/words.ts";

const DaySchema = z.object({
  /** Local date, `YYYY-MM-DD` */
  date: z.string(),
  /** USD that ended runs have cost on that day */
  usd: z.number().nonnegative(),
  /** What the dearest run so far has cost, in USD: taken for what one in flight may cost. Unset while none has ended. */
  dearest: z.number().nonnegative().optional(),
  /** Runs in flight, each with the USD set aside for it and when it has ended at the latest, in ms since the epoch */
  running: z.array(z.object({ id: z.string(), usd: z.number().nonnegative(), until: z.number() })),
});
type Day = z.infer<typeof DaySchema>;

/** The file in which the processes of one agent directory share what the day's runs have cost. */
export interface DayFile {
  /** What the file says, or this process knows if that is more; takes no lock and never throws. */
  spent(): DaySpent;
  /**
   * Sets money aside for a run that ends within so many ms: the id of what was set aside; `waits` while that of others may use
   * up the rest of the limit (USD), and `over` when it is used up.
   */
  begin(limit: number, runMs: number): Promise<{ id: string } | "waits" | "over">;
  /** A run has ended and cost so much, in USD. */
  end(id: string, usd: number): Promise<void>;
}

interface DayFileOptions {
  file: string;
  now: () => number;
  /** Told, once, that this process counts for itself */
  onFailure: (message: string) => void;
}

/** What this process's own runs have cost, by file: it stands even where the file is lost, broken or cannot be written. */
const own = new Map<string, Day>();

/** A lock whose holder has died is taken over after so long, in ms; nobody holds one longer than it takes to write a line. */
const STALE_MS = 5000;
/** Tried for longer than that. A process that is about to end is kept alive for it: what was paid must not be lost. */
const RETRIES = { retries: 50, factor: 1.2, minTimeout: 10, maxTimeout: 200, randomize: true };

export function openDayFile({ file, now, onFailure }: DayFileOptions): DayFile {
  let hasTold = false;

  function tell(why: string): void {
    if (!hasTold) onFailure(why);
    hasTold = true;
  }

  /** The day as it stands; another day than today's has spent nothing, and what should have ended is not in flight. */
  function today(day: Day | undefined): Day {
    const date = dateOf(now());
    const mine = own.get(file);
    const known = [day, mine].flatMap((one) => (one?.date === date ? one.usd : []));
    const dearest = [day?.dearest, mine?.dearest].filter((usd) => usd !== undefined);
    return {
      date,
      usd: Math.max(0, ...known),
      ...(dearest.length > 0 && { dearest: Math.max(...dearest) }),
      running: (day ?? mine)?.running.filter(({ until }) => until > now()) ?? [],
    };
  }

  /** The file's day; undefined where there is none. A broken file is set aside, so that somebody can look at it. */
  function read(mayMove: boolean): Day | undefined {
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch {
      return undefined;
    }
    try {
      return DaySchema.parse(JSON.parse(text));
    } catch {
      if (mayMove) renameSync(file, `${file}.broken`);
      return undefined;
    }
  }

  function write(day: Day): void {
    const draft = `${file}.${process.pid}`;
    try {
      writeFileSync(draft, `${JSON.stringify(day)}\n`);
      renameSync(draft, file);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  }

  /** Changes the day under the lock; where the file cannot be had, this process's own. */
  async function change<T>(by: (day: Day) => { day: Day; result: T }): Promise<T> {
    try {
      mkdirSync(dirname(file), { recursive: true });
      const { lock } = (await import("proper-lockfile")).default;
      // What is taken from us when this process has been stopped for long is no error: each change writes a whole file.
      const options = { realpath: false, stale: STALE_MS, retries: RETRIES, onCompromised() {} };
      const release = await lock(file, options);
      try {
        const { day, result } = by(today(read(true)));
        write(day);
        own.set(file, day);
        return result;
      } finally {
        await release().catch(() => {});
      }
    } catch (error) {
      tell(messageOf(error));
      const { day, result } = by(today(own.get(file)));
      own.set(file, day);
      return result;
    }
  }

  return {
    spent() {
      const { date, usd } = today(read(false));
      return { date, usd };
    },
    begin(limit, runMs) {
      return change<{ id: string } | "waits" | "over">((day) => {
        const setAside = day.running.reduce((sum, { usd }) => sum + usd, 0);
        const left = limit - day.usd - setAside;
        if (day.usd >= limit) return { day, result: "over" };
        if (left <= 0) return { day, result: "waits" };
        const id = randomUUID();
        const run = { id, usd: day.dearest ?? left, until: now() + runMs };
        return { day: { ...day, running: [...day.running, run] }, result: { id } };
      });
    },
    end(id, usd) {
      return change((day) => ({
        day: {
          ...day,
          usd: day.usd + usd,
          dearest: Math.max(day.dearest ?? 0, usd),
          running: day.running.filter((run) => run.id !== id),
        },
        result: undefined,
      }));
    },
  };
}
