import type { Answer, Reply } from "./chat-reply.ts";
import { type ChatRequest, freshToolResults, userText } from "./chat-request.ts";

/** One block of an observer's chunk: the entry it came from, who spoke, and the text. */
export interface ChunkBlock {
  entryId: string;
  /** `User`, `Assistant`, `Tool result for read`, …; `""` when the block has no label. */
  speaker: string;
  text: string;
}

const BLOCK_START = /^\[Source entry id: ([^\]\s]+)\][ \t]*/gm;
const BLOCK_LABEL = /^\s*\[([A-Z][^\]@]*?) @ [^\]]*\]:?\s*/;

/** Cuts an observer prompt into its source-addressed blocks. */
export function chunkBlocks(request: ChatRequest): ChunkBlock[] {
  const prompt = userText(request);
  const starts = [...prompt.matchAll(BLOCK_START)];
  return starts.map((start, index) => {
    const body = prompt.slice(start.index + start[0].length, starts[index + 1]?.index ?? prompt.length);
    const label = BLOCK_LABEL.exec(body);
    return {
      entryId: start[1] ?? "",
      speaker: label?.[1]?.trim() ?? "",
      text: body.slice(label?.[0].length ?? 0).trim(),
    };
  });
}

/**
 * Plays an observer that is honest and unimaginative: it quotes what the user, the assistant and the tools said,
 * at most one observation of each, and cites the blocks it quoted.
 */
export function defaultObserver(request: ChatRequest): Reply {
  if (freshToolResults(request).length > 0) return { text: "Recorded." };
  const blocks = chunkBlocks(request).filter((block) => block.text !== "");
  const observations = [
    quote(blocks, "User", "User said", "high"),
    quote(blocks, "Assistant", "Assistant answered", "medium"),
    quote(blocks, "Tool", "A tool printed", "low"),
  ].flatMap((observation) => observation ?? []);
  const first = blocks[0];
  if (observations.length === 0 && first) {
    observations.push({
      content: `The conversation held: ${excerpt(first.text)}`,
      relevance: "medium",
      sourceEntryIds: [first.entryId],
    });
  }
  if (observations.length === 0) return { text: "Nothing worth recording." };
  return calling("record_observations", { observations });
}

/** Plays a reflector that draws one conclusion from the observations that carry most weight, the newest first. */
export function defaultReflector(request: ChatRequest): Reply {
  if (freshToolResults(request).length > 0) return { text: "Recorded." };
  const support = shownObservations(request)
    .toReversed()
    .toSorted((a, b) => weight(b) - weight(a))
    .slice(0, 4);
  if (support.length === 0) return { text: "Nothing durable yet." };
  const content = `What holds in this session: ${support.map((line) => excerpt(line.content, 80)).join(" | ")}`;
  const supportingObservationIds = support.map((line) => line.id);
  return calling("record_reflections", { reflections: [{ content, supportingObservationIds }] });
}

/** Plays a dropper that gives up a third of what it is shown, the least relevant and oldest first. */
export function defaultDropper(request: ChatRequest): Reply {
  if (freshToolResults(request).length > 0) return { text: "Dropped." };
  const lines = shownObservations(request).toSorted((a, b) => weight(a) - weight(b));
  if (lines.length === 0) return { text: "Everything stays." };
  const observationIds = lines.slice(0, Math.max(1, Math.floor(lines.length / 3))).map((line) => line.id);
  return calling("drop_observations", { observationIds });
}

/** One observation as a reflector's or dropper's prompt shows it. */
export interface ShownObservation {
  id: string;
  relevance: Relevance;
  content: string;
}

type Relevance = "low" | "medium" | "high" | "critical";
const WEIGHTS: Record<Relevance, number> = { low: 0, medium: 1, high: 2, critical: 3 };
const OBSERVATION_LINE = /^[^\w[\n]*\[([0-9a-f]{12})\][^\n]*?\[(low|medium|high|critical)\] ([^\n]*)$/gm;

/** Observation lines in a prompt, `[id] … [relevance] content`; reflection lines have no relevance and are left out. */
export function shownObservations(request: ChatRequest): ShownObservation[] {
  const seen = new Map<string, ShownObservation>();
  for (const [, id = "", relevance = "low", content = ""] of userText(request).matchAll(OBSERVATION_LINE)) {
    if (!seen.has(id)) seen.set(id, { id, relevance: relevance as Relevance, content });
  }
  return [...seen.values()];
}

function weight(line: ShownObservation): number {
  return WEIGHTS[line.relevance];
}

function quote(blocks: readonly ChunkBlock[], speaker: string, lead: string, relevance: Relevance) {
  const block = blocks.find((candidate) => candidate.speaker.startsWith(speaker));
  return block && { content: `${lead}: ${excerpt(block.text)}`, relevance, sourceEntryIds: [block.entryId] };
}

/** The first words of a text on one line. */
function excerpt(text: string, limit = 160): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit).replace(/\s+\S*$/, "")} …`;
}

function calling(name: string, args: Record<string, unknown>): Answer {
  return { toolCalls: [{ name, arguments: { ...args, done: true } }] };
}
