import Table from "cli-table3";

export interface PlainTableOptions {
  head: readonly string[];
  rows: readonly (readonly string[])[];
  colAligns: ("left" | "right")[];
  /** Spaces on either side of a cell */
  padding: number;
  /** What stands between two columns besides */
  gap: string;
}

/** The parts of a table that are drawn as lines */
const LINES =
  "top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid";

/** A table without lines or colours of its own; nothing follows the last word of a row. */
export function plainTable({ head, rows, colAligns, padding, gap }: PlainTableOptions): string {
  const table = new Table({
    head: [...head],
    colAligns,
    style: { head: [], border: [], "padding-left": padding, "padding-right": padding },
    chars: { ...Object.fromEntries(LINES.split(" ").map((part) => [part, ""])), middle: gap },
  });
  table.push(...rows.map((cells) => [...cells]));
  return table.toString().replace(/ +$/gm, "");
}
