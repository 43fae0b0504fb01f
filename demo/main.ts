import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { heading, paint, say } from "./demo-progress.ts";
import { anyDrops, missingFrom, showCommands, showFiles, showOutcome } from "./demo-report.ts";
import { type DemoOptions, runDemo } from "./demo-run.ts";

const HELP = `Runs the main job of pi-memory-lanes in a real Pi: observe, reflect, drop, compact, recall.

Usage: npm start
       npm start -- --model provider/id

Without options everything happens on this machine: a scripted model answers over loopback, no key is needed and
nothing reaches the network.

  --model provider/id  use one of your own Pi models instead; it gets some sixty requests of a few thousand tokens.
                       Your agent dir (PI_CODING_AGENT_DIR or ~/.pi/agent) is used for sign-ins and model definitions;
                       settings, session and working folder are scratch ones. Your other extensions are not loaded.
  --dir PATH           scratch folder; by default a new one under the system's temporary folder. It stays.
  --help               this text`;

class UsageError extends Error {}

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined) {
    say(HELP);
    return 0;
  }
  const interrupted = new AbortController();
  process.once("SIGINT", () => interrupted.abort(new Error("interrupted")));
  const own = options.model !== undefined;
  say(
    `${paint("bold", "Memory Lanes")}: the main job in a real Pi, ${own ? `with ${options.model}` : "with a scripted model, offline"}`,
  );
  say(`${paint("dim", `Scratch folder ${options.dir}`)}\n`);

  const started = performance.now();
  const result = await runDemo(options, interrupted.signal);
  showOutcome(result);
  showFiles(result);

  const missing = missingFrom(result, { dropsExpected: !own });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (missing.length === 0) {
    const dropped = anyDrops(result) ? "dropped" : "dropped nothing (the model kept it all)";
    say(`\n${paint("green", "✓")} Observed, reflected, ${dropped}, compacted and recalled in ${seconds} s.`);
    showCommands(result);
    return 0;
  }
  heading("The main job did not happen");
  for (const reason of missing) say(`${paint("red", "✗")} ${reason}`);
  for (const complaint of result.complaints) say(paint("dim", complaint));
  return 1;
}

function readOptions(): DemoOptions | undefined {
  let values: { model?: string; dir?: string; help?: boolean };
  try {
    ({ values } = parseArgs({
      options: { model: { type: "string" }, dir: { type: "string" }, help: { type: "boolean", short: "h" } },
    }));
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
  if (values.help) return undefined;
  if (values.model !== undefined && !/^[^/\s]+\/\S+$/.test(values.model)) {
    throw new UsageError(`--model takes provider/id, not ${JSON.stringify(values.model)}`);
  }
  return { dir: scratchDir(values.dir), ...(values.model !== undefined && { model: values.model }) };
}

function scratchDir(asked: string | undefined): string {
  if (asked === undefined) return mkdtempSync(join(tmpdir(), "memory-lanes-demo-"));
  const dir = resolve(asked);
  mkdirSync(dir, { recursive: true });
  return dir;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// A reader that has seen enough (`| head`) is no failure of the job.
process.stdout.on("error", () => {});

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`${paint("red", "✗")} ${messageOf(error)}`);
  if (error instanceof UsageError) console.error(`\n${HELP}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
