import type { Transition } from "../../../machines/engine.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import type { LaneName } from "../../../reducers/engine/lane-names.ts";

/** What the server tells the page, as JSON. Positions are indexes of events, counted from 0. */
export interface Overview extends Progress {
  source: {
    kind: "recording" | "session" | "live";
    name: string;
    /** What opens it again, for a shell; null for what cannot be opened twice */
    command: string | null;
    /** The file name of the recording that can be saved of it; null for what is in a file already */
    saveAs: string | null;
  };
  firstAt: number;
  /** The first event that moved a lane or asked for something, by index; null when none has yet */
  firstDecision: number | null;
  /** It is shown beside the run under the settings as they were. */
  hasReal: boolean;
  /** Whether the texts of memory can be shown */
  hasTexts: boolean;
}

/** What changes as the source grows; the live socket says it whenever it has. */
export interface Progress {
  count: number;
  /** No more events will come */
  complete: boolean;
  /** What there is already is still being read */
  reading: boolean;
  lastAt: number;
  /** What to know of the source, in words */
  notes: string[];
  /** How often each arrow of a lane's chart was taken */
  taken: Record<LaneName, Record<string, number>>;
}

export type Axis = "event" | "time";

export interface Timeline extends LanesDrawn {
  /** The run under the settings as they were, beside the what-if that is shown; on the time axis only */
  real: LanesDrawn | null;
  axis: Axis;
  /** What is shown, in units of the axis: indexes or milliseconds */
  from: number;
  to: number;
  /** What to add to an index for the number of its event; it holds where no event is missing */
  offset: number;
  /** Thinned to what the width can show */
  clocks: { x: number[]; values: Record<LaneName, number[]>; thresholds: Record<LaneName, number[]> };
}

/** The lanes of one run, as they are drawn. */
export interface LanesDrawn {
  /** Each lane's states as `[from, to, state]` in units of the axis */
  lanes: Record<LaneName, [number, number, string][]>;
  runs: TimelineRun[];
  compactions: (CompactionMark & Drawn & { x: number })[];
  /** Instead of single stretches, runs and compactions, where those cannot be told apart any more */
  histogram: Histogram | null;
}

/** A stretch of the time line in columns of equal width; every list has one number for each. */
export interface Histogram {
  columns: number;
  /** Each lane's share of every state that it was in, from 0 to 1 */
  states: Record<LaneName, Record<string, number[]>>;
  /** Runs that ended, and those of them that failed */
  runs: Record<LaneName, number[]>;
  failed: Record<LaneName, number[]>;
  compactions: number[];
}

/** Two moments of one run. */
export interface MomentsCompared {
  a: EventRow;
  b: EventRow;
  changes: Change[];
  /** Lines of all that holds, by where they stand */
  onlyA: MemoryLine[];
  onlyB: MemoryLine[];
  both: MemoryLine[];
}

/** Two runs over one session: as it was, and as it would have been under other settings. */
export interface RunsCompared {
  sums: { name: string; real: string; whatIf: string; delta: number; more: string }[];
  lanes: {
    lane: LaneName;
    /** Stretches of time in which the lane is in another state */
    times: number;
    /** Of the time that both runs span, from 0 to 1 */
    share: number;
    /** When the first of them begins, in milliseconds since the epoch; null for none */
    firstAt: number | null;
  }[];
}

/** What happened between two events, summed. */
export interface StretchTotals {
  events: number;
  /** From the first to the last, in milliseconds */
  ms: number;
  /** Source tokens that the session grew by */
  sourceTokens: number;
  /** Lines of memory */
  recorded: number;
  dropped: number;
  compactions: number;
  /** What all of it cost, as people read it; prices that are not known are no zero */
  money: string;
  workers: {
    worker: string;
    runs: number;
    failed: number;
    requests: number;
    /** Model tokens */
    input: number;
    output: number;
    /** USD */
    cost: number;
  }[];
}

/** One worker run. */
export interface RunMark {
  lane: LaneName;
  worker: string;
  runId: string;
  /** The index of the event that started it */
  from: number;
  /** The index of its result; null while it runs */
  to: number | null;
  outcome: string | null;
  records: number;
  durationMs: number | null;
}

export interface CompactionMark {
  index: number;
  result: "folded" | "not ours" | "failed";
}

/** The marks of one kind that are drawn as one. */
interface Drawn {
  /** More than 1 where several were too close to be told apart */
  count: number;
}

export interface TimelineRun extends RunMark, Drawn {
  x0: number;
  x1: number;
}

/** Which events to show. */
export interface EventFilter {
  /** Types to show; all when empty */
  types: readonly string[];
  /** Only events that moved one of these lanes, when there are any */
  lanes: readonly LaneName[];
  /** Words that the event or what it did must contain, whatever their case */
  text: string;
}

export interface EventRow {
  index: number;
  number: number;
  at: number;
  type: EngineEvent["type"];
  /** A model of the workers made it up */
  modelled: boolean;
  words: string;
  decision: string;
  lanes: LaneName[];
}

export interface EventPage {
  /** Events that match, of those that have been searched */
  matches: number;
  /** How many events have been searched; ask again for the rest. */
  searched: number;
  /** Position of the first row among the matches */
  from: number;
  rows: EventRow[];
}

export interface EventPosition {
  /** Among the matches */
  position: number | null;
  /** The search has not come that far: ask again. */
  pending: boolean;
}

export interface Change {
  name: string;
  before: string;
  after: string;
  /** For numbers: how much more */
  delta: number | null;
}

export interface EventDetail {
  row: EventRow;
  changes: Change[];
  lanes: Record<
    LaneName,
    { state: string; why: string; moved: Transition | null; arrows: string[]; arrowsAt: number | null }
  >;
  clocks: Record<LaneName, { clock: number; threshold: number }>;
  /** What lanes asked for, in words */
  commands: string[];
  /** The lines of memory that it added and dropped */
  memory: MemoryChanges;
  /** The result that the event brings, if it brings one */
  result: { name: string; value: string }[] | null;
  ledger: { name: string; value: string }[];
  spend: { worker: string; runs: number; requests: number; input: number; output: number; cost: string }[];
  /** The event itself, long lists cut */
  event: unknown;
}

/** Lines of a recording. */
export interface RecordedPart {
  lines: string[];
  /** The event from which on to ask for more, by index */
  next: number;
}

/** What the agent sees, all that holds, or what was dropped */
export type MemoryView = "visible" | "full" | "dropped";

/** A line of memory. */
export interface MemoryLine {
  id: string;
  kind: "observation" | "reflection";
  /** Null where the text is not at hand */
  text: string | null;
  /** When, for an observation: `YYYY-MM-DD HH:MM`; `""` for none */
  when: string;
  relevance: string;
  /** The selected event put it there */
  isNew: boolean;
  /** What became of it; `""` while it holds */
  fate: string;
}

export interface Memory {
  /** What to know of it, in words */
  notes: string[];
  /** How many lines before those that follow there are besides */
  older: { reflections: number; observations: number };
  reflections: MemoryLine[];
  observations: MemoryLine[];
}

export interface MemoryChanges {
  added: MemoryLine[];
  dropped: MemoryLine[];
}

/** An event that something leads to. */
export interface EventRef {
  index: number;
  number: number;
}

export interface SourceText {
  entryId: string;
  /** The event that brought it; null when no event shown here did */
  at: EventRef | null;
  text: string;
  isMissing: boolean;
}

/** What stands behind a line of memory. */
export interface MemoryRecord extends Pick<MemoryLine, "id" | "kind"> {
  /** Estimated tokens of its text; null when it is not known */
  tokens: number | null;
  /** Instead of all else, where an id stands for nothing that may be shown */
  note: string | null;
  /** What has become of it by the newest event; `""` while it holds */
  fate: string;
  recorded: EventRef | null;
  dropped: EventRef | null;
  sources: SourceText[];
  /** The observations that a reflection rests on */
  supporting: MemoryLine[];
  replacedBy: MemoryLine[];
  /** The reflections that rest on an observation */
  restOnIt: MemoryLine[];
}

/** A chart with places for everything, in pixels. */
export interface LaidOutChart {
  width: number;
  height: number;
  nodes: {
    id: string;
    label: string;
    description: string;
    x: number;
    y: number;
    width: number;
    height: number;
    group: boolean;
  }[];
  edges: {
    id: string;
    from: string;
    to: string;
    transitions: { event: string; guard: string | null }[];
    /** The arrow's corners */
    points: { x: number; y: number }[];
    /** Where its number stands */
    label: { x: number; y: number };
  }[];
}
