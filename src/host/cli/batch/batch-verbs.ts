import { basename, join } from "node:path";
import { readSession, sessionHealth } from "../doctor/session-health.ts";
import { type ExportOptions, exportMemory } from "../export/export-command.ts";
import { ownSettings, surroundings } from "../input/surroundings.ts";
import { EXIT, type Io } from "../io.ts";
import { type ReplayOptions, replayFile } from "../replay/replay-command.ts";
import { statsOf } from "../stats/session-stats.ts";
import type { BatchVerb } from "./batch-record.ts";

/** How a verb works on one file among many. */
interface VerbOnFile {
  /** `values`: what it puts out as JSON, of which the last are kept */
  run(
    io: Io,
    file: string,
    options: object,
    values: readonly unknown[],
  ): Promise<{ exit: number; result: unknown }>;
}

/** The verbs that take many files. Options are what commander has made of the command line. */
export const BATCH_VERBS: Readonly<Record<BatchVerb, VerbOnFile>> = {
  replay: {
    async run(io, file, options, values) {
      const exit = await replayFile(io, file, {
        ...(options as ReplayOptions),
        json: true,
        from: Number.MAX_SAFE_INTEGER,
      });
      return { exit, result: values.at(-1) ?? null };
    },
  },
  verify: {
    async run(io, file, options, values) {
      const exit = await replayFile(io, file, { ...(options as ReplayOptions), json: true, verify: true });
      return { exit, result: values.at(-1) ?? null };
    },
  },
  stats: {
    async run(io, file) {
      return { exit: EXIT.ok, result: await statsOf(io, file) };
    },
  },
  doctor: {
    async run(_io, file) {
      const { settings } = ownSettings(surroundings());
      const { problems, ...health } = sessionHealth(readSession(file), settings);
      return { exit: problems.length > 0 ? EXIT.difference : EXIT.ok, result: { ...health, problems } };
    },
  },
  export: {
    async run(io, file, options) {
      const { output = ".", ...how } = options as ExportOptions;
      const name = basename(file).replace(/\.jsonl$/, "");
      const written = join(output, `${name}.${how.json ? "json" : "md"}`);
      const exit = await exportMemory(io, file, { ...how, output: written });
      return { exit, result: { written } };
    },
  },
};
