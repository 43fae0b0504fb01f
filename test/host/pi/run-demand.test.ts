import { expect, it } from "vitest";
import { demandedLane } from "../../../src/host/pi/run-demand.ts";

it.each([
  ["", "observer"],
  [" observer ", "observer"],
  ["reflector", "reflectDrop"],
])("/om:run %j is a run of the lane %s", (args, lane) => {
  expect(demandedLane(args)).toEqual({ lane });
});

it.each(["dropper", "constructor", "toString", "__proto__"])("/om:run %s is told what there is", (word) => {
  expect(demandedLane(word)).toEqual({
    problem: `/om:run does not know "${word}". Use /om:run observer or /om:run reflector.`,
  });
});
