const ISO_LENGTH = "2026-01-15T09:00:00.000Z".length;
const MINUTE_LENGTH = "2026-01-15T09:00".length;
const ZERO = 48;

/** The minute read last: events come one after the other, so nearly all of them share it with the one before. */
let minute = "none yet";
let minuteAt = Number.NaN;

/**
 * An event's time in milliseconds since the epoch; NaN when it is none. What `Date.parse` gives, several times faster
 * for the form that `toISOString` writes.
 */
export function eventTime(at: string): number {
  const ms = plainTime(at);
  return Number.isNaN(ms) ? Date.parse(at) : ms;
}

/** The time of a text that `toISOString` may have written, in milliseconds since the epoch; NaN for any other text. */
export function plainTime(at: string): number {
  if (at.length !== ISO_LENGTH || at[16] !== ":" || at[19] !== "." || at[23] !== "Z") return Number.NaN;
  if (!at.startsWith(minute)) {
    const start = at.slice(0, MINUTE_LENGTH);
    const parsed = Date.parse(`${start}:00.000Z`);
    // Date.parse takes the 30th of February for a day in March.
    if (Number.isNaN(parsed) || !new Date(parsed).toISOString().startsWith(start)) return Number.NaN;
    minute = start;
    minuteAt = parsed;
  }
  const seconds = digit(at, 17) * 10 + digit(at, 18);
  const ms = digit(at, 20) * 100 + digit(at, 21) * 10 + digit(at, 22);
  return seconds < 60 ? minuteAt + seconds * 1000 + ms : Number.NaN;
}

/** NaN for anything but a digit, which makes the whole sum NaN. */
function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - ZERO;
  return value >= 0 && value <= 9 ? value : Number.NaN;
}
