import { Command, CommanderError } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import { asOneLine } from "../../reducers/ledger/memory-id.ts";
import { doctorCommand } from "./doctor-command.ts";
import { exportCommand } from "./export/export-command.ts";
import { inspectCommand } from "./inspect-command.ts";
import { createIo, EXIT, type Io, UsageError } from "./io.ts";
import { examples } from "./options.ts";
import { otelCommand } from "./otel-command.ts";
import { recallCommand } from "./recall-command.ts";
import { replayCommand } from "./replay/replay-command.ts";
import { scrubCommand } from "./scrub-command.ts";
import { searchCommand } from "./search-command.ts";
import { sessionsCommand } from "./sessions-command.ts";
import { statsCommand } from "./stats/stats-command.ts";
import { tuneCommand } from "./tune/tune-command.ts";
import { viewCommand } from "./view-command.ts";

/** Every subcommand, in the order of the help: a function that gives commander's description of it. */
const SUBCOMMANDS: readonly ((io: Io, exit: (code: number) => void) => Command)[] = [
  sessionsCommand,
  replayCommand,
  inspectCommand,
  tuneCommand,
  statsCommand,
  viewCommand,
  recallCommand,
  exportCommand,
  searchCommand,
  scrubCommand,
  otelCommand,
  doctorCommand,
];

/**
 * The `memory-lanes` command: runs it with the arguments after the program's name and resolves to the exit code. 0: all
 * is well; 1: a difference or a finding; 2: the user has something to put right, and one line on stderr says what.
 */
export async function main(args: readonly string[], io: Io = createIo()): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = new Command("memory-lanes")
    .exitOverride()
    .description("Looks into the memory of Pi sessions: replay, question, tune and read it.")
    .version(packageJson.version)
    .addHelpText(
      "after",
      `${examples(["", "this folder's sessions"], ["inspect", "the latest of them, in the browser"])}\n\nEach command's --help has more.`,
    )
    .configureOutput({
      writeOut: (text) => io.line(text.trimEnd()),
      writeErr: (text) => io.complain(text.trimEnd()),
      outputError: (text, write) => write(asOneLine(text.trimEnd().replace(/^error: /, "memory-lanes: "))),
    });
  for (const subcommand of SUBCOMMANDS) {
    program.addCommand(
      subcommand(io, (code) => {
        exitCode = code;
      }),
    );
  }
  for (const command of program.commands) command.copyInheritedSettings(program);
  try {
    await program.parseAsync(args.length === 0 ? ["sessions"] : [...args], { from: "user" });
  } catch (error) {
    exitCode = codeOf(error, io);
  }
  try {
    await io.end();
  } catch (error) {
    exitCode = codeOf(error, io);
  }
  return exitCode;
}

function codeOf(error: unknown, io: Io): number {
  if (error instanceof UsageError) {
    io.complain(`memory-lanes: ${asOneLine(error.message)}`);
    return EXIT.usage;
  }
  // Commander has said what is wrong, or has shown its help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  throw error;
}
