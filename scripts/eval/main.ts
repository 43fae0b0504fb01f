import { readFileSync, writeFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { createIo, EXIT, type Io, UsageError } from "../../src/host/cli/io.ts";
import { ordinalOf, withSetting } from "../../src/host/cli/options.ts";
import { PASSIVE_VARIABLE } from "../../src/host/settings/settings.ts";
import { parseSession } from "../../src/index.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { asOneLine } from "../../src/reducers/ledger/memory-id.ts";
import { KEEP_RECENT_TOKENS } from "../../src/reducers/ledger/proposed-cut.ts";
import { messageOf } from "../../src/reducers/message-of.ts";
import type { Settings } from "../../src/reducers/settings.ts";
import { type Evaluation, evaluate } from "./evaluation.ts";
import { openModels } from "./metered-models.ts";
import type { Cut } from "./play.ts";
import { readQuestions } from "./questions.ts";
import { isComplete, reportLines } from "./report.ts";

/** `npm run eval -- SESSION QUESTIONS --model provider/id`: how good memory is, by questions; see docs/fidelity.md. */
interface Options {
  model: string;
  grader?: string;
  leaf?: string;
  foldAt: Cut[];
  keepRecent: number;
  set?: Partial<Settings>;
  questions?: number;
  parallel: number;
  save?: string;
  json?: boolean;
}

// Whoever has it set for all runs of Pi asks for memory at work here.
delete process.env[PASSIVE_VARIABLE];
const io = createIo();
const program = new Command("eval")
  .exitOverride()
  .description(
    "Plays a Pi session with memory at work, compacts it, and asks questions of what is remembered.",
  )
  .argument("<session>", "a Pi session (.jsonl); it is read, and nothing is written to it")
  .argument("<questions>", "a JSON file: [{ id, question, expected, weight?, critical? }]")
  .requiredOption("--model <provider/id>", "the model of the workers, which also answers; as Pi knows it")
  .option("--grader <provider/id>", "the model that grades (default: the same)")
  .option("--leaf <id>", "the branch that ends with this entry (default: the file's last entry)")
  .option(
    "--fold-at <cut>",
    "compact after so many source tokens, after this entry, or at the end (repeatable; default: where the session was compacted, and at the end)",
    withCut,
    [] as Cut[],
  )
  .option("--keep-recent <tokens>", "what a compaction keeps verbatim", ordinalOf, KEEP_RECENT_TOKENS)
  .option("--set <key=value>", "a setting in place of your own (repeatable)", withSetting)
  .option("--questions <n>", "ask the first n questions only", ordinalOf)
  .option("--parallel <n>", "questions asked at the same time", ordinalOf, 4)
  .option("--save <file>", "write the session as it was played, with its memory")
  .option("--json", "one JSON object: everything, answers and summary included")
  .configureOutput({ outputError: (text, write) => write(asOneLine(text.replace(/^error: /, "eval: "))) })
  .action(async (session: string, questions: string, options: Options) => {
    process.exitCode = await run(io, session, questions, options);
  });

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  else if (error instanceof UsageError) {
    io.complain(`eval: ${asOneLine(error.message)}`);
    process.exitCode = EXIT.usage;
  } else throw error;
}
await io.end();

async function run(io: Io, file: string, questionFile: string, options: Options): Promise<number> {
  const all = readQuestions(questionFile);
  const entries = readEntries(file, options.leaf);
  const models = await openModels();
  const model = models.find(options.model);
  const evaluation = await evaluate({
    ...{ entries, models, model },
    questions: all.slice(0, options.questions ?? all.length),
    grader: options.grader === undefined ? model : models.find(options.grader),
    cuts: options.foldAt,
    keepTokens: options.keepRecent,
    settings: options.set ?? {},
    parallel: options.parallel,
    progress: (words) => io.progress(words),
  });
  if (options.save !== undefined) save(options.save, evaluation);
  const { branch: _, ...told } = evaluation;
  if (options.json)
    io.json({ type: "eval", model: options.model, grader: options.grader ?? options.model, ...told });
  else for (const line of reportLines(evaluation)) io.line(line);
  return isComplete(evaluation) ? EXIT.ok : EXIT.difference;
}

function withCut(text: string, before: Cut[]): Cut[] {
  if (text.trim() === "")
    throw new InvalidArgumentError('Write a number of source tokens, an entry\'s id, or "end".');
  // An id of eight digits is rare, and stands for itself where it is one of more tokens than any session has.
  return [...before, /^[1-9]\d{0,6}$/.test(text) ? Number(text) : text];
}

function readEntries(file: string, leaf: string | undefined): EntryLike[] {
  try {
    return parseSession(readFileSync(file, "utf8"), { leaf });
  } catch (error) {
    throw new UsageError(`${file}: ${messageOf(error)}`);
  }
}

function save(file: string, { branch }: Evaluation): void {
  const header = {
    type: "session",
    version: 3,
    id: "played",
    timestamp: new Date().toISOString(),
    cwd: process.cwd(),
  };
  writeFileSync(file, [header, ...branch].map((line) => `${JSON.stringify(line)}\n`).join(""));
}
