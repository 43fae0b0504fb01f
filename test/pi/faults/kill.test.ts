import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  type ChatRequest,
  chunkBlocks,
  defaultDropper,
  defaultObserver,
  defaultReflector,
  freshToolResults,
  type RecordedRequest,
  type Role,
} from "../../../demo/model/scripted-model.ts";
import type { PiProcess } from "../../../demo/pi/pi-process.ts";
import { foldLedger, parseSession, readClocks } from "../../../src/index.ts";
import { isSourceAt } from "../../../src/reducers/branch.ts";
import { OBSERVATIONS_RECORDED, type ObservationsRecorded } from "../../../src/reducers/ledger/records.ts";
import { sessionOfEntries } from "../../../src/reducers/memory.ts";
import { lanesAtRest, openHost, type PiHost, prose, SMALL, waitFor } from "../support/harness.ts";
import { expectNoErrors } from "./outcome.ts";

const KILLS = 52;
/** A cold computation is held against every so many resumed sessions: it costs the engine's start. */
const CHECKED = 8;
const WORKERS: readonly Role[] = ["observer", "reflector", "dropper"];

/** Takes its time, so that kills find it at work. */
function slowly(worker: (request: ChatRequest) => ReturnType<typeof defaultObserver>) {
  return async (request: ChatRequest) => {
    await sleep(Math.random() * 60);
    return worker(request);
  };
}

/**
 * A moment to be killed at: in turn while Pi starts and loads the engine, while a worker is at work, and twice about
 * when a worker's last answer comes, before or after what it recorded is written.
 */
async function untilMoment({ model }: PiHost, kill: number): Promise<void> {
  const before = model.requests.length;
  const since = (isIt: (request: RecordedRequest) => boolean) => () =>
    model.requests.slice(before).some((request) => WORKERS.includes(request.role) && isIt(request));
  if (kill % 4 === 0) return sleep(Math.random() * 400);
  if (kill % 4 === 1) {
    await waitFor(
      since(() => true),
      "a worker to ask",
      { everyMs: 5 },
    );
    return sleep(Math.random() * 60);
  }
  await waitFor(
    since(({ answered }) => answered),
    "a worker to be answered",
    { everyMs: 5 },
  );
  return sleep(Math.random() * 40);
}

/** One turn after another until Pi is gone. */
async function talk(pi: PiProcess, said: () => number): Promise<void> {
  try {
    for (;;) await pi.prompt(`What is in bay ${said()}?`);
  } catch {
    // That is how it ends.
  }
}

const FEWEST_BATCHES = 5;
const MOST_BAYS = 5000;

describe("kill -9 at random moments", () => {
  it("leaves a session that opens, with nothing observed twice, no range skipped and the clocks of a cold computation", {
    timeout: 900_000,
  }, async () => {
    const host = await openHost({
      memory: SMALL,
      script: {
        agent: (_request, nth) => ({
          text: prose(250, nth),
          toolCalls: nth % 3 === 0 ? [{ name: "bash", arguments: { command: "echo ferries" } }] : [],
        }),
        observer: slowly(defaultObserver),
        reflector: slowly(defaultReflector),
        dropper: slowly(defaultDropper),
      },
    });
    let bays = 0;
    const bay = () => ++bays;
    try {
      await host.pi.prompt(`What is in bay ${bay()}?`);
      const session = await host.pi.sessionFile();
      for (let kill = 1; kill <= KILLS; kill++) {
        const talking = talk(host.pi, bay);
        await untilMoment(host, kill);
        await host.pi.kill();
        await talking;
        await host.restart({ session });
        expect(await host.pi.sessionFile()).toBe(session);
        if (kill % CHECKED === 0) await expectColdClocks(host);
      }
      // On a busy machine few runs end before they are killed; there must be enough memory to look at.
      do {
        await host.pi.prompt(`What is in bay ${bay()}?`);
        await lanesAtRest(host.pi);
      } while (batchesIn(session).length <= FEWEST_BATCHES && bays < MOST_BAYS);
      await expectColdClocks(host);
      expectWholeMemory(host, session);
      expectNoErrors(host);
    } finally {
      await host.close();
    }
  });
});

/** What `/om:status` counts is what the file, read from its beginning, has. */
async function expectColdClocks(host: PiHost): Promise<void> {
  const status = await lanesAtRest(host.pi);
  const entries = parseSession(readFileSync(await host.pi.sessionFile(), "utf8"));
  const clocks = readClocks(entries);
  for (const [name, clock] of Object.entries({ ...clocks, since: clocks.sinceCompaction })) {
    if (name === "sinceCompaction") continue;
    expect(status).toMatch(new RegExp(`^ +${name} +${clock.toLocaleString("en-US")} (of|since)`, "m"));
  }
  const { activeObservations, reflections } = foldLedger(entries);
  expect(status).toMatch(
    new RegExp(`full +${activeObservations.length} active .*, ${reflections.length} reflection`),
  );
}

/** The observer's ledger entries in a session file. */
function batchesIn(session: string): unknown[] {
  return parseSession(readFileSync(session, "utf8")).filter(
    (entry) => "customType" in entry && entry.customType === OBSERVATIONS_RECORDED,
  );
}

function expectWholeMemory({ model }: PiHost, session: string): void {
  const text = readFileSync(session, "utf8");
  for (const line of text.trimEnd().split("\n")) JSON.parse(line);
  const entries = parseSession(text);
  const place = new Map(entries.map(({ id }, at) => [id, at]));
  const shown = new Set(
    model
      .by("observer")
      .filter(({ body }) => freshToolResults(body).length === 0)
      .flatMap(({ body }) => chunkBlocks(body).map(({ entryId }) => entryId)),
  );
  const { branch } = sessionOfEntries(entries).session;
  const ids = new Set<string>();
  let covered = -1;
  let batches = 0;
  for (const entry of entries) {
    const { customType, data } = entry as { customType?: string; data?: ObservationsRecorded };
    if (customType !== OBSERVATIONS_RECORDED || !data) continue;
    batches++;
    const through = place.get(data.coversUpToId) ?? -1;
    expect(through).toBeGreaterThan(covered);
    for (const { id, sourceEntryIds } of data.observations) {
      expect(ids).not.toContain(id);
      ids.add(id);
      for (const source of sourceEntryIds) {
        expect(place.get(source)).toBeGreaterThan(covered);
        expect(place.get(source)).toBeLessThanOrEqual(through);
      }
    }
    covered = through;
  }
  expect(batches).toBeGreaterThan(FEWEST_BATCHES);
  const skipped = entries.filter(({ id }, at) => at <= covered && isSourceAt(branch, at) && !shown.has(id));
  expect(skipped).toEqual([]);
}
