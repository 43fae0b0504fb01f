/** Whether an error's text is a page of HTML, perhaps after the status; a page within JSON is not meant. */
export function isHtmlPage(text: string): boolean {
  return /^[^<{]*<(?:!doctype|!--|\?xml|html|head|body|title|h1)\b/i.test(text);
}

/** What a reader would see of a page or a piece of HTML, with its status, if it says one, once. */
export function wordsOfHtml(text: string): string {
  const blocks = text
    .replace(UNSEEN, "\n")
    .split(BLOCK_TAG)
    .map((block) => decoded(block.replace(TAG, "")).replace(/\s+/g, " ").trim());
  return saidOnce(blocks).join(" ");
}

/** What no browser shows, also where the page was cut within it. */
const UNSEEN =
  /<!--[\s\S]*?(?:-->|$)|<(script|style|template|svg)\b[\s\S]*?(?:<\/\1\s*>|$)|<[a-z!/][^<>]*$/gi;
const BLOCK_TAG =
  /<\/?(?:!doctype|html|head|body|title|h[1-6]|p|div|center|section|main|header|footer|address|pre|ul|ol|li|dl|dt|dd|table|tr|td|th|br|hr)\b[^<>]*>/i;
const TAG = /<\/?[a-z!?][^<>]*>/gi;

/** Titles repeat what headings say, and both repeat the status. */
function saidOnce(blocks: readonly string[]): string[] {
  const status = /\b[45]\d\d\b/.exec(blocks.join(" "))?.[0];
  const repeated = new RegExp(`\\b${status}\\b\\s*[:|–-]?\\s*`, "g");
  const said = new Map<string, string>();
  let hasStatus = false;
  for (const block of blocks) {
    const rest = hasStatus ? block.replace(repeated, "").trim() : block;
    hasStatus ||= status !== undefined && block.includes(status);
    const key = rest.replace(repeated, "").replace(/\W+$/, "").toLowerCase();
    if (rest !== "" && !said.has(key)) said.set(key, rest);
  }
  return [...said.values()];
}

/** Character references as what they stand for, once: what they spell is text, not markup. */
function decoded(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal?: string, hexadecimal?: string, name?: string) => {
      if (name !== undefined) return NAMED.get(name) ?? whole;
      const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : "\uFFFD";
    },
  );
}

/** Those that error pages use; any other stays as it is written. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ...([
    ["amp", "&"],
    ["lt", "<"],
    ["gt", ">"],
    ["quot", '"'],
    ["apos", "'"],
    ["nbsp", " "],
  ] as const),
  ...([
    ["ndash", "–"],
    ["mdash", "—"],
    ["hellip", "…"],
    ["bull", "•"],
    ["middot", "·"],
    ["copy", "©"],
  ] as const),
  ...([
    ["lsquo", "‘"],
    ["rsquo", "’"],
    ["ldquo", "“"],
    ["rdquo", "”"],
    ["laquo", "«"],
    ["raquo", "»"],
  ] as const),
  ...([
    ["auml", "ä"],
    ["ouml", "ö"],
    ["uuml", "ü"],
    ["szlig", "ß"],
    ["eacute", "é"],
    ["egrave", "è"],
  ] as const),
]);
