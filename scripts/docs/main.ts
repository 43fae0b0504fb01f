import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles, ROOT } from "./generated-files.ts";

// `npm run docs`: writes what is generated under docs/.
for (const { path, text } of generatedFiles()) {
  writeFileSync(join(ROOT, path), text);
  console.log(`wrote ${path}`);
}
