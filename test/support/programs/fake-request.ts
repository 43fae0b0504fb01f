import {
  type AssistantMessage,
  type AssistantMessageEventStream,
  type Context,
  createAssistantMessageEventStream,
  type ToolCall,
} from "@earendil-works/pi-ai";

/** A worker's request to the model, which the test answers. */
export interface FakeRequest {
  /** `provider/id` of the model that is asked */
  readonly model: string;
  /** The one tool that it offers */
  readonly tool: string;
  /** What the user's side says */
  readonly prompt: string;
  /** Whether this is the first request of its run */
  readonly isFirst: boolean;
  readonly aborted: boolean;
  readonly answered: boolean;
  /** Calls the tool with these arguments. */
  call(args: ToolCall["arguments"]): void;
  /** Says something and is done. */
  say(text: string): void;
  /** Ends in an error with these words. */
  fail(words: string): void;
}

/** A request as the model gets it, and the stream that its answer goes to. */
export function fakeRequest(
  context: Context,
  signal: AbortSignal | undefined,
  model = "fake/fake",
): { request: FakeRequest; stream: AssistantMessageEventStream } {
  const stream = createAssistantMessageEventStream();
  let answered = false;

  function answer(
    changes: Pick<AssistantMessage, "content" | "stopReason"> & { errorMessage?: string },
  ): void {
    answered = true;
    stream.end({
      role: "assistant",
      api: "fake",
      provider: "fake",
      model: "fake",
      usage: {
        input: 1,
        output: 1,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens: 2,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
      timestamp: 0,
      ...changes,
    });
  }

  const tool = context.tools?.[0]?.name ?? "";
  const [first] = context.messages;
  const content = first?.role === "user" ? first.content : "";
  const request: FakeRequest = {
    model,
    tool,
    prompt:
      typeof content === "string"
        ? content
        : content.map((part) => ("text" in part ? part.text : "")).join(""),
    isFirst: context.messages.length === 1,
    get aborted() {
      return signal?.aborted === true && !answered;
    },
    get answered() {
      return answered;
    },
    call: (args) =>
      answer({
        content: [{ type: "toolCall", id: "1", name: tool, arguments: args }],
        stopReason: "toolUse",
      }),
    say: (text) => answer({ content: [{ type: "text", text }], stopReason: "stop" }),
    fail: (words) => answer({ content: [], stopReason: "error", errorMessage: words }),
  };
  return { request, stream };
}
