import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { isBeforeOldestPi, OLDEST_PI } from "../../pi/oldest-pi.ts";
import type { Surroundings } from "../input/surroundings.ts";
import { type Finding, findingsOf, packageAround } from "./finding.ts";

const PI_PACKAGE = /^@[^/]+\/pi-coding-agent$/;
const finding = findingsOf("pi");

/** Pi on the search path: the script that is run, and its version. */
export interface PiFound {
  bin: string;
  version: string | undefined;
}

export function findPi({ env }: Surroundings): PiFound | undefined {
  const names = process.platform === "win32" ? ["pi.cmd", "pi.exe", "pi"] : ["pi"];
  const dirs = (env.PATH ?? env.Path ?? "").split(delimiter).filter((dir) => dir !== "");
  for (const dir of dirs) {
    const bin = names.map((name) => join(dir, name)).find(existsSync);
    if (bin === undefined) continue;
    // npm puts a link there, or beside the packages a script of its own.
    const found = [bin, join(dir, "node_modules", "@earendil-works", "pi-coding-agent")]
      .map(packageAround)
      .find((candidate) => candidate && PI_PACKAGE.test(candidate.name));
    return { bin, version: found?.version };
  }
  return undefined;
}

export function checkPi({ agentDir }: Surroundings, pi: PiFound | undefined): Finding[] {
  return [
    checkVersion(pi),
    existsSync(agentDir)
      ? finding("ok", `agent directory ${agentDir}`)
      : finding(
          "error",
          `there is no agent directory ${agentDir}`,
          "start pi once, or set PI_CODING_AGENT_DIR to the directory that it uses",
        ),
  ];
}

function checkVersion(pi: PiFound | undefined): Finding {
  if (!pi)
    return finding("warning", "Pi was not found on PATH", "install it, or run this where `pi` can be run");
  const { bin, version } = pi;
  if (version === undefined) return finding("note", `Pi is ${bin}; its version cannot be read off its files`);
  if (!isBeforeOldestPi(version)) return finding("ok", `Pi is ${version} (${bin})`);
  const advice = `update Pi to ${OLDEST_PI} or newer: pi update`;
  return finding("error", `Pi is ${version} (${bin}), too old for Memory Lanes`, advice);
}
