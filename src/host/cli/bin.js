#!/usr/bin/env node
// Plain JavaScript, so that every Node can at least say what is missing.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isTooOld = major < 22 || (major === 22 && minor < 19);
const source = new URL("./main.ts", import.meta.url);
const isCheckout = existsSync(source);
const packages = fileURLToPath(new URL("../../../node_modules/", import.meta.url));
/** The Node that `npm ci` installs with a checkout */
const ownNode = `${packages}node/bin/node${process.platform === "win32" ? ".exe" : ""}`;

if (isCheckout && !existsSync(`${packages}commander`)) {
  stop(
    `this checkout has no packages yet: run \`npm ci\` in ${fileURLToPath(new URL("../../..", import.meta.url))}`,
  );
} else if (!isTooOld) {
  // Takes the source when it is there (a checkout), the build otherwise (the npm package ships no source).
  const { main } = await import(isCheckout ? source : new URL("../../../dist/cli.js", import.meta.url));
  process.exitCode = await main(process.argv.slice(2));
} else if (existsSync(ownNode) && realpathSync(ownNode) !== realpathSync(process.execPath)) {
  process.exitCode = await runWith(ownNode);
} else {
  stop(`it needs Node 22.19 or newer; this is Node ${process.versions.node}.`);
}

function stop(why) {
  console.error(`memory-lanes: ${why}`);
  process.exitCode = 2;
}

/** Runs this file again with another Node, and resolves to its exit code. */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends Ctrl+C to both; whoever ends this process alone means the other one.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code === null ? 1 : code));
  });
}
