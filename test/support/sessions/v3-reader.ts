import { v3Accepts } from "./v3-rules.ts";

type Fields = Record<string, unknown>;

/** A line of a session file after its header. */
export interface SessionLine extends Fields {
  id: string;
  parentId: string | null;
  type: string;
}

/** What a reader of V3 makes of a session. It knows three kinds of ledger entries and the details of its own compactions. */
export interface V3View {
  /** As V3 shows them, in the order of recording */
  observations: string[];
  reflections: string[];
  /** Every recorded observation by id, for recall: its state and its sources */
  recalled: Record<string, { status: "active" | "dropped"; sources: string[] }>;
  /** What the latest compaction of its kind made visible */
  visible: { observations: string[]; reflections: string[] };
  /** Conversation after each mark, in characters of its text */
  clocks: { observe: number; reflect: number; drop: number; compact: number };
}

const SOURCES = ["message", "custom_message", "branch_summary"];

/**
 * Reads a branch as the V3 extension does: folds `om.observations.recorded`, `om.reflections.recorded` and
 * `om.observations.dropped` from the root to the tip, and looks at nothing else that memory may have written. Written from V3's
 * description, with nothing of this project's fold in it.
 */
export function readAsV3(lines: readonly SessionLine[]): V3View {
  const branch = branchOf(lines);
  const at = new Map(branch.map(({ id }, position) => [id, position]));
  const observations = new Map<string, Fields>();
  const reflections = new Map<string, Fields>();
  const dropped = new Set<string>();
  const marks = { observe: -1, reflect: -1, drop: -1 };
  let compact = 0;
  let folded: Fields = {};
  for (const [position, entry] of branch.entries()) {
    if (entry.type === "compaction") {
      compact = at.get(String(entry.firstKeptEntryId)) ?? position;
      const details = fieldsOf(entry.details);
      if (details.type === "om.folded" && details.version === 1) folded = details;
    }
    if (entry.type !== "custom") continue;
    const data = fieldsOf(entry.data);
    const mark = at.get(String(data.coversUpToId)) ?? -1;
    if (mark < 0 || mark >= position) continue;
    switch (entry.customType) {
      case "om.observations.recorded":
        if (record(observations, data.observations, "observation"))
          marks.observe = Math.max(marks.observe, mark);
        break;
      case "om.reflections.recorded":
        if (record(reflections, data.reflections, "reflection"))
          marks.reflect = Math.max(marks.reflect, mark);
        break;
      case "om.observations.dropped":
        for (const id of listOf(data.observationIds)) dropped.add(String(id));
        marks.drop = Math.max(marks.drop, mark);
        break;
    }
  }
  const after = (position: number) =>
    branch
      .slice(position)
      .filter(({ type }) => SOURCES.includes(type))
      .reduce(
        (sum, { message, content, summary }) => sum + JSON.stringify(message ?? content ?? summary).length,
        0,
      );
  const active = [...observations.values()].filter(({ id }) => !dropped.has(String(id)));
  return {
    observations: active.map(observationLine),
    reflections: [...reflections.values()].map(reflectionLine),
    recalled: Object.fromEntries(
      [...observations].map(([id, { sourceEntryIds }]) => [
        id,
        {
          status: dropped.has(id) ? "dropped" : "active",
          sources: listOf(sourceEntryIds).map((source) =>
            JSON.stringify(branch[at.get(String(source)) ?? -1]?.message ?? "missing"),
          ),
        },
      ]),
    ),
    visible: {
      observations: listOf(folded.observations).map((one) => observationLine(fieldsOf(one))),
      reflections: listOf(folded.reflections).map((one) => reflectionLine(fieldsOf(one))),
    },
    clocks: {
      observe: after(marks.observe + 1),
      reflect: after(marks.reflect + 1),
      drop: after(marks.drop + 1),
      compact: after(compact),
    },
  };
}

/** From the file's last entry up to the root, turned round. */
function branchOf(lines: readonly SessionLine[]): SessionLine[] {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const branch: SessionLine[] = [];
  for (let next = lines.at(-1); next; next = byId.get(next.parentId ?? "")) branch.unshift(next);
  return branch;
}

/** Takes a batch, if each of its records is sound; the first of an id counts. */
function record(into: Map<string, Fields>, list: unknown, kind: "observation" | "reflection"): boolean {
  const records = listOf(list);
  if (records.length === 0 || !records.every((one) => v3Accepts(kind, one))) return false;
  for (const one of records.map(fieldsOf)) if (!into.has(String(one.id))) into.set(String(one.id), one);
  return true;
}

const observationLine = ({ id, timestamp, relevance, content }: Fields) =>
  `[${id}] ${timestamp} [${relevance}] ${content}`;
const reflectionLine = ({ id, content }: Fields) => `[${id}] ${content}`;

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
