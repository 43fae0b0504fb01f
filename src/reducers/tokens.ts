import { fieldsOf, textOf } from "./entry.ts";

const CHARS_PER_TOKEN = 4;
const IMAGE_CHARS = 4800;

/**
 * The source tokens of a message: what Pi's exported `estimateTokens` gives for it (characters / 4, rounded up),
 * so that our clocks agree with Pi's own idea of a context. Anything that cannot be read counts nothing.
 */
export function estimateMessageTokens(message: unknown): number {
  return Math.ceil(charsOf(fieldsOf(message)) / CHARS_PER_TOKEN);
}

function charsOf(message: Readonly<Record<string, unknown>>): number {
  switch (message.role) {
    case "system":
      return (
        contentChars(message.content) +
        sum(Object.values(fieldsOf(message.sections)), (section) => textOf(section).length) +
        (message.toolsAdded ? jsonChars(message.toolsAdded) : 0)
      );
    case "user":
    case "custom":
    case "toolResult":
      return contentChars(message.content);
    case "assistant":
      return sum(asList(message.content), assistantBlockChars);
    case "bashExecution":
      return textOf(message.command).length + textOf(message.output).length;
    case "branchSummary":
    case "compactionSummary":
      return textOf(message.summary).length;
    default:
      return 0;
  }
}

function contentChars(content: unknown): number {
  if (typeof content === "string") return content.length;
  return sum(asList(content), (block) => {
    const { type, text } = fieldsOf(block);
    if (type === "image") return IMAGE_CHARS;
    return type === "text" ? textOf(text).length : 0;
  });
}

function assistantBlockChars(block: unknown): number {
  const { type, text, thinking, name, arguments: args } = fieldsOf(block);
  switch (type) {
    case "text":
      return textOf(text).length;
    case "thinking":
      return textOf(thinking).length;
    case "toolCall":
      return textOf(name).length + jsonChars(args);
    default:
      return 0;
  }
}

function jsonChars(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return 0;
  }
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function sum(values: readonly unknown[], measure: (value: unknown) => number): number {
  return values.reduce<number>((total, value) => total + measure(value), 0);
}

/** Estimated tokens of text that we render or send. */
export function estimateTextTokens(text: string): number {
  let quarters = 0;
  for (let i = 0; i < text.length; i++) quarters += text.charCodeAt(i) < 0x250 ? 1.15 : 4;
  return Math.ceil(quarters / 4);
}
