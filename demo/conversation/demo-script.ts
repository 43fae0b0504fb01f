import type { Reply } from "../model/chat-reply.ts";
import { type ChatRequest, freshToolResults, lastUserText, userText } from "../model/chat-request.ts";
import type { Script } from "../model/scripted-model.ts";
import { chunkBlocks, defaultObserver, shownObservations } from "../model/scripted-workers.ts";
import { DEMO_REFLECTIONS, DEMO_TURNS, RECALL_TURN } from "./demo-conversation.ts";

const FACTS = DEMO_TURNS.flatMap((turn) => turn.facts);
const FACT_BY_TEXT = new Map(FACTS.map((fact) => [fact.text, fact]));

/** The scripted model's part in the demo. It sees only what is on the wire, and answers from that. */
export const DEMO_SCRIPT: Script = { agent, observer, reflector, dropper };

function agent(request: ChatRequest): Reply {
  const asked = lastUserText(request);
  if (asked === RECALL_TURN.asks) return recallingAgent(request);
  const turn = DEMO_TURNS.find((candidate) => candidate.asks === asked);
  if (!turn) return { text: "This model knows only the demo's conversation." };
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const taken = request.messages.slice(lastUser).filter((message) => message.role === "assistant").length;
  return turn.steps[taken] ?? { text: turn.says };
}

/** Finds the id in its own compacted memory, recalls it, and quotes what came back. */
function recallingAgent(request: ChatRequest): Reply {
  const [recalled] = freshToolResults(request);
  if (recalled !== undefined) {
    const sentence = /[^.\n]*must stay null, never 0[^.\n]*\./.exec(recalled)?.[0].trim();
    return {
      text: sentence
        ? `You said: "${sentence}"`
        : "The recalled source does not hold your words about missing levels.",
    };
  }
  const id = RECALL_TURN.memory.exec(userText(request))?.[1];
  if (id === undefined) return { text: "I see no memory about missing levels in my context." };
  return {
    text: "I look it up.",
    toolCalls: [{ name: "recall", arguments: { id, query: RECALL_TURN.query } }],
  };
}

/** Records each fact whose words are in the chunk, citing the entry that holds them. */
function observer(request: ChatRequest): Reply {
  if (freshToolResults(request).length > 0) return { text: "Recorded." };
  const blocks = chunkBlocks(request);
  const observations = FACTS.flatMap(({ text, relevance, evidence }) => {
    const source = blocks.find((block) => block.text.includes(evidence));
    return source ? [{ content: text, relevance, sourceEntryIds: [source.entryId] }] : [];
  });
  if (observations.length === 0) return defaultObserver(request);
  return { toolCalls: [{ name: "record_observations", arguments: { observations, done: true } }] };
}

/** Draws each reflection whose facts are all among the shown observations and that is not there yet. */
function reflector(request: ChatRequest): Reply {
  if (freshToolResults(request).length > 0) return { text: "Recorded." };
  const prompt = userText(request);
  const idByKey = new Map(
    shownObservations(request).map(({ id, content }) => [FACT_BY_TEXT.get(content)?.key, id]),
  );
  const reflections = DEMO_REFLECTIONS.filter(({ text }) => !prompt.includes(text)).flatMap(
    ({ text, support }) => {
      const supportingObservationIds = support.flatMap((key) => idByKey.get(key) ?? []);
      return supportingObservationIds.length === support.length
        ? [{ content: text, supportingObservationIds }]
        : [];
    },
  );
  if (reflections.length === 0) return { text: "Nothing durable to add." };
  return { toolCalls: [{ name: "record_reflections", arguments: { reflections, done: true } }] };
}

/** Drops what has had its time: passing facts, oldest first, never more than a few. */
function dropper(request: ChatRequest): Reply {
  if (freshToolResults(request).length > 0) return { text: "Dropped." };
  const observationIds = shownObservations(request)
    .filter(({ content }) => FACT_BY_TEXT.get(content)?.fleeting)
    .map(({ id }) => id)
    .slice(0, 4);
  if (observationIds.length === 0) return { text: "Everything here is still needed." };
  return { toolCalls: [{ name: "drop_observations", arguments: { observationIds, done: true } }] };
}
