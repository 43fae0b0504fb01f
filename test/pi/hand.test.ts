import { describe, expect, it } from "vitest";
import type { ChatRequest } from "../../demo/model/scripted-model.ts";
import type { PiProcess } from "../../demo/pi/pi-process.ts";
import { customEntries, type SessionLine } from "../../demo/pi/session-file.ts";
import { fieldsOf } from "../../src/reducers/entries/entry.ts";
import { OBSERVATIONS_RECORDED, type ObservationsRecorded } from "../../src/reducers/ledger/records.ts";
import { lanesAtRest, onlyObserver, prose, withPi } from "./support/harness.ts";
import { HAS_TMUX, openTerminal } from "./support/terminal.ts";

function observationsIn(entries: Parameters<typeof customEntries>[0]) {
  return customEntries<ObservationsRecorded>(entries, OBSERVATIONS_RECORDED).flatMap(
    ({ data }) => data.observations,
  );
}

const sentTo = (requests: { body: ChatRequest }[]) =>
  JSON.stringify(requests.map(({ body }) => body.messages));

function isUserMessage({ message }: SessionLine): boolean {
  return fieldsOf(message).role === "user";
}

/** What a command tells, as one text. */
async function tell(pi: PiProcess, command: string): Promise<string> {
  return (await pi.command(command)).join("\n");
}

describe("memory corrected by hand", () => {
  it("holds at once, in the next summary, after a reopening and in a fork", {
    timeout: 120_000,
  }, async () => {
    await withPi({ memory: onlyObserver(700) }, async (host) => {
      let { pi } = host;
      for (let turn = 1; turn <= 7; turn++) {
        await pi.prompt(`Turn ${turn}: ${prose(900, turn)}`);
        await lanesAtRest(pi);
      }
      const [wrong, kept, loose] = observationsIn(await pi.entries());
      if (!wrong || !kept || !loose) throw new Error("too little was observed");

      // What is said of an id that is none names what was meant.
      const unknown = await tell(pi, `/om:pin ${wrong.id.slice(0, 11)}g`);
      expect(unknown).toContain(`[${wrong.id}]`);
      expect(await tell(pi, "/om:forget")).toMatch(/\/om:forget ID/);
      expect(await tell(pi, "/om:undo")).toMatch(/Nothing that you did by hand/);

      expect(await tell(pi, `/om:pin ${kept.id}`)).toMatch(/^Pinned/);
      expect(await tell(pi, `/om:pin [${kept.id}]`)).toMatch(/^Pinned already/);
      expect(await tell(pi, "/om:note The release is frozen until Friday.")).toMatch(/^Noted/);
      expect(await tell(pi, `/om:forget ${loose.id} a slip`)).toMatch(/^Forgotten/);
      expect(await tell(pi, "/om:undo")).toContain(loose.id);
      await pi.compact();
      const before = await tell(pi, "/om:view");
      for (const { id } of [wrong, kept, loose]) expect(before).toContain(id);
      expect(before).toContain("The release is frozen until Friday.");

      // The summary that the agent has is freed of a line at once, though its entry never changes.
      expect(await tell(pi, `/om:forget ${wrong.id} it was never so`)).toMatch(/^Forgotten/);
      expect(await tell(pi, "/om:view")).not.toContain(wrong.id);
      await pi.prompt(`Go on: ${prose(900, 9)}`);
      await lanesAtRest(pi);
      const [asked] = host.model.by("agent").slice(-1);
      if (!asked) throw new Error("the agent was not asked");
      expect(sentTo([asked])).toContain(`[${kept.id}]`);
      expect(sentTo([asked])).not.toContain(`[${wrong.id}]`);

      await pi.stop();
      const asksBefore = host.model.by("observer").length;
      pi = await host.restart({ args: ["--continue"] });
      await pi.prompt(`And on: ${prose(900, 10)}`);
      await lanesAtRest(pi);
      expect(sentTo(host.model.by("agent").slice(-1))).not.toContain(`[${wrong.id}]`);
      const later = host.model.by("observer").slice(asksBefore);
      expect(later.length).toBeGreaterThan(0);
      expect(sentTo(later)).not.toContain(`[${wrong.id}]`);
      await pi.compact();
      const after = await tell(pi, "/om:view");
      expect(after).not.toContain(wrong.id);
      expect(after).toContain("The release is frozen until Friday.");
      expect(await tell(pi, "/om:status")).toMatch(/by hand +2 pinned, 1 forgotten/);
      const lastUser = (await pi.entries()).findLast(isUserMessage);
      await pi.fork(lastUser?.id ?? "");
      expect(await tell(pi, "/om:status")).toMatch(/by hand +2 pinned, 1 forgotten/);
      expect(await tell(pi, "/om:undo")).toContain(wrong.id);
      expect(await tell(pi, "/om:view full")).toContain(wrong.id);
    });
  });
});

describe.skipIf(!HAS_TMUX)("in a real terminal", () => {
  it("finds a line by its words and completes its id", { timeout: 60_000 }, async () => {
    await withPi({ memory: onlyObserver(300) }, async ({ pi, launch }) => {
      await pi.prompt(`The ferry in bay 4 must never leave before 4:30. ${prose(300, 3)}`);
      await lanesAtRest(pi);
      const [observation] = observationsIn(await pi.entries());
      if (!observation) throw new Error("nothing was observed");
      await pi.stop();
      const words = observation.content.split(" ").slice(0, 2).join(" ");
      const terminal = openTerminal({ ...launch, args: ["--continue"] });
      try {
        await terminal.shows(/om observe/);
        terminal.type(`/om:forget ${words}`);
        await terminal.shows(new RegExp(`→ ${observation.id}`));
        terminal.press("Tab");
        await terminal.shows(new RegExp(`/om:forget ${observation.id}`));
        terminal.press("Enter");
        await terminal.shows(/Memory: 1 line forgotten/);
        await terminal.shows(/\/om:undo takes that back/);
      } finally {
        terminal.close();
      }
    });
  });
});
