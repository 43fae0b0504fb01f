import { describe, expect, it } from "vitest";
import { type ChatRequest, freshToolResults, lastUserText } from "../../../demo/model/scripted-model.ts";
import { customEntries } from "../../../demo/pi/session-file.ts";
import { OBSERVATIONS_RECORDED, type ObservationsRecorded } from "../../../src/reducers/ledger/records.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/programs/otlp-receiver.ts";
import { secretOf } from "../../support/sessions/secrets.ts";
import { lanesAtRest, onlyObserver, prose, withPi } from "../support/harness.ts";

const secret = secretOf("GitHub classic token").text;

function agent(request: ChatRequest, nth: number) {
  const [, id] = /^Recall (\w+)/.exec(lastUserText(request)) ?? [];
  if (id === undefined || freshToolResults(request).length > 0) return { text: prose(700, nth) };
  return { toolCalls: [{ name: "recall", arguments: { id, query: `ferry ${secret}` } }] };
}

/** A session in which a worker records a line, the agent recalls it and one that is not there; what the collector was sent. */
async function session(capture: Record<string, string>): Promise<OtlpReceiver["spans"]> {
  const receiver = await startOtlpReceiver();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    ...capture,
  };
  // The session's own protection is off: telemetry has its own.
  const memory = { ...onlyObserver(500), redactSecrets: false };
  try {
    await withPi({ script: { agent }, memory, env }, async ({ pi }) => {
      await pi.prompt(`The ferry leaves at 4:30, and the token is ${secret}.`);
      await lanesAtRest(pi);
      const [recorded] = customEntries<ObservationsRecorded>(await pi.entries(), OBSERVATIONS_RECORDED);
      await pi.prompt(`Recall ${recorded?.data.observations[0]?.id}`);
      await pi.prompt("Recall 000000000000");
      await pi.stop(10_000);
    });
    return receiver.spans;
  } finally {
    await receiver.close();
  }
}

describe("text of the session", () => {
  it("is in no span, unless the user allows it", async () => {
    const spans = await session({});
    const recalls = spans.filter(({ name }) => name === "search_memory");
    expect(recalls.map(({ attributes }) => attributes["gen_ai.memory.record.count"])).toEqual([1, 0]);
    expect(recalls.map(({ attributes }) => attributes["error.type"])).toEqual([undefined, "not-found"]);
    expect(recalls[0]?.attributes["gen_ai.memory.record.id"]).toMatch(/^[0-9a-f]{12}$/);
    expect(JSON.stringify(spans)).not.toMatch(/ferry/);
  });

  it("is in those of runs and recalls where the user does, without secrets", async () => {
    const spans = await session({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "SPAN_ONLY" });
    const [run] = spans.filter(({ name }) => name === "invoke_agent observer");
    const records = JSON.parse(String(run?.attributes["gen_ai.memory.records"])) as { content: string }[];
    expect(records.length).toBe(run?.attributes["gen_ai.memory.record.count"]);
    expect(records.every(({ content }) => content.length > 0)).toBe(true);
    const [recall] = spans.filter(({ name }) => name === "search_memory");
    expect(recall?.attributes["gen_ai.memory.query.text"]).toBe("ferry [redacted:github-token]");
    expect(String(recall?.attributes["gen_ai.memory.records"])).toContain("ferry");
    expect(JSON.stringify(spans)).not.toContain(secret);
  });
});
