import { laneInputs } from "../../../machines/lanes/inputs.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { LaneName } from "../../../reducers/engine/lane-names.ts";
import { eventWords } from "../../inspector/history/event-words.ts";
import { clipped, compact, dateOf, grouped, LANE_LABELS, timeOfDay } from "../../words.ts";
import type { Io } from "../io.ts";

/** Prints steps as the rows of a table, with the day above them whenever it changes. */
export interface StepTable {
  row(step: ReplayStep): void;
}

const NUMBER_WIDTH = 7;
const TIME_WIDTH = 8;
const EVENT_WIDTH = 48;
const NARROWEST_EVENT = 24;
const GAP = "  ";
/** The longest state with a clock of five digits against its threshold, in both ways of writing numbers. */
const LANE_WIDTHS: Readonly<Record<LaneName, { full: number; short: number }>> = {
  observer: { full: 26, short: 24 },
  reflectDrop: { full: 33, short: 31 },
  compaction: { full: 26, short: 24 },
};

export function createStepTable(io: Io, lanes: readonly LaneName[]): StepTable {
  const widthOf = (form: "full" | "short") =>
    NUMBER_WIDTH +
    TIME_WIDTH +
    EVENT_WIDTH +
    (2 + lanes.length) * GAP.length +
    lanes.reduce((sum, lane) => sum + LANE_WIDTHS[lane][form], 0);
  const columns = io.columns ?? Number.POSITIVE_INFINITY;
  const form = columns >= widthOf("full") ? "full" : "short";
  const number = form === "full" ? grouped : compact;
  const eventWidth = Math.max(NARROWEST_EVENT, EVENT_WIDTH - Math.max(0, widthOf(form) - columns));
  let day = "";

  function cell(step: ReplayStep, lane: LaneName, reading: { clock: number; threshold: number }): string {
    const moved = step.transitions.some((transition) => transition.lane === lane);
    const state = step.snapshot.states[lane];
    const text = `${moved ? ">" : " "}${state} ${number(reading.clock)}/${number(reading.threshold)}`;
    const padded = text.padEnd(LANE_WIDTHS[lane][form]);
    return moved ? io.paint(["bold", STATE_COLOURS[state.split(".")[0] ?? ""] ?? "reset"], padded) : padded;
  }

  function openDay(at: number): void {
    const titles = lanes.map((lane) => ` ${LANE_LABELS[lane]}`.padEnd(LANE_WIDTHS[lane][form]));
    const head = [
      "#".padStart(NUMBER_WIDTH),
      "time".padEnd(TIME_WIDTH),
      "event".padEnd(eventWidth),
      ...titles,
    ];
    if (day === "") io.line(io.paint("underline", head.join(GAP).trimEnd()));
    day = dateOf(at);
    io.line(io.paint("dim", `${" ".repeat(NUMBER_WIDTH)}${GAP}${day}`));
  }

  return {
    row(step) {
      const { event, state } = step;
      const at = Date.parse(event.at);
      if (dateOf(at) !== day) openDay(at);
      const readings = laneInputs(state, step.snapshot.states, at);
      const words = clipped(
        `${step.modelled ? "~" : ""}${event.type} ${eventWords(event)}`.trim(),
        eventWidth,
      );
      const cells = lanes.map((lane) => cell(step, lane, readings[lane]));
      const head = [grouped(step.number).padStart(NUMBER_WIDTH), timeOfDay(at), words.padEnd(eventWidth)];
      io.line([...head, ...cells].join(GAP).trimEnd());
    },
  };
}

type Colour = "yellow" | "cyan" | "red" | "blue" | "green" | "gray";

const STATE_COLOURS: Readonly<Record<string, Colour>> = {
  passive: "gray",
  idle: "green",
  due: "yellow",
  running: "cyan",
  requested: "cyan",
  compacting: "cyan",
  coolingDown: "blue",
  backingOff: "red",
};
