import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LANES } from "../../../src/reducers/engine/lane-names.ts";
import {
  memoryMode,
  PLAIN_HOST,
  SessionHostSchema,
  whyPassive,
} from "../../../src/reducers/engine/session-host.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../src/reducers/settings.ts";
import { schedule } from "../../support/engine/schedule.ts";

type Subagents = Settings["subagents"];
const hosted = (subagents: Subagents, kept: "file" | "child" | "inMemory", more: Partial<Settings> = {}) => ({
  settings: { ...DEFAULT_SETTINGS, ...(subagents && { subagents }), ...more },
  host: { kept, print: false },
});

describe("what memory does in a session", () => {
  it.each([
    ["file", undefined, "on"],
    ["file", "off", "on"],
    ["child", undefined, "on"],
    ["child", "fold", "fold"],
    ["child", "off", "off"],
    ["inMemory", undefined, "fold"],
    ["inMemory", "on", "on"],
    ["inMemory", "off", "off"],
  ] as const)("%s, subagents %s: %s", (kept, subagents, mode) => {
    expect(memoryMode(hosted(subagents, kept))).toBe(mode);
  });

  it("names the setting for which lanes do nothing by themselves", () => {
    expect(whyPassive(hosted(undefined, "inMemory"), "observer")).toBe("subagents: fold");
    expect(whyPassive(hosted("off", "child"), "compaction")).toBe("subagents: off");
    expect(whyPassive(hosted("off", "child", { passive: true }), "observer")).toBe("passive: true");
  });

  it("in print mode without time to wait, no worker runs, but memory compacts", () => {
    const print = {
      ...hosted(undefined, "file", { printWaitMs: 0 }),
      host: { kept: "file", print: true },
    } as const;
    expect(LANES.map((lane) => whyPassive(print, lane))).toEqual([
      "printWaitMs: 0",
      "printWaitMs: 0",
      undefined,
    ]);
    expect(whyPassive({ ...print, host: PLAIN_HOST }, "observer")).toBeUndefined();
  });
});

describe("the lanes of a session that does nothing by itself", () => {
  it("are passive whatever happens, and a replay of its events shows it", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("child" as const, "inMemory" as const),
        fc.constantFrom("fold" as const, "off" as const),
        fc.array(fc.nat({ max: 200_000 }), { maxLength: 8 }),
        (kept, subagents, turns) => {
          const s = schedule();
          const host = SessionHostSchema.parse({ kept, print: false });
          const settings = { ...DEFAULT_SETTINGS, subagents };
          s.tell({ type: "session.opened", reason: "startup", sessionId: "s", settings, host, branch: [] });
          for (const tokens of turns) {
            s.turn(tokens);
            s.settle();
          }
          expect(s.steps.flatMap(({ commands }) => commands)).toEqual([]);
          expect(Object.values(s.engine.snapshot.states)).toEqual(["passive", "passive", "passive"]);
        },
      ),
    );
  });
});
