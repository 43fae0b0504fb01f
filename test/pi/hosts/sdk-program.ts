import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createAgentSession, ModelRuntime, SessionManager } from "@earendil-works/pi-coding-agent";

/**
 * A program that uses Pi as a library, as another agent or a service does: it prompts, disposes of the session when it is
 * told to, and has nothing left to do. Pi's agent dir comes from the environment; the rest from the first argument.
 */
interface Task {
  /** Working folder */
  cwd: string;
  /** Where the session is kept. Unset: in memory. */
  sessions?: string;
  prompts: string[];
  /** The file that tells it to dispose of the session */
  go: string;
}

const { cwd, sessions, prompts, go }: Task = JSON.parse(process.argv[2] ?? "{}");
const modelRuntime = await ModelRuntime.create();
const model = modelRuntime.getModel("scripted", "scripted");
if (!model) throw new Error("The agent dir knows no scripted model");
const { session } = await createAgentSession({
  cwd,
  model,
  modelRuntime,
  sessionManager:
    sessions === undefined ? SessionManager.inMemory(cwd) : SessionManager.create(cwd, sessions),
});
for (const prompt of prompts) await session.prompt(prompt);
console.log("settled");
while (!existsSync(go)) await sleep(10);
session.dispose();
console.log("disposed");
