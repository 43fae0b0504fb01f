import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { packageAround } from "./files.ts";
import { type Finding, findingsOf, type Surroundings } from "./finding.ts";

/** The oldest Pi that the extension works on. */
export const OLDEST_PI = "0.87.1";

const PI_PACKAGE = /^@[^/]+\/pi-coding-agent$/;
const finding = findingsOf("pi");

/** Pi on the search path: the script that is run, and its version. */
export interface PiFound {
  bin: string;
  version: string;
}

export function findPi({ env }: Surroundings): PiFound | undefined {
  const names = process.platform === "win32" ? ["pi.cmd", "pi.exe", "pi"] : ["pi"];
  for (const dir of (env.PATH ?? env.Path ?? "").split(delimiter)) {
    for (const name of names) {
      const bin = join(dir, name);
      if (dir === "" || !existsSync(bin)) continue;
      // npm puts a link there, or beside the packages a script of its own.
      const found = [bin, join(dir, "node_modules", "@earendil-works", "pi-coding-agent")]
        .map(packageAround)
        .find((candidate) => candidate && PI_PACKAGE.test(candidate.name));
      return { bin, version: found?.version ?? "" };
    }
  }
  return undefined;
}

export function checkPi(around: Surroundings, pi: PiFound | undefined): Finding[] {
  const findings: Finding[] = [];
  if (!pi) {
    findings.push(
      finding("warning", "Pi was not found on PATH", "install it, or run this where `pi` can be run"),
    );
  } else if (pi.version === "") {
    findings.push(finding("note", `Pi is ${pi.bin}; its version cannot be read off its files`));
  } else if (isOlder(pi.version, OLDEST_PI)) {
    const advice = `update Pi to ${OLDEST_PI} or newer: pi update`;
    findings.push(finding("error", `Pi is ${pi.version} (${pi.bin}), too old for Memory Lanes`, advice));
  } else findings.push(finding("ok", `Pi is ${pi.version} (${pi.bin})`));
  if (existsSync(around.agentDir)) findings.push(finding("ok", `agent directory ${around.agentDir}`));
  else {
    const advice = "start pi once, or set PI_CODING_AGENT_DIR to the directory that it uses";
    findings.push(finding("error", `there is no agent directory ${around.agentDir}`, advice));
  }
  return findings;
}

/** Whether a version `1.2.3` is older than another; anything after the numbers is passed over. */
export function isOlder(version: string, than: string): boolean {
  const numbersOf = (text: string) => text.split(/[.+-]/, 3).map((part) => Number.parseInt(part, 10) || 0);
  const a = numbersOf(version);
  const b = numbersOf(than);
  for (let at = 0; at < 3; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
