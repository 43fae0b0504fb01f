import { describe, expect, it } from "vitest";
import {
  diffProjections,
  foldLedger,
  memoryId,
  type Projection,
  parseSession,
  planCompaction,
  projectForCompaction,
  projectFull,
  projectVisible,
  readClocks,
  recall,
} from "../../../src/index.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { isObservation } from "../../../src/reducers/ledger/records.ts";
import { fixtureText, V3_SESSIONS } from "../../support/sessions/v3-sessions.ts";

describe.each(Object.entries(V3_SESSIONS))("a session of the V3 extension with %s", (_name, expected) => {
  const { file, leaf } = expected;
  const entries = parseSession(fixtureText(file), leaf === undefined ? {} : { leaf });
  const last = entries.at(-1)?.id ?? "";

  it("folds", () => {
    const folded = foldLedger(entries);
    expect(contents(folded.observations)).toEqual(expected.observations);
    expect(contents(folded.activeObservations)).toEqual(expected.active);
    expect(contents(folded.reflections)).toEqual(expected.reflections);
    expect(folded.ignored).toEqual(expected.ignored);
    const dropped = folded.observations.filter(({ content }) => !expected.active.includes(content));
    expect(folded.droppedObservationIds).toEqual(expect.arrayContaining(dropped.map(({ id }) => id)));
  });

  it("has the memory that its latest compaction made visible, and the drift from there", () => {
    const visible = projectVisible(entries);
    const full = projectFull(entries);
    expect(inWords(visible)).toEqual(expected.visible);
    expect(inWords(full)).toEqual({ observations: expected.active, reflections: expected.reflections });
    const drift = diffProjections(visible, full);
    expect(contents(drift.observationsToAppear)).toEqual(
      expected.active.filter((content) => !expected.visible.observations.includes(content)),
    );
    expect(contents(drift.observationsToLeave)).toEqual(
      expected.visible.observations.filter((content) => !expected.active.includes(content)),
    );
  });

  it("goes by these clocks", () => {
    expect(readClocks(entries)).toEqual(expected.clocks);
  });

  it.each([
    ["as V3 folds, by the pool alone", "pool", expected.next, false],
    ["by the default policy", "pressure", expected.anew ?? expected.next, expected.anew !== undefined],
  ] as const)("is folded on by the next compaction %s", (_name, foldPolicy, memory, isFull) => {
    const { fullFold, ...projection } = projectForCompaction(entries, last, {
      observationsPoolMaxTokens: 20_000,
      foldPolicy,
    });
    expect(fullFold).toBe(isFull);
    expect(inWords(projection)).toEqual(memory);
    const plan = planCompaction(entries, last, { foldPolicy });
    expect(plan?.details).toMatchObject({ type: "om.folded", version: 1, fullFold: isFull });
    for (const { id, content } of [...projection.observations, ...projection.reflections]) {
      expect(plan?.summary).toContain(`[${id}] `);
      expect(plan?.summary).toContain(content);
    }
  });

  it("folds everything anew under pressure", () => {
    const { fullFold, ...projection } = projectForCompaction(entries, "", { observationsPoolMaxTokens: 1 });
    expect(fullFold).toBe(true);
    expect(projection).toEqual(projectFull(entries));
  });

  it.each(Object.entries(expected.recalls))("recalls: %s", (content, answer) => {
    expect(recalled(entries, content)).toBe(answer);
  });
});

function contents(records: readonly { content: string }[]): string[] {
  return records.map(({ content }) => content);
}

function inWords({ observations, reflections }: Projection) {
  return { observations: contents(observations), reflections: contents(reflections) };
}

/** The sources of every record of this content, each once. */
function sourcesRecorded(entries: EntryLike[], content: string): string[] {
  const records = entries.flatMap((entry) => {
    const { data } = entry as { data?: { observations?: unknown } };
    return Array.isArray(data?.observations) ? data.observations.filter(isObservation) : [];
  });
  const cited = records.filter((record) => record.content === content);
  return [...new Set(cited.flatMap(({ sourceEntryIds }) => sourceEntryIds))];
}

/** What recall says of a record, and that it has the words of every source. */
function recalled(entries: EntryLike[], content: string): string {
  const { observation, reflection } = recall(entries, memoryId(content));
  if (observation) {
    expect(observation.observation.content).toBe(content);
    const cited = observation.sources.map((source) => [source.entryId, source.status]);
    const onBranch = (id: string) => entries.some((entry) => entry.id === id);
    expect(cited).toEqual(
      sourcesRecorded(entries, content).map((id) => [id, onBranch(id) ? "found" : "missing"]),
    );
    return observation.status;
  }
  if (!reflection) return "unknown";
  expect(reflection.reflection.content).toBe(content);
  expect(reflection.missingObservationIds).toEqual([]);
  return reflection.supporting.map(({ status }) => status).join(", ");
}
