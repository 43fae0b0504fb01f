import { type Fields, fieldsOf, textOf } from "./entry.ts";

export { estimateTextTokens } from "./text-tokens.ts";

/**
 * The source tokens of a message: what Pi's exported `estimateTokens` gives for it (UTF-16 units / 4, rounded up;
 * an image counts 4800 units), so that our clocks agree with Pi's own idea of a context. Total where Pi's throws:
 * whatever cannot be read counts nothing.
 */
export function estimateMessageTokens(message: unknown): number {
  return Math.ceil(unitsOfMessage(fieldsOf(message)) / UNITS_PER_TOKEN);
}

const UNITS_PER_TOKEN = 4;
const IMAGE_UNITS = 4800;

function unitsOfMessage(message: Fields): number {
  switch (message.role) {
    case "user":
    case "custom":
    case "toolResult":
      return unitsOfContent(message.content);
    case "assistant":
      // Pi goes through a reply's blocks; text in their place has none, so it counts nothing.
      return typeof message.content === "string" ? 0 : unitsOfBlocks(message.content, unitsOfReply);
    case "bashExecution":
      return textOf(message.command).length + textOf(message.output).length;
    case "branchSummary":
    case "compactionSummary":
      return textOf(message.summary).length;
    case "system":
      return (
        unitsOfContent(message.content) +
        Object.values(fieldsOf(message.sections)).reduce<number>(
          (sum, text) => sum + textOf(text).length,
          0,
        ) +
        (message.toolsAdded ? unitsOfJson(message.toolsAdded) : 0)
      );
    default:
      return 0;
  }
}

function unitsOfContent(content: unknown): number {
  return unitsOfBlocks(content, unitsOfBlock);
}

function unitsOfBlock({ type, text }: Fields): number {
  if (type === "image") return IMAGE_UNITS;
  return type === "text" ? textOf(text).length : 0;
}

function unitsOfReply(block: Fields): number {
  switch (block.type) {
    case "text":
      return textOf(block.text).length;
    case "thinking":
      return textOf(block.thinking).length;
    case "toolCall":
      return textOf(block.name).length + unitsOfJson(block.arguments);
    default:
      return 0;
  }
}

function unitsOfBlocks(content: unknown, unitsOf: (block: Fields) => number): number {
  if (typeof content === "string") return content.length;
  if (!Array.isArray(content)) return 0;
  let units = 0;
  for (let at = 0; at < content.length; at++) units += unitsOf(fieldsOf(content[at]));
  return units;
}

function unitsOfJson(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
}
