import { expect, it } from "vitest";
import { branchChange } from "../../src/host/branch-sync.ts";
import type { EntryLike } from "../../src/reducers/entry.ts";
import { emptySession, extendSession, sessionOf } from "../../src/reducers/session-state.ts";

/** What Pi's session manager makes of a file: it indexes entries by whatever stands where an id should. */
function sourceOf(ids: readonly unknown[]) {
  const entries = ids.map((id, at) => ({
    ...{ type: "message", id, parentId: ids[at - 1] ?? null, timestamp: "" },
    message: { role: "user", content: "hello" },
  })) as EntryLike[];
  const byId = new Map<unknown, EntryLike>(entries.map((entry) => [entry.id, entry]));
  return {
    getLeafId: () => entries.at(-1)?.id as string,
    getEntry: (id: string) => byId.get(id),
    getBranch: () => entries,
  };
}

it.each([undefined, 7, {}, true])("an entry whose id is %j is read once, and no error", (id) => {
  const source = sourceOf(["a", "b", id]);
  const first = branchChange(source, emptySession());
  if (first.type === "none") expect.unreachable();
  const session =
    first.type === "extended" ? extendSession(emptySession(), first.entries) : sessionOf(first.branch);
  expect(session.branch.length).toBeGreaterThanOrEqual(2);
  expect(branchChange(source, session).type).toBe("none");
});
