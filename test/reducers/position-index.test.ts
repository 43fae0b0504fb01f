import { describe, expect, it } from "vitest";
import { findPosition, indexPositions } from "../../src/reducers/position-index.ts";

describe("an index of positions", () => {
  it("finds every id of a list that grows, the first where one is repeated", () => {
    const ids: string[] = [];
    const index = indexPositions(ids);
    expect(findPosition(index, "e0")).toBeUndefined();
    for (let n = 0; n < 1000; n++) {
      ids.push(`e${n}`);
      // Whether taken in one by one, or several at once
      if (n % 7 === 0) expect(findPosition(index, `e${n}`)).toBe(n);
    }
    ids.push("e3", "", "e3");
    expect(ids.slice(0, 1000).map((id) => findPosition(index, id))).toEqual(
      Array.from({ length: 1000 }, (_, n) => n),
    );
    expect(findPosition(index, "")).toBe(1001);
    for (const unknown of ["e1000", "e", "E1", "0"]) expect(findPosition(index, unknown)).toBeUndefined();
  });

  it("tells ids of one hash apart", () => {
    // Found by trying
    const alike = ["439d5b17", "a09b6123"];
    for (const [one = "", other = ""] of [alike, alike.toReversed()]) {
      const ids = [one];
      const index = indexPositions(ids);
      expect(findPosition(index, other)).toBeUndefined();
      ids.push(other);
      expect([one, other].map((id) => findPosition(index, id))).toEqual([0, 1]);
      for (let n = 0; n < 100; n++) ids.push(`e${n}`);
      expect([one, other, "e99"].map((id) => findPosition(index, id))).toEqual([0, 1, 101]);
    }
  });

  it("finds nothing for what a damaged file has in place of an id", () => {
    const index = indexPositions(["undefined", "1", "[object Object]"]);
    for (const id of [undefined, null, 1, {}, ["1"]])
      expect(findPosition(index, id as unknown as string)).toBeUndefined();
  });
});
