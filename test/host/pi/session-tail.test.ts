import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isExtendedElsewhere } from "../../../src/host/pi/session-tail.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "session-tail-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const say = (manager: SessionManager, characters: number) =>
  manager.appendMessage({ role: "user", content: "ä".repeat(characters), timestamp: 0 });

/** What may happen to a session that two processes have open. Lines of all lengths, also beyond what is read at once. */
const acts = fc.array(
  fc.record({
    by: fc.constantFrom("here" as const, "there" as const),
    does: fc.constantFrom("says" as const, "notes" as const, "breaks off" as const),
    characters: fc.oneof(fc.nat({ max: 300 }), fc.constantFrom(30_000, 70_000, 150_000)),
  }),
  { maxLength: 10 },
);

describe("whether a session's file has been extended elsewhere", () => {
  it("is whether somebody else's entry is the last one, whatever was written", () => {
    fc.assert(
      fc.property(acts, (done) => {
        const here = SessionManager.create(dir, dir);
        say(here, 1);
        const file = here.getSessionFile() ?? "";
        const there = SessionManager.open(file, dir);
        let last: "here" | "there" | "both" = "both";
        for (const { by, does, characters } of done) {
          const manager = by === "here" ? here : there;
          if (does === "says") say(manager, characters);
          else if (does === "notes") manager.appendCustomEntry("note", { text: "x".repeat(characters) });
          // A process that was killed while it wrote.
          else appendFileSync(file, `{"type":"message","text":"${"y".repeat(characters)}\n\n`);
          if (does !== "breaks off") last = by;
          expect(isExtendedElsewhere(here)).toBe(last === "there");
          expect(isExtendedElsewhere(there)).toBe(last === "here");
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is not so for a session that is not kept, not yet written, or whose file is gone", () => {
    const inMemory = SessionManager.inMemory(dir);
    say(inMemory, 1);
    expect(isExtendedElsewhere(inMemory)).toBe(false);
    const kept = SessionManager.create(dir, dir);
    expect(isExtendedElsewhere(kept)).toBe(false);
    say(kept, 1);
    rmSync(kept.getSessionFile() ?? "");
    expect(isExtendedElsewhere(kept)).toBe(false);
  });

  it("is not so for a file that this Pi has just opened, also one of an old version", () => {
    const file = join(dir, "old.jsonl");
    const message = { role: "user", content: "Hello.", timestamp: 0 };
    appendFileSync(file, `${JSON.stringify({ type: "session", id: "s", timestamp: "", cwd: dir })}\n`);
    appendFileSync(file, `${JSON.stringify({ type: "message", timestamp: "", message })}\n`);
    expect(isExtendedElsewhere(SessionManager.open(file, dir))).toBe(false);
  });
});
