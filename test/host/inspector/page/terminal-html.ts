/** A terminal's screen, as `tmux capture-pane -e` gives it, as a page that looks like it. */
export function terminalHtml(screen: string): string {
  let html = "";
  let style: Style = {};
  for (const [index, part] of screen.split(COLOUR_SEQUENCE).entries()) {
    if (index % 2 === 1) style = applied(style, part.split(";").map(Number));
    else if (part !== "") html += `<span style="${css(style)}">${escaped(part)}</span>`;
  }
  return `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 14px; width: max-content; background: ${BACKGROUND}; color: ${FOREGROUND}; }
pre { margin: 0; font: 14px/1.25 "DejaVu Sans Mono", monospace; }
</style><pre>${html}</pre>`;
}

/** Splits at the sequences that set colours, keeping their codes. */
const COLOUR_SEQUENCE = new RegExp(`${String.fromCharCode(27)}\\[([0-9;]*)m`);

const BACKGROUND = "#16181b";
const FOREGROUND = "#d6dadf";

interface Style {
  colour?: string;
  background?: string;
  bold?: boolean;
  dim?: boolean;
  inverse?: boolean;
}

/** The sixteen basic colours, the bright ones last. */
const BASIC = [
  ...["#16181b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d6dadf"],
  ...["#5c6370", "#ff7b86", "#b1e18b", "#efb074", "#67cdff", "#e48bff", "#63d4e0", "#ffffff"],
];

function applied(style: Style, codes: number[]): Style {
  let next = { ...style };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) next = {};
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 7) next.inverse = true;
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 27) next.inverse = false;
    else if (code === 39) delete next.colour;
    else if (code === 49) delete next.background;
    else if (code >= 30 && code <= 37) next.colour = BASIC[code - 30] ?? "";
    else if (code >= 90 && code <= 97) next.colour = BASIC[code - 82] ?? "";
    else if (code >= 40 && code <= 47) next.background = BASIC[code - 40] ?? "";
    else if (code === 38 || code === 48) {
      const [colour, used] = longColour(codes.slice(at + 1));
      if (code === 38) next.colour = colour;
      else next.background = colour;
      at += used;
    }
  }
  return next;
}

/** `2;R;G;B` or `5;N`, and how many codes it takes. */
function longColour([kind, a = 0, b = 0, c = 0]: number[]): [string, number] {
  if (kind === 2) return [`rgb(${a},${b},${c})`, 4];
  if (a < 16) return [BASIC[a] ?? "", 2];
  if (a >= 232) return [`rgb(${Array.from({ length: 3 }, () => 8 + (a - 232) * 10).join(",")})`, 2];
  const level = (n: number) => (n === 0 ? 0 : 55 + n * 40);
  const cube = a - 16;
  return [`rgb(${level(Math.floor(cube / 36))},${level(Math.floor(cube / 6) % 6)},${level(cube % 6)})`, 2];
}

function css({ colour, background, bold, dim, inverse }: Style): string {
  const [front, back] = inverse ? [background ?? BACKGROUND, colour ?? FOREGROUND] : [colour, background];
  return [
    front && `color:${front}`,
    back && `background:${back}`,
    bold && "font-weight:700",
    dim && "opacity:0.7",
  ]
    .filter((rule) => rule)
    .join(";");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
