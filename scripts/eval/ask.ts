import type { Api, AssistantMessage, Message, Model, ToolCall } from "@earendil-works/pi-ai";
import { z } from "zod";
import { messageOf } from "../../src/reducers/message-of.ts";
import type { MeteredModels } from "./metered-models.ts";
import type { AgentTool } from "./played-session.ts";
import type { Question } from "./questions.ts";

export interface Answer {
  text: string;
  /** Calls of `recall` */
  calls: number;
  /** Characters that they gave */
  characters: number;
}

export interface Grade {
  mark: 0 | 0.5 | 1;
  why: string;
}

const ANSWER_PROMPT = `You are a coding agent in the middle of a long session. Its earlier part is gone from your context; what you have of it is the memory below. You are asked about that earlier part.

Answer from what you have, briefly and exactly: names, numbers, paths and error texts as they were. Where it does not tell, say "not known"; do not guess.

# Memory

`;

/** Above the messages that a compaction kept word for word. */
export const KEPT_HEADING = "# The messages that followed, word for word";

const MOST_ROUNDS = 12;

/** Answers a question from a summary alone, or with the messages that were kept after it. Throws with the provider's words. */
export async function answerFrom(
  models: MeteredModels,
  model: Model<Api>,
  { summary, kept }: { summary: string; kept?: string },
  { question }: Question,
): Promise<Answer> {
  const tail = kept === undefined ? "" : `\n\n${KEPT_HEADING}\n\n${kept}`;
  const reply = await models.ask(kept === undefined ? "answers" : "kept", model, {
    systemPrompt: ANSWER_PROMPT + summary + tail,
    messages: [userMessage(question)],
  });
  return { text: textIn(reply), calls: 0, characters: 0 };
}

/** The same with the tool that the agent has for it. */
export async function answerWithTool(
  models: MeteredModels,
  model: Model<Api>,
  summary: string,
  tool: AgentTool,
  { question }: Question,
): Promise<Answer> {
  const { name, description, parameters } = tool;
  const tools = [{ name, description, parameters }];
  const systemPrompt = `${ANSWER_PROMPT + summary}\n\n# The tool ${name}\n\n${tool.promptGuidelines.join("\n")}`;
  const messages: Message[] = [userMessage(question)];
  const answer: Answer = { text: "", calls: 0, characters: 0 };
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    const reply = await models.ask("recall", model, { systemPrompt, messages, tools });
    const calls = reply.content.filter((block) => block.type === "toolCall");
    if (calls.length === 0) return { ...answer, text: textIn(reply) };
    messages.push(reply);
    for (const call of calls) {
      const result = await resultOf(call, tool);
      answer.calls++;
      answer.characters += result.text.length;
      messages.push(toolResult(call, result));
    }
  }
  throw new Error(`no answer after ${MOST_ROUNDS} requests with calls of ${name}`);
}

const GRADER_PROMPT = `You grade one answer to one question. You are given the question, what a right answer says, and the answer.

Mark 1: the answer says all of it, in whatever words, and nothing that contradicts it.
Mark 0.5: it says a part of it that is of use, and nothing that contradicts it.
Mark 0: it says none of it, contradicts it, or says that it is not known.

Reply with one JSON object and nothing else: {"mark": 0, "why": "one short sentence"}`;

const GradeSchema = z.object({
  mark: z.union([z.literal(0), z.literal(0.5), z.literal(1)]),
  why: z.string().default(""),
});

/** Grades an answer blind: nothing tells where it comes from. Throws with the provider's words, or without a mark. */
export async function grade(
  models: MeteredModels,
  grader: Model<Api>,
  { question, expected }: Question,
  answer: string,
): Promise<Grade> {
  const asked = `# Question\n\n${question}\n\n# A right answer says\n\n${expected}\n\n# Answer\n\n${answer}`;
  const reply = await models.ask("grading", grader, {
    systemPrompt: GRADER_PROMPT,
    messages: [userMessage(asked)],
  });
  const graded = GradeSchema.safeParse(jsonIn(textIn(reply)));
  if (!graded.success) throw new Error("the grader's reply holds no mark");
  return graded.data;
}

/** The object in a reply, which may stand in a fence or after some words. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  } catch {
    return undefined;
  }
}

function userMessage(content: string): Message {
  return { role: "user", content, timestamp: Date.now() };
}

function textIn({ content }: AssistantMessage): string {
  const text = content
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("")
    .trim();
  if (text === "") throw new Error("the reply was empty");
  return text;
}

interface Result {
  text: string;
  isError: boolean;
}

async function resultOf(call: ToolCall, tool: AgentTool): Promise<Result> {
  if (call.name !== tool.name) return { text: `There is no tool ${call.name}.`, isError: true };
  try {
    return { text: await tool.call(call.arguments), isError: false };
  } catch (error) {
    return { text: messageOf(error), isError: true };
  }
}

function toolResult({ id, name }: ToolCall, { text, isError }: Result): Message {
  return {
    role: "toolResult",
    ...{ toolCallId: id, toolName: name, isError, timestamp: Date.now() },
    content: [{ type: "text", text }],
  };
}
