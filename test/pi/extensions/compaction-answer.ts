import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** Another extension, for tests: it answers every compaction, with nothing or with a summary of its own (`/test:answer own`). */
export default function compactionAnswer(pi: ExtensionAPI): void {
  let how = "nothing";
  pi.on("session_before_compact", ({ preparation }) => {
    if (how === "nothing") return {};
    const { firstKeptEntryId, tokensBefore } = preparation;
    return { compaction: { summary: "What another extension says.", firstKeptEntryId, tokensBefore } };
  });
  pi.registerCommand("test:answer", {
    description: "Answer compactions with: nothing or own",
    handler: async (args) => {
      how = args.trim();
    },
  });
}
