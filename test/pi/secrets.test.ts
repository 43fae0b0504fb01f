import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type ChatRequest,
  chunkBlocks,
  defaultObserver,
  freshToolResults,
  lastUserText,
  type Role,
} from "../../demo/model/scripted-model.ts";
import { customEntries } from "../../demo/pi/session-file.ts";
import { memoryId } from "../../src/reducers/ledger/memory-id.ts";
import { OBSERVATIONS_RECORDED, type ObservationsRecorded } from "../../src/reducers/ledger/records.ts";
import { run } from "../support/programs/run-cli.ts";
import { secretOf } from "../support/sessions/secrets.ts";
import { lanesAtRest, onlyObserver, prose, SMALL, withPi } from "./support/harness.ts";

const said = secretOf("GitHub classic token").text;
const printed = secretOf("OpenSSH key").text;
const echoed = secretOf("Anthropic key").text;
/** A line of the key block tells as much as the whole. */
const keyLine = printed.split("\n")[2] ?? "";
const planted = [said, keyLine, echoed];
const WORKERS = ["observer", "reflector", "dropper", "summariser"] as const satisfies Role[];

/** Prints a key when it is asked to, and talks at length. */
function agent(request: ChatRequest, nth: number) {
  if (/^Recall /.test(lastUserText(request)) && freshToolResults(request).length === 0) {
    return { toolCalls: [{ name: "recall", arguments: { id: lastUserText(request).slice(7) } }] };
  }
  if (nth === 1) return { toolCalls: [{ name: "bash", arguments: { command: `printf '%s' '${printed}'` } }] };
  return { text: prose(900, nth) };
}

/** Notes a key that no source shows, as a model may that has seen it elsewhere. */
function observer(request: ChatRequest, nth: number) {
  if (nth > 1) return defaultObserver(request);
  const sourceEntryIds = [chunkBlocks(request)[0]?.entryId];
  const observation = { content: `The key is ${echoed}.`, relevance: "critical", sourceEntryIds };
  return { toolCalls: [{ name: "record_observations", arguments: { observations: [observation] } }] };
}

describe("a planted secret", () => {
  it("reaches no worker, and stands nowhere on disk but in what was said", { timeout: 90_000 }, async () => {
    const memory = { ...SMALL, debugLog: true };
    await withPi({ memory, script: { agent, observer } }, async ({ pi, model, dir }) => {
      for (let turn = 1; turn <= 12; turn++) {
        await pi.prompt(`Turn ${turn}: deploy with ${said}, as ${prose(60, turn)}`);
        await lanesAtRest(pi);
      }
      const entries = await pi.entries();
      const records = customEntries<ObservationsRecorded>(entries, OBSERVATIONS_RECORDED).flatMap(
        ({ data }) => data.observations,
      );
      expect(entries.some(({ type }) => type === "compaction")).toBe(true);
      expect(records[0]).toMatchObject({ content: "The key is [redacted:anthropic-key]." });
      for (const { id, content } of records) expect(id).toBe(memoryId(content));
      expect(records.some(({ content }) => content.includes("[redacted:github-token]"))).toBe(true);

      await pi.prompt(`Recall ${records.find(({ content }) => content.includes("github-token"))?.id}`);
      await lanesAtRest(pi);
      const told = [
        await pi.command("/om:view"),
        await pi.command("/om:view full"),
        await pi.command("/om:status"),
      ];
      const file = await pi.sessionFile();
      await pi.stop();

      for (const role of WORKERS) {
        // Its own words come back to it; they are no news to its provider.
        const requests = model
          .by(role)
          .map(({ body }) => body.messages.filter((message) => message.role !== "assistant"));
        for (const secret of planted) expect(JSON.stringify(requests)).not.toContain(secret);
      }
      expect(JSON.stringify(model.by("observer")[0]?.body)).toContain("[redacted:private-key]");
      for (const secret of planted) expect(JSON.stringify(told)).not.toContain(secret);

      const places = filesIn(dir).flatMap((name) =>
        readFileSync(name, "utf8")
          .split("\n")
          .filter((line) => planted.some((secret) => line.includes(secret)))
          .map((line) => {
            const { type, message = {} } = JSON.parse(line);
            return `${name === file ? "session" : name} ${type} ${message.role} ${message.toolName ?? ""}`.trim();
          }),
      );
      expect(new Set(places)).toEqual(
        new Set(["session message user", "session message assistant", "session message toolResult bash"]),
      );

      const copy = join(dir, "copy.jsonl");
      const { code, out } = await run(["scrub", file, "-o", copy]);
      expect([code, out]).toEqual([0, expect.stringContaining("github-token")]);
      const scrubbed = readFileSync(copy, "utf8");
      for (const secret of planted) expect(scrubbed).not.toContain(secret);
      expect((await run(["view", copy, "--full"])).out).toBe((await run(["view", file, "--full"])).out);
      for (const { id } of records) {
        expect((await run(["recall", copy, id])).out).toBe((await run(["recall", file, id])).out);
      }
    });
  });
});

describe("redactSecrets: false", () => {
  it("leaves everything as it is", { timeout: 60_000 }, async () => {
    const memory = { ...onlyObserver(500), redactSecrets: false };
    await withPi({ memory, script: { observer } }, async ({ pi, model }) => {
      await pi.prompt(`Deploy with ${said}, as ${prose(600)}`);
      await lanesAtRest(pi);
      expect(JSON.stringify(model.by("observer")[0]?.body)).toContain(said);
      const [entry] = customEntries<ObservationsRecorded>(await pi.entries(), OBSERVATIONS_RECORDED);
      expect(entry?.data.observations[0]).toMatchObject({
        id: memoryId(`The key is ${echoed}.`),
        content: `The key is ${echoed}.`,
      });
    });
  });
});

function filesIn(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((found) => found.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}
