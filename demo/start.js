// Plain JavaScript, so that a checkout without its packages can say so with any Node.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);

if (existsSync(new URL("node_modules/@earendil-works/pi-coding-agent", root))) {
  await import("./main.ts");
} else {
  console.error(
    `This checkout has no packages yet: run \`npm ci\` in ${fileURLToPath(root)}, then \`npm start\` again.`,
  );
  process.exitCode = 2;
}
