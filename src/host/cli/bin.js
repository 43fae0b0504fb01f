#!/usr/bin/env node
// Plain JavaScript, so that every Node can at least say that it is too old.
import { existsSync } from "node:fs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`memory-lanes needs Node 22.19 or newer; this is Node ${process.versions.node}.`);
  process.exitCode = 2;
} else {
  // Takes the source when it is there (a checkout), the build otherwise (the npm package ships no source).
  const source = new URL("./main.ts", import.meta.url);
  const { main } = await import(
    existsSync(source) ? source : new URL("../../../dist/cli.js", import.meta.url)
  );
  process.exitCode = await main(process.argv.slice(2));
}
