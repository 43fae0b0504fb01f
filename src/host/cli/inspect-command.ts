import { Command, InvalidArgumentError } from "commander";
import { messageOf } from "../../reducers/message-of.ts";
import type { Settings } from "../../reducers/settings.ts";
import { type Io, UsageError } from "./io.ts";
import { examples, FILE_ARGUMENT, LEAF_OPTION, ordinalOf, SET_OPTION } from "./options.ts";

interface InspectOptions {
  leaf?: string;
  set?: Partial<Settings>;
  port?: number;
  event?: number;
  session?: string;
  open: boolean;
  json?: boolean;
  stately?: boolean;
}

/** `memory-lanes inspect FILE`: serves a recording or a session file to a browser on this machine until it is stopped. */
export function inspectCommand(io: Io): Command {
  return new Command("inspect")
    .description("Look at a recording or a Pi session file in a browser on this machine")
    .argument(...FILE_ARGUMENT)
    .option(...LEAF_OPTION)
    .option(...SET_OPTION)
    .option(
      "--session <session>",
      "for a recording: the session whose texts are shown with it, by file or id (default: found by its id)",
    )
    .option("--event <number>", "open the page at this event (what its link button copies)", ordinalOf)
    .option("--port <number>", "port on 127.0.0.1 (default: a free one)", portOf)
    .option("--no-open", "only print the address")
    .option("--json", 'print one line {"page", "socket"} and open nothing')
    .option("--stately", "open Stately's inspector instead of the local viewer; it is an online page")
    .addHelpText(
      "after",
      examples(
        ["inspect", "the latest session of this folder, in the browser"],
        ["inspect recording.ndjson --port 8123 --no-open", "only serve, on a port of your choice"],
      ),
    )
    .action((file: string | undefined, options: InspectOptions) => inspect(io, file, options));
}

/** Resolves when the user stops it (Ctrl+C, or the end of its parent). The server is loaded here, for nobody else. */
async function inspect(
  io: Io,
  file: string | undefined,
  { leaf, set = {}, port, event, session, open, json = false, stately = false }: InspectOptions,
): Promise<void> {
  const { openBrowser, openFileSource, serveFile } = await import("../inspector/server/file-inspector.ts");
  const source = await openFileSource(io, file, { leaf, patch: set, session });
  const server = await serveFile(source, port, io.complain).catch((error: unknown) => {
    throw new UsageError(portMessageOf(error, port));
  });
  const { socket } = server;
  const page = event === undefined ? server.page : `${server.page}#event=${event}`;
  if (json) io.json({ page, socket });
  else {
    io.line(page);
    io.line(`Inspector protocol: ${socket}`);
    if (stately) io.line(`Stately's inspector is an online page: ${server.stately}`);
    for (const note of source.notes) io.line(note);
    io.line("Ctrl+C stops it.");
  }
  await io.ready();
  if (open && !json) openBrowser(stately ? server.stately : page);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
  await server.close();
}

/** A system's error names the port that it is about only in part. */
function portMessageOf(error: unknown, port: number | undefined): string {
  const message = messageOf(error);
  return port === undefined || message.includes(`port ${port}`) ? message : `port ${port}: ${message}`;
}

const HIGHEST_PORT = 65_535;

function portOf(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > HIGHEST_PORT) {
    throw new InvalidArgumentError(`it must be a number from 1 to ${HIGHEST_PORT}`);
  }
  return port;
}
