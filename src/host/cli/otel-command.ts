import { Command } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import { type Backfill, openBackfill } from "../../effects/telemetry/backfill.ts";
import { messageOf } from "../../reducers/message-of.ts";
import { countOf } from "../../reducers/words.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { runReplay } from "./replay/replay-run.ts";
import { complainOfLines, openSource } from "./replay/replay-source.ts";

interface OtelOptions {
  json?: boolean;
}

export function otelCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("otel")
    .description("Send what memory did in sessions that are over to an OpenTelemetry collector")
    .argument(
      "[files...]",
      "recordings, or Pi sessions: their files or the beginnings of their ids (default: the latest session of this folder)",
    )
    .option("--json", "one JSON object for each file")
    .addHelpText(
      "after",
      `
The collector, headers, protocol and resource are those of the standard variables, such as
OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318. Sending a file again sends the same ids.`,
    )
    .action(async (files: string[], options: OtelOptions) => exit(await otel(io, files, options)));
}

async function otel(io: Io, files: readonly string[], { json = false }: OtelOptions): Promise<number> {
  const backfill = await opened();
  if (backfill.omission !== undefined) io.complain(`memory-lanes: ${backfill.omission}`);
  let code: number = EXIT.ok;
  for (const argument of files.length === 0 ? [undefined] : files) {
    try {
      const { file, spans, runs, compactions } = await sent(io, backfill, argument);
      if (json) io.json({ type: "otel", file, spans, runs, compactions });
      else
        io.line(
          `${file}: sent ${countOf(spans, "span")} of ${countOf(runs, "run")} and ${countOf(compactions, "compaction")}`,
        );
    } catch (error) {
      // One bad file must not keep the others from being sent; named alone it is the user's mistake.
      if (!(error instanceof UsageError) || files.length <= 1) throw error;
      io.complain(`memory-lanes: ${error.message}`);
      code = EXIT.difference;
    }
  }
  // All that it still had was sent, file by file.
  await backfill.close().catch(() => {});
  return code;
}

async function opened(): Promise<Backfill> {
  let backfill: Backfill | undefined;
  try {
    backfill = await openBackfill(process.env, packageJson.version);
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
  if (backfill) return backfill;
  throw new UsageError(
    "no collector is named; set OTEL_EXPORTER_OTLP_ENDPOINT, such as http://localhost:4318, or OTEL_TRACES_EXPORTER",
  );
}

async function sent(io: Io, backfill: Backfill, argument: string | undefined) {
  const source = await openSource(io, argument);
  const session = backfill.begin(source.kind);
  const report = await runReplay(source, io, { onStep: (step) => session.take(step) });
  complainOfLines(io, source.file, report.reading);
  const runs = Object.values(report.runs).flatMap((outcomes) => Object.values(outcomes));
  try {
    const spans = await session.send();
    return {
      file: source.file,
      spans,
      runs: runs.reduce((a, b) => a + b, 0),
      compactions: report.compactions,
    };
  } catch (error) {
    throw new UsageError(
      `${source.file}: the collector did not take it: ${messageOf(error).replace(/^Error: /, "")}`,
    );
  }
}
