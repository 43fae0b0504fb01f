/** A larger output than this, in UTF-16 units, is shown as it is: who asks for one asks for pages of it. */
const MOST_FOLDED = 1_000_000;
/** Lines that repeat together, at most */
const LONGEST_PERIOD = 8;
/** Fewer lines than this are not worth a line that says what they were. */
const FEWEST_FOLDED = 4;

/** Folds one output after the other; `name` is what a later output calls this one. */
export type FoldOutput = (name: string, text: string) => string;

/**
 * Folds what outputs of tools repeat: lines that follow themselves, and stretches that an earlier output of the same recall has
 * shown, as when a file was read twice. Each is replaced by a line with a count. Nothing else is changed.
 */
export function createOutputFolding(): FoldOutput {
  const earlier = new Map<string, { name: string; lines: readonly string[]; at: number }>();
  return (name, text) => {
    if (text.length > MOST_FOLDED) return text;
    const lines = text.split("\n");
    const shown: string[] = [];
    /** The lines from here on to `at` are shown as they are. */
    let rawFrom = 0;
    for (let at = 0; at < lines.length; ) {
      const { period, times } = repetitionAt(lines, at, rawFrom);
      const before = times > 0 ? undefined : earlier.get(stretchAt(lines, at));
      const length = before ? commonLength(before.lines, before.at, lines, at) : period * times;
      if (length === 0) {
        shown.push(lines[at++] ?? "");
        continue;
      }
      shown.push(
        before
          ? `[… ${length} lines unchanged from source ${before.name} above …]`
          : `[… ${period === 1 ? "the line" : `the ${period} lines`} above ${times} times more …]`,
      );
      at += length;
      rawFrom = at;
    }
    for (let at = 0; at + FEWEST_FOLDED <= lines.length; at++) {
      const stretch = stretchAt(lines, at);
      if (!earlier.has(stretch)) earlier.set(stretch, { name, lines, at });
    }
    return shown.join("\n");
  };
}

/** How often the lines before `at`, of those that are shown, come again from there on; no times if that is not worth folding. */
function repetitionAt(
  lines: readonly string[],
  at: number,
  rawFrom: number,
): { period: number; times: number } {
  for (let period = 1; period <= Math.min(LONGEST_PERIOD, at - rawFrom); period++) {
    const times = Math.floor(commonLength(lines, at - period, lines, at) / period);
    if (times * period >= FEWEST_FOLDED) return { period, times };
  }
  return { period: 0, times: 0 };
}

/** How many lines are the same from these two places on. */
function commonLength(a: readonly string[], atA: number, b: readonly string[], atB: number): number {
  let length = 0;
  while (atA + length < a.length && atB + length < b.length && a[atA + length] === b[atB + length]) length++;
  return length;
}

/** `""`, which no stretch is, where too few lines are left. */
function stretchAt(lines: readonly string[], at: number): string {
  return at + FEWEST_FOLDED <= lines.length ? lines.slice(at, at + FEWEST_FOLDED).join("\n") : "";
}
