import { execFileSync, spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { type PiLaunch, preparePi } from "../../../demo/pi/pi-launch.ts";

/** Whether tests can have a real terminal here. */
export const HAS_TMUX = spawnSync("tmux", ["-V"]).status === 0;

/** Pi in a real terminal (tmux), as a user has it. */
export interface PiTerminal {
  /** The screen's text; with `styled`, with its colours as escape sequences. */
  screen(options?: { styled?: boolean }): string;
  /** Types text, or presses keys by tmux's names (`Enter`, `Escape`). */
  type(text: string): void;
  press(...keys: string[]): void;
  /** Waits until the screen shows this. */
  shows(pattern: RegExp, timeoutMs?: number): Promise<string>;
  close(): void;
}

let terminals = 0;

/** Starts Pi's terminal interface in a tmux server of its own. */
export function openTerminal(launch: PiLaunch, size = { columns: 120, rows: 36 }): PiTerminal {
  const server = `memory-lanes-${process.pid}-${++terminals}`;
  const tmux = (...args: string[]) => execFileSync("tmux", ["-L", server, ...args], { encoding: "utf8" });
  const { file, args, env, dirs } = preparePi(launch, []);
  const variables = Object.entries({
    ...env,
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
    LANG: "C.UTF-8",
  });
  const script = [
    "env",
    "-i",
    ...variables.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`])),
    file,
    ...args,
  ];
  execFileSync(
    "tmux",
    [
      ...["-L", server, "-u", "-f", "/dev/null"],
      ...["new-session", "-d", "-x", String(size.columns), "-y", String(size.rows), "-c", dirs.work],
      script.map(quoted).join(" "),
    ],
    { encoding: "utf8", env: { ...process.env, TMUX: "" } },
  );

  const screen = ({ styled = false } = {}) => tmux("capture-pane", "-p", ...(styled ? ["-e"] : []));
  return {
    screen,
    type: (text) => tmux("send-keys", "-l", text),
    press: (...keys) => tmux("send-keys", ...keys),
    async shows(pattern, timeoutMs = 20_000) {
      const deadline = performance.now() + timeoutMs;
      for (;;) {
        const text = screen();
        if (pattern.test(text)) return text;
        if (performance.now() > deadline) throw new Error(`The terminal never showed ${pattern}:\n${text}`);
        await sleep(50);
      }
    },
    close() {
      spawnSync("tmux", ["-L", server, "kill-server"]);
    },
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
