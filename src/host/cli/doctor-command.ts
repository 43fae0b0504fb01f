import { Command } from "commander";
import { fieldsOf, textOf } from "../../reducers/entries/entry.ts";
import { countOf } from "../../reducers/words.ts";
import type { SettingsProblem } from "../settings/settings.ts";
import { runBatch } from "./batch/batch.ts";
import { batchFiles } from "./batch/batch-files.ts";
import { splitOptions, withBatchOptions } from "./batch/batch-options.ts";
import type { BatchOptions } from "./batch/batch-record.ts";
import { checkExtension } from "./doctor/extension-check.ts";
import { type Finding, findingsOf } from "./doctor/finding.ts";
import { checkModel } from "./doctor/model-check.ts";
import { checkPi, findPi } from "./doctor/pi-check.ts";
import { checkSessions } from "./doctor/session-check.ts";
import { isProjectTrusted, ownSettings, type Surroundings, surroundings } from "./input/surroundings.ts";
import { EXIT, type Io } from "./io.ts";
import { examples } from "./options.ts";

export function doctorCommand(io: Io, exit: (code: number) => void): Command {
  const command = new Command("doctor")
    .description("Check Pi, the extension, settings, model and the latest sessions, and say what to do")
    .argument("[files...]", "only the memory in these Pi sessions: files, folders of them, globs")
    .option("--json", "NDJSON, a finding a line, as docs/replay.md describes it")
    .addHelpText(
      "after",
      examples(
        ["doctor", "what is not well, and what to do"],
        ["doctor --json | jq 'select(.level == \"error\")'", "for programs"],
      ),
    )
    .action(async (files: string[], options: DoctorOptions) =>
      exit(await (files.length > 0 ? examineSessions(io, files, options) : examine(io, options))),
    );
  return withBatchOptions(command);
}

interface DoctorOptions extends BatchOptions {
  json?: boolean;
}

/** The health of memory in many sessions; a problem of one is a finding. */
function examineSessions(io: Io, args: readonly string[], options: DoctorOptions): Promise<number> {
  const { batch } = splitOptions(options);
  return runBatch(io, {
    ...{ verb: "doctor", files: batchFiles(args), options: {}, batch },
    lineOf: ({ file, error, result }) => `${file}: ${error ?? healthWords(result)}`,
  });
}

function healthWords(result: unknown): string {
  const { problems, entries, observations, reflections } = fieldsOf(result);
  const messages = Array.isArray(problems)
    ? problems.map((problem) => textOf(fieldsOf(problem).message))
    : [];
  if (messages.length > 0) return messages.join("; ");
  return `${countOf(Number(entries), "entry", "entries")}, ${countOf(Number(observations), "active observation")}, ${countOf(Number(reflections), "reflection")}`;
}

async function examine(io: Io, { json = false }: { json?: boolean }): Promise<number> {
  const findings = await allFindings(surroundings());
  for (const finding of findings) {
    if (json) io.json(finding);
    else for (const line of linesOf(io, finding)) io.prose(line, 15);
  }
  const errors = findings.filter(({ level }) => level === "error").length;
  const warnings = findings.filter(({ level }) => level === "warning").length;
  if (!json) {
    io.line("");
    io.line(
      errors + warnings === 0
        ? io.paint("green", "All is well.")
        : `${countOf(errors, "error")}, ${countOf(warnings, "warning")}.`,
    );
  }
  return errors > 0 ? EXIT.difference : EXIT.ok;
}

async function allFindings(around: Surroundings): Promise<Finding[]> {
  const pi = findPi(around);
  const { settings, problems } = ownSettings(around);
  return [
    ...checkPi(around, pi),
    ...checkExtension(around, isProjectTrusted(around)),
    ...settingsFindings(problems, settings.passive),
    ...(await checkModel(around, settings, pi)),
    ...checkSessions(around, settings),
  ];
}

function settingsFindings(problems: readonly SettingsProblem[], passive: boolean): Finding[] {
  const finding = findingsOf("settings");
  const findings = problems.map(({ key, file, message }) =>
    finding(
      "warning",
      `${key} in ${file} ${message}`,
      `mend it in ${file}; docs/configuration.md lists what each key takes`,
    ),
  );
  if (passive) {
    const advice = 'set "passive": false, or unset PI_OBSERVATIONAL_MEMORY_PASSIVE';
    findings.push(finding("note", "memory is passive: no worker runs by itself", advice));
  }
  return findings.length > 0 ? findings : [finding("ok", "settings are fine")];
}

const MARKS = {
  ok: { mark: "✓", style: "green" },
  note: { mark: "·", style: "gray" },
  warning: { mark: "!", style: "yellow" },
  error: { mark: "✗", style: "red" },
} as const;

function linesOf(io: Io, { check, level, message, advice }: Finding): string[] {
  const { mark, style } = MARKS[level];
  const line = `${io.paint(style, mark)} ${check.padEnd(9)}  ${message}`;
  return advice === undefined ? [line] : [line, `${" ".repeat(13)}→ ${advice}`];
}
