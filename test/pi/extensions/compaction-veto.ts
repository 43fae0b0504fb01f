import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** Another extension, for tests: it cancels every compaction until it is told not to (`/test:veto off`). */
export default function compactionVeto(pi: ExtensionAPI): void {
  let isOn = true;
  pi.on("session_before_compact", () => (isOn ? { cancel: true } : undefined));
  pi.registerCommand("test:veto", {
    description: "Cancel compactions: on or off",
    handler: async (args) => {
      isOn = args.trim() !== "off";
    },
  });
}
