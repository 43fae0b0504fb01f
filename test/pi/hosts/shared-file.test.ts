import { describe, expect, it } from "vitest";
import { defaultObserver, type Handler } from "../../../demo/model/scripted-model.ts";
import { startPi } from "../../../demo/pi/pi-process.ts";
import { readSessionFile } from "../../../demo/pi/session-file.ts";
import { agent, expectNoErrors, notices, warnings } from "../faults/outcome.ts";
import { onlyObserver, type PiHost, waitFor, withPi } from "../support/harness.ts";

/** Another Pi opens the session of this host's, works in it without memory, and leaves. */
async function workElsewhere({ launch, pi }: PiHost, prompts: readonly string[]): Promise<void> {
  const env = { PI_OBSERVATIONAL_MEMORY_PASSIVE: "1" };
  const other = await startPi({ ...launch, session: await pi.sessionFile(), env });
  try {
    for (const prompt of prompts) await other.prompt(prompt);
  } finally {
    await other.stop();
  }
}

/** What the user said on the branch that the next Pi to open a session file takes: the one of its last entry. */
function saidOnNextBranch(file: string): string[] {
  const entries = readSessionFile(file).slice(1);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const said: string[] = [];
  for (let entry = entries.at(-1); entry; entry = byId.get(String(entry.parentId))) {
    const message = entry.message as { role: string; content: { text?: string }[] } | undefined;
    if (message?.role === "user") said.unshift(message.content[0]?.text ?? "");
  }
  return said;
}

describe("a session file that another Pi has written to meanwhile", { timeout: 60_000 }, () => {
  it("gets no late result, which is said once; work goes on after the next prompt", async () => {
    const gate = Promise.withResolvers<void>();
    const observer: Handler = async (request) => {
      await gate.promise;
      return defaultObserver(request);
    };
    await withPi({ memory: onlyObserver(500), script: { agent, observer } }, async (host) => {
      const { pi, model } = host;
      await pi.prompt("First here.");
      await waitFor(() => model.by("observer").length > 0, "the observer's request");
      await workElsewhere(host, ["Then there.", "And there again."]);
      const file = await pi.sessionFile();
      const left = readSessionFile(file);

      gate.resolve();
      await waitFor(() => warnings(host).length > 0, "a word about it");
      expect(readSessionFile(file)).toEqual(left);
      expect(saidOnNextBranch(file)).toEqual(["First here.", "Then there.", "And there again."]);
      expect(warnings(host)).toEqual([
        "Memory: another program has written to this session's file; nothing is recorded here before the next prompt. Open the session again to go on with what was written there.",
      ]);

      // Nothing is asked for what could not be recorded.
      const asked = model.by("observer").length;
      const told = notices(host).length;
      await pi.command("/om:run observer");
      await waitFor(() => notices(host).length > told + 1, "the result of /om:run");
      expect(notices(host).at(-1)).toMatch(/stale/);
      expect(model.by("observer")).toHaveLength(asked);
      expect(readSessionFile(file)).toEqual(left);
      expect(warnings(host)).toHaveLength(1);

      // The user goes on here all the same: from then on the file's end is this Pi's own.
      await pi.prompt("Here again.");
      await waitFor(
        () => readSessionFile(file).some(({ customType }) => customType === "om.observations.recorded"),
        "the observer to record",
      );
      expect(saidOnNextBranch(file)).toEqual(["First here.", "Here again."]);
      expectNoErrors(host);
    });
  });
});
