import { z } from "zod";
import { clipped } from "../../../reducers/words.ts";
import type { ToolAnswer, WorkerTool } from "../model/request.ts";

/** A tool that gathers what a worker records, record by record, and tells the model why it refuses one. */
export interface Collector<T> {
  tool: WorkerTool;
  accepted: T[];
  /**
   * The reason of each refusal, in order; the model may have mended the record since. Only our own words: they go
   * to logs, which hold no session content.
   */
  refusals: string[];
}

/** What becomes of one record. `detail` is for the model alone. */
export type Judgement<T> =
  | { record: T }
  | { duplicate: string }
  | { refusal: string; detail?: string | undefined };

export interface CollectorSpec<T, A> {
  /** Name of the tool, and of the list that is its argument beside `done` */
  name: string;
  list: string;
  description: string;
  /** One schema per record: it gives the model its JSON schema, and judges what the model sends. */
  item: z.ZodType<A>;
  /** What has happened to an accepted record: "recorded", "proposed" */
  accepted: string;
  /** The memory id of a record */
  idOf(record: T): string;
  /** The records in a list that came as plain text; unset: the text is one record. */
  split?(text: string): readonly string[];
  /** `accepted` holds the ids of the records accepted so far. */
  judge(args: A, accepted: ReadonlySet<string>): Judgement<T>;
}

/**
 * A collector for a list of records. Each record is judged by itself and answered by its index, so that a model can
 * mend the refused ones in the same run. Nothing that a model sends makes it throw.
 */
export function createCollector<T, A>(spec: CollectorSpec<T, A>): Collector<T> {
  const accepted: T[] = [];
  const acceptedIds = new Set<string>();
  const refusals: string[] = [];

  function answerTo(item: unknown, index: number): string {
    const place = `${spec.list}[${index}]`;
    const parsed = spec.item.safeParse(item);
    const judged = parsed.success ? spec.judge(parsed.data, acceptedIds) : malformed(parsed.error);
    if ("record" in judged) {
      accepted.push(judged.record);
      acceptedIds.add(spec.idOf(judged.record));
      return `${place}: ${spec.accepted}`;
    }
    if ("duplicate" in judged)
      return `${place}: already ${spec.accepted} (${judged.duplicate}), nothing to do`;
    refusals.push(judged.refusal);
    return `${place}: refused, ${judged.refusal}${judged.detail === undefined ? "" : `: ${judged.detail}`}`;
  }

  function accept(args: unknown): ToolAnswer {
    const whole = parsedStructure(args);
    const items = itemsOf(whole, spec);
    if (!items) {
      if (saysOnlyDone(whole, spec.list)) return { text: NOTHING_TO_DO, isError: false, isLast: true };
      const reason =
        typeof whole === "string" ? "the arguments are not valid JSON" : `no list "${spec.list}"`;
      refusals.push(reason);
      return { text: `Nothing ${spec.accepted}: ${reason}.`, isError: true };
    }
    const isLast = isDone(whole);
    if (items.length === 0) return { text: NOTHING_TO_DO, isError: false, isLast };
    const before = refusals.length;
    const lines = items.map(answerTo);
    const isError = refusals.length > before;
    if (isError)
      lines.push("Mend the refused ones and call the tool again with those only, or leave them out.");
    return { text: lines.join("\n"), isError, isLast: isLast && !isError };
  }

  const { name, description } = spec;
  const parameters = jsonSchemaOf(z.object({ [spec.list]: z.array(spec.item), done: DONE }));
  return { accepted, refusals, tool: { name, description, parameters, accept } };
}

const NOTHING_TO_DO = "The list is empty: nothing to do.";

const DONE = z.boolean().describe("true: this is all; false: another call follows");

/** Whether a call says that it is the last one. Models leave it out, or send it as text. */
function isDone(whole: unknown): boolean {
  if (typeof whole !== "object" || whole === null) return false;
  const said: unknown = Reflect.get(whole, "done");
  return said === true || (typeof said === "string" && said.trim().toLowerCase() === "true");
}

/** Nothing (more) to record, and no list under a name of the model's own. */
function saysOnlyDone(whole: unknown, list: string): boolean {
  return isDone(whole) && Object.keys(Object(whole)).every((key) => key === "done" || key === list);
}

/** An object that models may also hand over as JSON text. */
export function objectOf<S extends z.ZodRawShape>(shape: S) {
  return z.preprocess(parsedStructure, z.object(shape));
}

/** The records in a tool call's arguments, also when they come bare: a list, or a single record. */
function itemsOf<T, A>(whole: unknown, spec: CollectorSpec<T, A>): readonly unknown[] | undefined {
  const { list, item } = spec;
  if (Array.isArray(whole)) return whole;
  if (typeof whole !== "object" || whole === null) return undefined;
  if (!Object.hasOwn(whole, list)) return item.safeParse(whole).success ? [whole] : undefined;
  const value = parsedStructure(Reflect.get(whole, list));
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string" && spec.split) return spec.split(value);
  return Array.isArray(value) ? value : [value];
}

/** JSON text as the list or object that it stands for. Ids made of digits only are JSON numbers, and stay text. */
export function parsedStructure(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const LONGEST_DETAIL = 300;

function malformed(error: z.ZodError): { refusal: string; detail: string } {
  const fields = [
    ...new Set(error.issues.map(({ path }) => path[0]).filter((name) => typeof name === "string")),
  ];
  const issues = error.issues.map(({ path, message }) => `${path.join(".")} ${message}`.trim());
  return {
    refusal: fields.length > 0 ? `malformed ${fields.join(", ")}` : "malformed record",
    detail: clipped(issues.join("; "), LONGEST_DETAIL),
  };
}

/** The schema for the model, without the keywords that the grammars of local servers do not know. */
function jsonSchemaOf(schema: z.ZodType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input", reused: "inline" });
  return json;
}
