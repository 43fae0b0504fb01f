import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";

/** A session file, and the one entry of it that a row of the table in docs/how-it-works.md is about. */
export interface EntryCase {
  file: string;
  /** Id of that entry. In files without ids: `line2`, as `parseSession` names it. */
  about: string;
  /** The branch to open. Unset: the one that ends with the last entry. */
  leaf?: string;
  /** Pi's own functions throw on such a file, so that they cannot be asked. */
  beyondPi?: boolean;
}

/** Writes a case's session file into a folder. */
export type BuildCase = (dir: string) => EntryCase;

type Line = Record<string, unknown>;

const HEADER = {
  type: "session",
  version: 3,
  id: "case",
  timestamp: "2026-01-15T14:00:00.000Z",
  cwd: "/work",
};
const USAGE = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0 } };
const REPLY = { api: "a", provider: "p", model: "m", usage: USAGE, stopReason: "stop", timestamp: 0 };
const PIXELS = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";

/** A session of these entries; ids and parents are given where an entry has none. */
function session(lines: Line[], header: Line = HEADER): (dir: string) => string {
  return (dir) => {
    const file = join(dir, "session.jsonl");
    const entries = lines.map((line, n) => ({
      id: `e${n + 1}`,
      parentId: n === 0 ? null : `e${n}`,
      timestamp: `2026-01-15T14:${String(n).padStart(2, "0")}:00.000Z`,
      ...line,
    }));
    writeFileSync(file, [header, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    return file;
  };
}

/** A session of one question and these entries, the first of which the row is about. */
function after(...lines: Line[]): BuildCase {
  return (dir) => ({ file: session([message("user", "Begin."), ...lines])(dir), about: "e2" });
}

function message(role: string, content: unknown, more: Line = {}): Line {
  return { type: "message", message: { role, content, timestamp: 0, ...more } };
}

function user(text: string): Line {
  return message("user", text);
}

function assistant(...content: Line[]): Line {
  return message("assistant", content, REPLY);
}

function toolResult(content: Line[], more: Line = {}): Line {
  return message("toolResult", content, { toolCallId: "c1", toolName: "read", isError: false, ...more });
}

function text(words: string): Line {
  return { type: "text", text: words };
}

function image(): Line {
  return { type: "image", mimeType: "image/png", data: PIXELS };
}

function bash(more: Line = {}): Line {
  const { message: fields } = message("bashExecution", undefined, {
    command: "npm test",
    output: "3 passed",
    exitCode: 0,
    cancelled: false,
    truncated: false,
    ...more,
  });
  return { type: "message", message: fields };
}

function edit(targetId: string, replacement: unknown): Line {
  return { type: "context_edit", targetId, replacement };
}

function compaction(firstKeptEntryId: string): Line {
  return { type: "compaction", summary: "Earlier: the plan.", firstKeptEntryId, tokensBefore: 9 };
}

/** A session that Pi's own manager writes; the row is about the entry that `write` gives. */
function managed(
  write: (manager: SessionManager, dir: string) => { about: string; file?: string },
): BuildCase {
  return (dir) => {
    const manager = SessionManager.create("/work", dir);
    const { about, file = manager.getSessionFile() ?? "" } = write(manager, dir);
    return { file, about };
  };
}

const hello = () => ({ role: "user", content: "Begin.", timestamp: 0 }) as const;
const said = (words: string) => ({ role: "user", content: words, timestamp: 0 }) as const;

/** A case for every row of the table, by the row's case id. */
export const ENTRY_CASES: Readonly<Record<string, BuildCase>> = {
  "user-text": after(user("Ship it on Friday.")),
  "user-image": after(message("user", [text("Look at this."), image()])),
  "assistant-text": after(assistant({ type: "thinking", thinking: "It is late." }, text("I will."))),
  "assistant-redacted": after(
    assistant(
      { type: "thinking", thinking: "", thinkingSignature: "c2VjcmV0", redacted: true },
      text("Done."),
    ),
  ),
  "assistant-call": after(
    assistant({ type: "toolCall", id: "c1", name: "read", arguments: { path: "a.ts" } }),
    toolResult([text("one line")]),
  ),
  "assistant-failed": after(
    message("assistant", [text("I am")], { ...REPLY, stopReason: "error", errorMessage: "503" }),
  ),
  "tool-result": after(toolResult([text("one line")])),
  "tool-error": after(toolResult([text("no such file")], { isError: true })),
  "tool-image": after(toolResult([image()])),
  "nested-calls": after(
    toolResult([text("2 done")], {
      toolName: "script",
      nestedCalls: {
        complete: true,
        calls: [
          { id: "n1", name: "read", arguments: { path: "b.ts" }, status: "ok" },
          { id: "n2", name: "bash", arguments: { command: "ls" }, status: "error", error: "denied" },
        ],
      },
    }),
  ),
  bash: after(bash()),
  "bash-hidden": after(bash({ excludeFromContext: true })),
  "custom-role": after(message("custom", "The build is green.", { customType: "ci", display: true })),
  "custom-message": after({
    type: "custom_message",
    customType: "mailbox",
    content: "A letter came.",
    display: false,
  }),
  "branch-summary": after({ type: "branch_summary", fromId: "e1", summary: "The other way failed." }),
  "branch-summary-empty": after({ type: "branch_summary", fromId: "e1", summary: "" }),
  "assistant-plain": after(message("assistant", "I will.", REPLY)),
  "null-content": after(message("user", null)),
  "system-prompt": after(
    message("system", "You are an agent.", { sections: { cwd: "/work" }, toolsAdded: [{ name: "read" }] }),
  ),
  "unknown-role": after(message("oracle", "Beware.")),
  "unknown-block": after(message("user", [text("Hear this."), { type: "audio", data: "UklGRg==" }])),
  "no-message": (dir) => ({ ...after({ type: "message", message: null })(dir), beyondPi: true }),
  "edit-omits": after(assistant(text("A try.")), edit("e2", null)),
  "edit-replaces": after(
    toolResult([text("a thousand lines")]),
    edit("e2", { content: [text("(ten lines)")] }),
  ),
  "edit-latest": after(user("first"), edit("e2", null), edit("e2", { content: "third" })),
  "edit-elsewhere": (dir) => ({
    file: session([
      user("Begin."),
      user("Stay."),
      { ...edit("e2", null), id: "left", parentId: "e2" },
      { ...user("Go on."), id: "e4", parentId: "e2" },
    ])(dir),
    about: "e2",
    leaf: "e4",
  }),
  "edit-of-bash": after(bash(), edit("e2", null), edit("e2", { content: "never ran" })),
  "edit-itself": (dir) => ({ ...after(user("first"), edit("e2", null))(dir), about: "e3" }),
  usage: after({ type: "usage", kind: "cache_warm", provider: "p", model: "m", usage: USAGE }),
  label: after({ type: "label", targetId: "e1", label: "start" }),
  "session-info": after({ type: "session_info", name: "Ferries" }),
  "model-change": after({ type: "model_change", provider: "p", modelId: "m" }),
  "thinking-change": after({ type: "thinking_level_change", thinkingLevel: "high" }),
  "extension-state": after({ type: "custom", customType: "todo", data: { open: 3 } }),
  "memory-entry": after({
    type: "custom",
    customType: "om.reflections.recorded",
    data: {
      reflections: [
        { id: "0123456789ab", content: "User is brief.", supportingObservationIds: [], tokenCount: 4 },
      ],
      coversUpToId: "e1",
    },
  }),
  "future-type": after({ type: "hologram", content: "Hello." }),
  compaction: after({ ...compaction("e1") }, user("Go on.")),
  "compaction-keeps-none": after(compaction("e2"), user("Go on.")),
  "cut-away": after(user("Old news."), user("Kept."), compaction("e3"), user("Go on.")),
  "kept-tail": (dir) => ({ ...after(user("Old."), user("Kept."), compaction("e3"))(dir), about: "e3" }),
  "other-root": (dir) => ({
    file: session([user("A false start."), { ...user("Again."), parentId: null }, user("Go on.")])(dir),
    about: "e1",
  }),
  "this-root": (dir) => ({
    file: session([user("A false start."), { ...user("Again."), parentId: null }, user("Go on.")])(dir),
    about: "e2",
  }),
  "other-branch": managed((manager) => {
    const root = manager.appendMessage(hello());
    const about = manager.appendMessage(said("Left behind."));
    manager.branch(root);
    manager.appendMessage(said("Another way."));
    return { about };
  }),
  fork: managed((manager, dir) => {
    manager.appendMessage(hello());
    const about = manager.appendMessage(said("Before the fork."));
    const forked = SessionManager.forkFrom(manager.getSessionFile() ?? "", "/elsewhere", join(dir, "fork"));
    forked.appendMessage(said("After the fork."));
    return { about, file: forked.getSessionFile() ?? "" };
  }),
  clone: managed((manager) => {
    manager.appendMessage(hello());
    const about = manager.appendMessage(said("Labelled."));
    manager.appendLabelChange(about, "here");
    const file = manager.createBranchedSession(manager.appendMessage(said("The end."))) ?? "";
    return { about, file };
  }),
  "version-1": (dir) => {
    const { id: _, version: __, ...header } = { ...HEADER };
    const lines = [user("Begin."), user("An old file."), { ...compaction(""), firstKeptEntryIndex: 2 }];
    const file = session(lines, { ...header, id: "old" })(dir);
    const bare = readFileSync(file, "utf8").replace(
      /"(id|parentId)":("e\d+"|null),|"firstKeptEntryId":"",/g,
      "",
    );
    writeFileSync(file, bare);
    return { file, about: "line3" };
  },
  "version-2": (dir) => {
    const lines = [
      user("Begin."),
      message("hookMessage", "From a hook.", { customType: "hook", display: true }),
    ];
    return { file: session(lines, { ...HEADER, version: 2 })(dir), about: "e2" };
  },
};
