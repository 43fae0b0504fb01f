/** A whole number with its thousands apart: `21,340`. Many times faster than `toLocaleString`. */
export function grouped(count: number): string {
  const digits = String(Math.round(count));
  if (digits.length <= 3) return digits;
  return digits.replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** About as much in at most five characters: `21.3k`. */
export function compact(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`;
  return count < 999_500 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** `1 event`, `2,000 events` */
export function count(n: number, one: string, more = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : more}`;
}

/** `a, b and c` */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Text of one line, cut to a width. */
export function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Local time of day, `HH:MM:SS` */
export function timeOfDay(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
}

/** Local date, `YYYY-MM-DD` */
export function dateOf(date: Date): string {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
