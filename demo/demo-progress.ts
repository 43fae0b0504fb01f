import { styleText } from "node:util";
import type { PiRecord } from "./pi/pi-records.ts";

type Style = Parameters<typeof styleText>[0];

/** Writes to stdout in colour where stdout shows colours, and plainly where it does not (pipes, NO_COLOR). */
export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export function say(line = ""): void {
  process.stdout.write(`${line}\n`);
}

export function heading(text: string): void {
  say(`\n${paint("bold", text)}`);
}

/** Says that a turn begins. */
export function announceTurn(number: number, total: number, title: string): void {
  const count = `${number}/${total}`.padStart(5);
  say(`${paint("dim", count)}  ${title}`);
}

/** What happened in the session, in one line, or nothing if it is not worth one. */
export function progressLine(record: PiRecord): string | undefined {
  switch (record.type) {
    case "entry_appended":
      return ledgerLine(fields(record.entry));
    case "compaction_end":
      return compactionLine(record);
    case "tool_execution_end":
      return record.toolName === "recall" ? recallLine(record) : undefined;
    case "extension_error":
      return event("red", "!", `an extension failed: ${String(record.error)}`);
    case "auto_retry_start":
      return event(
        "yellow",
        "!",
        `the model's answer failed, Pi tries again: ${String(record.errorMessage)}`,
      );
    default:
      return undefined;
  }
}

function ledgerLine(entry: Fields): string | undefined {
  const data = fields(entry.data);
  switch (entry.customType) {
    case "om.observations.recorded":
      return event("green", "●", `observer ran: ${many(data.observations, "observation")}`);
    case "om.reflections.recorded":
      return event("magenta", "◆", `reflector ran: ${many(data.reflections, "reflection")}`);
    case "om.observations.dropped":
      return data.reason === "superseded"
        ? event("yellow", "○", `${many(data.observationIds, "observation")} superseded`)
        : event("yellow", "○", `dropper ran: ${many(data.observationIds, "observation")} dropped`);
    case "om.reflections.dropped":
      return event("yellow", "○", `${many(data.reflectionIds, "reflection")} replaced`);
    default:
      return undefined;
  }
}

function compactionLine(record: PiRecord): string {
  const result = fields(record.result);
  if (typeof result.tokensBefore !== "number") {
    return event("red", "!", `compaction failed: ${String(record.errorMessage ?? "aborted")}`);
  }
  const after = typeof result.estimatedTokensAfter === "number" ? result.estimatedTokensAfter : undefined;
  const details = fields(result.details);
  const how = details.type === "om.folded" ? "from memory, no model asked" : "by Pi's own summariser";
  const tokens = `${thousands(result.tokensBefore)} → ${after === undefined ? "?" : thousands(after)} tokens`;
  return event("cyan", "■", `compacted: ${tokens}, ${how}`);
}

function recallLine(record: PiRecord): string {
  const size = resultText(record).length;
  return record.isError === true
    ? event("red", "!", "recall failed")
    : event(
        "blue",
        "↺",
        `recall gave what it asked for of the exact source: ${thousands(Math.ceil(size / 4))} tokens`,
      );
}

/** The text of a tool result as Pi's events carry it. */
export function resultText(record: PiRecord): string {
  const { content } = fields(record.result);
  if (!Array.isArray(content)) return "";
  return content.map((part) => String(fields(part).text ?? "")).join("");
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function event(style: Style, mark: string, text: string): string {
  return `       ${paint(style, mark)} ${text}`;
}

function many(list: unknown, one: string): string {
  const count = Array.isArray(list) ? list.length : 0;
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}

function thousands(count: number): string {
  return count.toLocaleString("en-US");
}
