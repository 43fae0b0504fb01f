import { Command, InvalidArgumentError } from "commander";
import { startInspectServer } from "../inspect/inspect-server.ts";
import { openBrowser } from "../inspect/open-browser.ts";
import { openFileSource } from "../inspect/open-file.ts";
import { loadViewer } from "../inspect/viewer-files.ts";

interface InspectOptions {
  port?: number;
  open: boolean;
  json?: boolean;
  stately?: boolean;
}

/** `memory-lanes inspect FILE`: serves a recording or a session file to a browser on this machine until it is stopped. */
export function inspectCommand(): Command {
  return new Command("inspect")
    .description("look at a recording or a Pi session file in a browser on this machine")
    .argument("<file>", "a recording (.ndjson) or a Pi session file (.jsonl)")
    .option("--port <number>", "port on 127.0.0.1 (default: a free one)", portOf)
    .option("--no-open", "only print the address")
    .option("--json", 'print one line {"page", "socket"} and open nothing')
    .option("--stately", "open Stately's inspector instead of the local viewer; it is an online page")
    .action(inspect);
}

/** Resolves when the user stops it (Ctrl+C, or the end of its parent). Throws, naming the file, for what cannot be opened. */
async function inspect(
  file: string,
  { port, open, json = false, stately = false }: InspectOptions,
): Promise<void> {
  const viewer = await loadViewer();
  const server = await startInspectServer({ source: await openFileSource(file), viewer, port });
  const { page, socket } = server;
  if (json) console.log(JSON.stringify({ page, socket }));
  else {
    console.log(page);
    console.log(`Inspector protocol: ${socket}`);
    if (stately) console.log(`Stately's inspector is an online page: ${server.stately}`);
    console.log("Ctrl+C stops it.");
  }
  if (open && !json) openBrowser(stately ? server.stately : page);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
  await server.close();
}

const HIGHEST_PORT = 65_535;

function portOf(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > HIGHEST_PORT) {
    throw new InvalidArgumentError(`it must be a number from 1 to ${HIGHEST_PORT}`);
  }
  return port;
}
