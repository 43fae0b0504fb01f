import { describe, expect, it } from "vitest";
import { type ChatRequest, freshToolResults, lastUserText } from "../../demo/model/scripted-model.ts";
import { lanesAtRest, SMALL, withPi } from "./support/harness.ts";

/** Searches when it is asked to, and repeats what the tool said. */
function agent(request: ChatRequest) {
  const query = /^Search (.+)$/.exec(lastUserText(request))?.[1];
  if (query === undefined) return { text: "Noted." };
  if (freshToolResults(request).length > 0)
    return { text: `TOLD ${JSON.stringify(freshToolResults(request))}` };
  return { toolCalls: [{ name: "recall", arguments: { query } }] };
}

describe("a search in Pi", () => {
  it("answers the agent's recall without an id, and the user's command", { timeout: 90_000 }, async () => {
    await withPi({ memory: SMALL, script: { agent } }, async ({ pi }) => {
      await pi.prompt("The lighthouseKeeper lives in 東京都.");
      await pi.prompt("Search lighthouse");
      await lanesAtRest(pi);
      const told = JSON.stringify(await pi.entries());
      expect(told).toContain('for \\"lighthouse\\" in this branch');
      expect(told).toMatch(/TOLD.*lighthouseKeeper lives/);
      expect(JSON.stringify(await pi.command("/om:search 京都"))).toContain("lighthouseKeeper");
      expect(JSON.stringify(await pi.command("/om:search ..."))).toContain("Nothing to search for");
    });
  });
});
