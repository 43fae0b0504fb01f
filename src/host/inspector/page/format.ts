export function tokens(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `12.4k` for what has little room */
export function short(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 1_000_000) return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function clockTime(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB");
}

export function day(at: number): string {
  return new Date(at).toLocaleDateString("en-CA");
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** The class that gives a state its colour. */
export function stateClass(state: string): string {
  return `state-${state.split(".").at(-1)}`;
}
