import { z } from "zod";

const TextPartSchema = z.looseObject({ type: z.string(), text: z.string().optional() });

const ChatMessageSchema = z.looseObject({
  role: z.string(),
  content: z.union([z.string(), z.array(TextPartSchema)]).nullish(),
  tool_call_id: z.string().optional(),
});

const ChatToolSchema = z.looseObject({
  function: z.looseObject({ name: z.string(), parameters: z.unknown().optional() }).optional(),
});

/** The part of an OpenAI chat-completions request body that scripts and tests look at; the rest is kept as it came. */
export const ChatRequestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(ChatMessageSchema),
  stream: z.boolean().optional(),
  tools: z.array(ChatToolSchema).nullish(),
  max_tokens: z.number().optional(),
  max_completion_tokens: z.number().optional(),
});
export type ChatRequest = z.infer<typeof ChatRequestSchema>;
export type ChatMessage = ChatRequest["messages"][number];

/** Who asks. Workers are known by their tool; without tools it is Pi's own summariser; otherwise the agent. */
export type Role = "agent" | "observer" | "reflector" | "dropper" | "summariser";

const WORKER_TOOLS = {
  record_observations: "observer",
  record_reflections: "reflector",
  drop_observations: "dropper",
} as const satisfies Record<string, Role>;

/** The names of the tools a request offers. */
export function toolNames(request: ChatRequest): string[] {
  return (request.tools ?? []).flatMap((tool) => (tool.function ? [tool.function.name] : []));
}

/** Tells who sent a request from the tools in it. */
export function roleOf(request: ChatRequest): Role {
  const names = toolNames(request);
  for (const [tool, role] of Object.entries(WORKER_TOOLS)) {
    if (names.includes(tool)) return role;
  }
  return names.length === 0 ? "summariser" : "agent";
}

/** A message's text, whichever of the two content forms it has. */
export function messageText(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

/** The system prompt that is on the wire: system and developer messages together. */
export function systemText(request: ChatRequest): string {
  return textOfRoles(request, ["system", "developer"]);
}

/** All user messages together: for a worker that is its prompt. */
export function userText(request: ChatRequest): string {
  return textOfRoles(request, ["user"]);
}

/** The last user message: for the agent that is what was just asked. */
export function lastUserText(request: ChatRequest): string {
  return messageText(request.messages.findLast((message) => message.role === "user"));
}

/** Tool results that came after the last assistant message; empty on the first request of a run. */
export function freshToolResults(request: ChatRequest): string[] {
  const lastAssistant = request.messages.findLastIndex((message) => message.role === "assistant");
  return request.messages
    .slice(lastAssistant + 1)
    .filter((message) => message.role === "tool")
    .map(messageText);
}

function textOfRoles(request: ChatRequest, roles: readonly string[]): string {
  return request.messages
    .filter((message) => roles.includes(message.role))
    .map(messageText)
    .join("\n\n");
}
