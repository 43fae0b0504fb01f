import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { FAULTS } from "../../demo/model/chat-reply.ts";
import { defaultObserver } from "../../demo/model/scripted-model.ts";
import { type HostOptions, lanesAtRest, type PiHost, prose, SMALL, withPi } from "../pi/support/harness.ts";

/**
 * Makes the recordings in this folder anew, from a real Pi with a scripted model:
 *
 *   node test/recordings/record.ts [name…]
 *
 * They are the decisions of the day on which they were made. Make them anew only when a lane is meant to decide
 * otherwise; a recording that no longer verifies is a finding.
 */
const SCENES: Readonly<Record<string, (name: string) => Promise<void>>> = {
  "main-job": (name) => record(name, {}, talk(9)),

  "failing-observer": (name) =>
    record(
      name,
      {
        script: { observer: (request, nth) => (nth <= 2 ? FAULTS.unauthorised() : defaultObserver(request)) },
      },
      async (host) => {
        await talk(4)(host);
        await host.pi.command("/om:run observer");
        await talk(4)(host);
      },
    ),

  "tree-navigation": (name) =>
    record(name, {}, async (host) => {
      await talk(5)(host);
      const entries = await host.pi.entries();
      const users = entries.filter(
        (entry) => (entry.message as { role?: string } | undefined)?.role === "user",
      );
      await host.pi.command(`/test:tree ${users[2]?.id}`);
      await talk(4)(host);
    }),

  reload: (name) =>
    record(name, { script: { reflector: () => ({ text: "Nothing durable yet." }) } }, async (host) => {
      await talk(5)(host);
      await host.pi.command("/test:reload");
      await talk(4)(host);
    }),

  "empty-range": (name) =>
    record(name, { script: { observer: () => ({ text: "Nothing worth recording." }) } }, async (host) => {
      await talk(5)(host);
      await host.pi.command("/test:reload");
      await talk(4)(host);
    }),
};

function talk(turns: number): (host: PiHost) => Promise<void> {
  return async ({ pi }) => {
    for (let turn = 1; turn <= turns; turn++) {
      await pi.prompt(`Turn ${turn}: ${prose(250, turn)}`);
      await lanesAtRest(pi);
    }
  };
}

async function record(
  name: string,
  options: HostOptions,
  act: (host: PiHost) => Promise<void>,
): Promise<void> {
  const script = {
    agent: (_request: unknown, nth: number) => ({ text: prose(700, nth) }),
    ...options.script,
  };
  await withPi({ ...options, script, memory: { ...SMALL, debugLog: true } }, async (host) => {
    await act(host);
    await host.pi.stop();
    const folder = join(host.pi.dirs.agent, "observational-memory", "debug");
    const [file] = readdirSync(folder);
    if (file === undefined) throw new Error(`nothing was recorded in ${folder}`);
    copyFileSync(join(folder, file), join(import.meta.dirname, `${name}.ndjson`));
    console.log(`${name}.ndjson`);
  });
}

const named = process.argv.slice(2);
for (const [name, scene] of Object.entries(SCENES)) {
  if (named.length === 0 || named.includes(name)) await scene(name);
}
