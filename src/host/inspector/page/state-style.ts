/** Gives an element the colour of a lane's state, as `--state`. */
export function stateStyle(state: string): string {
  return `--state: var(--${state.split(".").at(-1)})`;
}
