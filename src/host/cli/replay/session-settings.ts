import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { SessionFile } from "../../../reducers/entries/session-file.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../reducers/settings.ts";
import { ownSettings, surroundings } from "../input/surroundings.ts";
import { setWords } from "../options.ts";

/** The settings that would be in force if the session were opened here and now: its file does not tell which were. */
export function settingsFor({ header: { cwd } }: SessionFile): Settings {
  // A session that came from another machine names a folder of that one.
  return ownSettings(surroundings(), existsSync(cwd) ? cwd : process.cwd()).settings;
}

/** Which settings the events of a session are replayed under: the defaults or the user's own, and what `--set` says. */
export function settingsWords(settings: Settings, patch: Partial<Settings>): string {
  const own = Object.entries(settings).filter(
    ([key, value]) => !isDeepStrictEqual(value, DEFAULT_SETTINGS[key as keyof Settings]),
  );
  const whose = own.length === 0 ? "the defaults" : `yours of today (${setWords(Object.fromEntries(own))})`;
  const but = Object.keys(patch).length === 0 ? "" : `, but ${setWords(patch)}`;
  return `Its events are derived from the entries; settings are ${whose}${but}.`;
}
