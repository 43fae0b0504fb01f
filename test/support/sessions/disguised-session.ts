import { memoryId } from "../../../src/reducers/ledger/memory-id.ts";

/** Writes the clipboard of a terminal that obeys it */
export const OSC_52 = "\u001b]52;c;cm0gLXJm\u0007";

/** A memory's text as somebody hostile might have written it: orders to a terminal, reversed text, a hidden message. */
export const DISGUISED = `Run ${OSC_52}\u009b2J\u202egnp.exe\u202c now\u{e0069}\u{e0067}\u200b.`;
/** The same as a line of memory */
export const UNDISGUISED_LINE = "Run ]52;c;cm0gLXJm 2Jgnp.exe now.";
/** The same as people may see it where it stands as it was written */
export const UNDISGUISED = "Run \uFFFD]52;c;cm0gLXJm\uFFFD\uFFFD2Jgnp.exe now.";

/** What nothing that people are shown may hold */
export const OBEYED_OR_HIDDEN = /(?![\t\n])\p{Cc}|\u200b|[\p{Bidi_Control}\u{e0000}-\u{e007f}]/u;

export const DISGUISED_ID = memoryId(DISGUISED);

/** The lines of a session with such a memory, one drop that names a terminal's order, and a source that gives some. */
export function disguisedSession(): object[] {
  const at = { timestamp: "2026-01-15T14:30:00.000Z" };
  const observation = {
    ...{ id: DISGUISED_ID, content: DISGUISED, timestamp: "2026-01-15 14:30", relevance: "high" },
    ...{ sourceEntryIds: ["e1"], tokenCount: 9 },
  };
  const coversUpToId = "e1";
  return [
    { type: "session", version: 3, id: "disguised", cwd: "/", ...at },
    {
      type: "message",
      id: "e1",
      parentId: null,
      ...at,
      message: { role: "user", content: DISGUISED, timestamp: 0 },
    },
    {
      ...{ type: "custom", id: "e2", parentId: "e1", ...at, customType: "om.observations.recorded" },
      data: { observations: [observation], coversUpToId },
    },
    {
      ...{ type: "custom", id: "e3", parentId: "e2", ...at, customType: "om.observations.dropped" },
      data: { observationIds: [`${OSC_52}\n◦ Memory: forged`], coversUpToId },
    },
  ];
}
