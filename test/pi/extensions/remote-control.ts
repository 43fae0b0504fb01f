import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/**
 * A Pi extension for tests: slash commands for what RPC does not offer but users do in the terminal. Load it
 * beside the extension under test.
 */
export default function remoteControl(pi: ExtensionAPI): void {
  pi.registerCommand("test:reload", {
    description: "Reload extensions and settings, as /reload does",
    handler: async (_args, ctx) => {
      await ctx.reload();
    },
  });
  pi.registerCommand("test:tree", {
    description: "Move to another entry of the session tree, as /tree does",
    handler: async (entryId, ctx) => {
      const { cancelled } = await ctx.navigateTree(entryId.trim());
      if (cancelled) throw new Error(`Moving to ${entryId} was cancelled`);
    },
  });
  pi.registerCommand("test:quit", {
    description: "Quit, as /quit does",
    handler: async (_args, ctx) => {
      ctx.shutdown();
    },
  });
}
