import { readFileSync } from "node:fs";
import { z } from "zod";
import { UsageError } from "../../src/host/cli/io.ts";
import { messageOf } from "../../src/reducers/message-of.ts";

const text = (what: string) => {
  const error = `must be a text that is not empty: ${what}`;
  return z.string({ error }).trim().min(1, { error });
};

const QuestionSchema = z.strictObject({
  id: text("a short name by which results call the question"),
  question: text("what is asked"),
  expected: text("what a right answer says, for the grader"),
  /** Points for a right answer */
  weight: z
    .number({ error: "must be a number above 0, or left out for 1" })
    .positive({ error: "must be a number above 0, or left out for 1" })
    .default(1),
  /** Memory that does not answer it has failed, whatever its score. */
  critical: z.boolean({ error: "must be true or false, or left out for false" }).default(false),
});
export type Question = z.infer<typeof QuestionSchema>;

const QuestionsSchema = z
  .array(QuestionSchema, { error: 'must be a list: [{ "id": "…", "question": "…", "expected": "…" }]' })
  .min(1, { error: "must hold at least one question" });

const KEYS = Object.keys(QuestionSchema.shape).join(", ");

/** Reads a question file. Throws a `UsageError` that names the place in it and what to write there. */
export function readQuestions(file: string): Question[] {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file}: it cannot be read: ${messageOf(error)}`);
  }
  let json: unknown;
  try {
    json = JSON.parse(content.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new UsageError(`${file}: it is no JSON: ${messageOf(error)}`);
  }
  const parsed = QuestionsSchema.safeParse(json);
  if (!parsed.success) throw new UsageError(`${file}: ${parsed.error.issues.map(issueWords).join("; ")}`);
  const twice = parsed.data.find(({ id }, at) => parsed.data.findIndex((other) => other.id === id) < at);
  if (twice) throw new UsageError(`${file}: two questions have the id "${twice.id}"; give each its own`);
  return parsed.data;
}

function issueWords(issue: z.core.$ZodIssue): string {
  const [index, key] = issue.path;
  if (typeof index !== "number") return `it ${issue.message}`;
  const place = `question ${index + 1}`;
  if (issue.code === "unrecognized_keys") {
    return `${place} has the unknown key ${issue.keys.join(", ")}; a question has ${KEYS}`;
  }
  return key === undefined
    ? `${place} must be an object with ${KEYS}`
    : `${place}: ${String(key)} ${issue.message}`;
}
