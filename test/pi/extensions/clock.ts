import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** Another extension, for tests: `/test:later SECONDS` sets this process's clock forward. */
export default function clock(pi: ExtensionAPI): void {
  const now = Date.now;
  let ahead = 0;
  Date.now = () => now() + ahead;
  pi.registerCommand("test:later", {
    description: "Set the clock of this process forward by so many seconds",
    handler: async (seconds) => {
      ahead += Number(seconds) * 1000;
    },
  });
}
