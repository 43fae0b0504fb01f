import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  loadSettings,
  NAMESPACE,
  PASSIVE_VARIABLE,
  settingsWarning,
} from "../../../src/host/settings/settings.ts";
import { allowedWords, SETTINGS_KEYS } from "../../../src/host/settings/settings-schema.ts";
import { DEFAULT_SETTINGS, SettingsSchema } from "../../../src/reducers/settings.ts";

let dir: string;
let globalFile: string;
let projectFile: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "pi-memory-lanes-settings-"));
  mkdirSync(join(dir, "agent"));
  mkdirSync(join(dir, "work", ".pi"), { recursive: true });
  globalFile = join(dir, "agent", "settings.json");
  projectFile = join(dir, "work", ".pi", "settings.json");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function load({ trusted = true, env = {} }: { trusted?: boolean; env?: Record<string, string> } = {}) {
  return loadSettings({
    agentDir: join(dir, "agent"),
    cwd: join(dir, "work"),
    configDirName: ".pi",
    projectTrusted: trusted,
    env,
  });
}

function write(file: string, memory: unknown): void {
  writeFileSync(file, JSON.stringify({ theme: "dark", [NAMESPACE]: memory }));
}

describe("layers", () => {
  it("are the defaults where there is no file", () => {
    const { settings, problems, sources } = load();
    expect(settings).toEqual(DEFAULT_SETTINGS);
    expect(problems).toEqual([]);
    expect(new Set(Object.values(sources))).toEqual(new Set(["default"]));
  });

  it("go key by key: project over global over default", () => {
    write(globalFile, { observeAfterTokens: 1, reflectAfterTokens: 2 });
    write(projectFile, { reflectAfterTokens: 3 });
    const { settings, problems, sources } = load();
    expect(settings).toEqual({ ...DEFAULT_SETTINGS, observeAfterTokens: 1, reflectAfterTokens: 3 });
    expect(problems).toEqual([]);
    expect(sources).toMatchObject({
      observeAfterTokens: globalFile,
      reflectAfterTokens: projectFile,
      compactAfterTokens: "default",
    });
  });

  it("take a model whole", () => {
    write(globalFile, { model: { provider: "one", id: "a" } });
    write(projectFile, { model: { provider: "two", id: "b" } });
    expect(load().settings.model).toEqual({ provider: "two", id: "b" });
  });

  it("leave an untrusted project's file alone, however broken", () => {
    write(globalFile, { passive: true });
    writeFileSync(projectFile, "{ broken");
    const { settings, problems } = load({ trusted: false });
    expect(settings.passive).toBe(true);
    expect(problems).toEqual([]);
  });

  it("read one file once when both layers are the same", () => {
    write(projectFile, { passive: "yes" });
    const { problems } = loadSettings({
      agentDir: join(dir, "work", ".pi"),
      cwd: join(dir, "work"),
      configDirName: ".pi",
      projectTrusted: true,
      env: {},
    });
    expect(problems).toHaveLength(1);
  });

  it("hand out a fresh object each time", () => {
    expect(load().settings).not.toBe(load().settings);
  });
});

describe("the environment", () => {
  it.each(["1", "true", "YES", " on "])("switches passive on with %j", (value) => {
    write(projectFile, { passive: false });
    const { settings, sources } = load({ env: { [PASSIVE_VARIABLE]: value } });
    expect(settings).toEqual({ ...DEFAULT_SETTINGS, passive: true });
    expect(sources.passive).toBe(PASSIVE_VARIABLE);
  });

  it.each(["0", "False", "no", "off"])("switches passive off with %j", (value) => {
    write(globalFile, { passive: true });
    expect(load({ env: { [PASSIVE_VARIABLE]: value } }).settings.passive).toBe(false);
  });

  it("is named when it says neither, and the files hold", () => {
    write(globalFile, { passive: true });
    const { settings, problems } = load({ env: { [PASSIVE_VARIABLE]: "maybe" } });
    expect(settings.passive).toBe(true);
    expect(problems).toEqual([
      {
        file: PASSIVE_VARIABLE,
        key: "passive",
        message: `is "maybe", but must be true or false; true from ${globalFile} is used (write 1 or 0)`,
      },
    ]);
  });

  it("says nothing when it is empty", () => {
    write(globalFile, { passive: true });
    expect(load({ env: { [PASSIVE_VARIABLE]: "" } })).toMatchObject({
      settings: { passive: true },
      problems: [],
    });
  });
});

describe("a bad value", () => {
  it("falls back to the default and is named", () => {
    write(globalFile, { observeAfterTokens: -5 });
    const { settings, problems, sources } = load();
    expect(settings).toEqual(DEFAULT_SETTINGS);
    expect(sources.observeAfterTokens).toBe("default");
    expect(problems).toEqual([
      {
        file: globalFile,
        key: "observeAfterTokens",
        message:
          "is -5, but must be a whole number above 0 and of at most 9007199254740991; the default, 10000, is used",
      },
    ]);
  });

  it("in the project falls back to the global one", () => {
    write(globalFile, { compactAfterTokens: 90_000 });
    write(projectFile, { compactAfterTokens: "95000" });
    const { settings, problems } = load();
    expect(settings.compactAfterTokens).toBe(90_000);
    expect(problems).toEqual([
      {
        file: projectFile,
        key: "compactAfterTokens",
        message: `is "95000", but must be a whole number above 0 and of at most 9007199254740991 without quotes; 90000 from ${globalFile} is used`,
      },
    ]);
  });

  it("in the global file does not touch a good one in the project", () => {
    write(globalFile, { compactAfterTokens: null });
    write(projectFile, { compactAfterTokens: 5000 });
    const { settings, problems } = load();
    expect(settings.compactAfterTokens).toBe(5000);
    expect(problems.map(({ file }) => file)).toEqual([globalFile]);
  });

  it.each([
    [
      "observerChunkMaxTokens",
      0,
      "is 0, but must be a whole number above 0 and of at most 9007199254740991; it stays unset",
    ],
    [
      "agentMaxTurns",
      1.5,
      "is 1.5, but must be a whole number above 0 and of at most 9007199254740991; the default, 16, is used",
    ],
    [
      "compactionGapMaxTokens",
      -1,
      "is -1, but must be a whole number of at least 0 and of at most 9007199254740991; the default, 20000, is used",
    ],
    [
      "compactAfterTokensRatio",
      68,
      "is 68, but must be a number above 0 and of at most 1; the default, 0.68, is used",
    ],
    [
      "foldPolicy",
      "never",
      'is "never", but must be one of "pressure", "pool", "always"; the default, "pressure", is used',
    ],
    [
      "printWaitMs",
      "10 s",
      'is "10 s", but must be a whole number of at least 0 and of at most 9007199254740991; the default, 10000, is used',
    ],
    ["subagents", true, 'is true, but must be one of "off", "fold", "on"; it stays unset'],
    ["summaryFiles", 1, "is 1, but must be true or false; the default, true, is used"],
    ["passive", "true", 'is "true", but must be true or false without quotes; the default, false, is used'],
    ["passive", "10", 'is "10", but must be true or false; the default, false, is used'],
    ["redactSecrets", "no", 'is "no", but must be true or false; the default, true, is used'],
    ["debugLog", ["x"], "is a list, but must be true or false; the default, false, is used"],
    [
      "model",
      "anthropic/claude-haiku-4-5",
      'is "anthropic/claude-haiku-4-5", but must be an object { "provider": "…", "id": "…" }, if you like with "thinking" (one of "off", "minimal", "low", "medium", "high", "xhigh"); it stays unset',
    ],
    [
      "model",
      { provider: "anthropic" },
      'is {"provider":"anthropic"}, but must be an object { "provider": "…", "id": "…" }, if you like with "thinking" (one of "off", "minimal", "low", "medium", "high", "xhigh"); it stays unset',
    ],
    [
      "workers",
      { observer: { provider: "p", id: "i" } },
      'is an object, but must be an object with any of "observer" (an object { "model": { "provider": "…", "id": "…" } }), "reflector" (an object { "model": { "provider": "…", "id": "…" } }), "dropper" (an object { "model": { "provider": "…", "id": "…" } }); it stays unset',
    ],
    [
      "fallbackModels",
      { provider: "p", id: "i" },
      'is {"provider":"p","id":"i"}, but must be a list [{ "provider": "…", "id": "…" }, …]; the default, a list, is used',
    ],
    [
      "fallbackModels",
      [{ provider: "p" }],
      'is a list, but must be a list [{ "provider": "…", "id": "…" }, …]; the default, a list, is used',
    ],
    ["sessionFallback", "yes", 'is "yes", but must be true or false; the default, false, is used'],
  ])("of %s is put into words: %j", (key, value, message) => {
    write(globalFile, { [key]: value });
    expect(load().problems).toEqual([{ file: globalFile, key, message }]);
  });

  it("too long to show is cut", () => {
    write(globalFile, { foldPolicy: "x".repeat(5000) });
    expect(load().problems[0]?.message.length).toBeLessThan(200);
  });

  it("nested deeper than the stack is no trouble", () => {
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    writeFileSync(globalFile, `{ "${NAMESPACE}": { "model": { "provider": ${deep} }, "other": ${deep} } }`);
    expect(load().problems).toHaveLength(2);
  });

  it("as a member that the model does not have is named, and the model used", () => {
    write(globalFile, { model: { provider: "p", id: "i", effort: "low" } });
    const { settings, problems } = load();
    expect(settings.model).toEqual({ provider: "p", id: "i" });
    expect(problems[0]?.message).toMatch(/^has a member "effort" that is ignored/);
  });

  it("as a member of a model in a list or of a worker is named, and the model used", () => {
    const model = { provider: "p", id: "i" };
    write(globalFile, {
      fallbackModels: [{ ...model, thinking: "lots" }],
      workers: { observer: { model: { ...model, effort: 1 } }, observr: { model } },
    });
    const { settings, problems } = load();
    expect(settings).toMatchObject({ fallbackModels: [model], workers: { observer: { model } } });
    expect(
      problems.map(({ key, message }) => `${key} ${message.slice(0, message.indexOf(" that is"))}`),
    ).toEqual([
      'fallbackModels has a member "thinking"',
      'workers has a member "observer.model.effort"',
      'workers has a member "observr"',
    ]);
  });

  it("as one limit of a budget is named, and the others hold", () => {
    write(globalFile, { budget: { sessionUsd: "lots", dayUsd: 5, sessionTokens: 1.5, weekUsd: 1 } });
    const { settings, problems } = load();
    expect(settings.budget).toEqual({ dayUsd: 5 });
    expect(problems.map(({ message }) => /"\w+"/.exec(message)?.[0])).toEqual([
      '"sessionUsd"',
      '"sessionTokens"',
      '"weekUsd"',
    ]);
    expect(problems[0]?.message).toMatch(
      /budget is an object with any of "sessionUsd" \(a number above 0\), /,
    );
  });

  it("as a level of thinking that there is not is named, and the model used", () => {
    write(globalFile, { model: { provider: "p", id: "i", thinking: "low" } });
    expect(load()).toMatchObject({ settings: { model: { thinking: "low" } }, problems: [] });
    for (const thinking of ["lots", 3, null]) {
      write(globalFile, { model: { provider: "p", id: "i", thinking } });
      const { settings, problems } = load();
      expect(settings.model).toEqual({ provider: "p", id: "i" });
      expect(problems[0]?.message).toMatch(/^has a member "thinking" that is ignored; .*one of "off", /);
    }
  });
});

describe("an unknown key", () => {
  it.each([
    ["observeAfterToken", "observeAfterTokens"],
    ["obseveAfterTokens", "observeAfterTokens"],
    ["OBSERVEAFTERTOKENS", "observeAfterTokens"],
    ["compactAfter_Tokens", "compactAfterTokens"],
    ["pasive", "passive"],
    ["debug", "debugLog"],
    ["showWorker", "showWorkerNotifications"],
  ])("%s is taken for a slip of %s", (key, meant) => {
    write(globalFile, { [key]: 1 });
    expect(load().problems).toEqual([
      { file: globalFile, key, message: `is not a setting and is ignored; did you mean ${meant}?` },
    ]);
  });

  it.each(["temperature", "constructor", "__proto__", "toString", "x".repeat(10_000)])(
    "%.20s is only ignored",
    (key) => {
      writeFileSync(globalFile, `{ "${NAMESPACE}": { ${JSON.stringify(key)}: true } }`);
      const { settings, problems } = load();
      expect(settings).toEqual(DEFAULT_SETTINGS);
      expect(problems.map(({ message }) => message)).toEqual(["is not a setting and is ignored"]);
    },
  );

  it.each([
    ["observationThreshold", "observeAfterTokens"],
    ["compactionThresholdTokens", "compactAfterTokens"],
    ["compactionModel", "model"],
  ])("%s of version 2 is ignored, and its successor named", (key, successor) => {
    write(globalFile, { [key]: 1 });
    const message = `is a setting of an older version and is ignored; use ${successor} instead`;
    expect(load()).toMatchObject({
      settings: DEFAULT_SETTINGS,
      problems: [{ file: globalFile, key, message }],
    });
  });
});

describe("a file", () => {
  it.each([
    ['{\n  "a": 1,\n}', "line 3, column 1 (no comma may stand before it)"],
    ['{ "a": }', "line 1, column 8"],
    ['{\n  // why\n  "a": 1\n}', "line 2, column 3 (comments are not allowed)"],
    ["{ 'a': 1 }", "line 1, column 3 (text takes double quotes)"],
    ['{\n  "a": 1', "line 2, column 9"],
    ['{ "a": tru }', "line 1, column 11"],
    ['{ "a": 1 } }', "line 1, column 12"],
    ['{ "a": "b\nc" }', "line 1, column 10"],
    ["   ", "line 1, column 4"],
  ])("that is not JSON is named with the place: %j", (text, place) => {
    writeFileSync(globalFile, text);
    const { settings, problems } = load();
    expect(settings).toEqual(DEFAULT_SETTINGS);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ file: globalFile, key: NAMESPACE });
    expect(problems[0]?.message).toMatch(/^cannot be read: the file is not valid JSON: /);
    expect(problems[0]?.message).toContain(` at ${place};`);
  });

  it("that is broken does not take the other one with it", () => {
    writeFileSync(globalFile, "{");
    write(projectFile, { passive: true });
    expect(load()).toMatchObject({ settings: { passive: true }, problems: [{ file: globalFile }] });
  });

  it.each(["[]", "null", "7", '"text"'])("that holds %s is named", (text) => {
    writeFileSync(globalFile, text);
    expect(load().problems[0]?.message).toContain("must hold an object");
  });

  it.each([[null], [[]], ["on"], [true]])("whose namespace is %j is named", (namespace) => {
    write(globalFile, namespace);
    expect(load()).toMatchObject({
      settings: DEFAULT_SETTINGS,
      problems: [{ file: globalFile, key: NAMESPACE, message: expect.stringContaining("must be an object") }],
    });
  });

  it.each([
    ["is empty", ""],
    ["is a byte order mark", "\uFEFF"],
    ["has other settings only", '{ "theme": "dark" }'],
    ["starts with a byte order mark", `\uFEFF{ "${NAMESPACE}": {} }`],
    ["points an editor at the schema", `{ "${NAMESPACE}": { "$schema": "x" } }`],
  ])("that %s is fine", (_what, text) => {
    writeFileSync(globalFile, text);
    expect(load()).toMatchObject({ settings: DEFAULT_SETTINGS, problems: [] });
  });

  it("that is a folder is named", () => {
    mkdirSync(globalFile);
    expect(load().problems).toMatchObject([{ file: globalFile, key: NAMESPACE }]);
    expect(load().problems[0]?.message).toContain("EISDIR");
  });

  // Root reads everything, so nothing is unreadable for it.
  it.skipIf(process.getuid?.() === 0)("that may not be read is named", () => {
    write(globalFile, {});
    chmodSync(globalFile, 0);
    expect(load().problems[0]?.message).toContain("EACCES");
  });

  it("is missing as well when its folder is a file", () => {
    rmSync(join(dir, "work", ".pi"), { recursive: true });
    writeFileSync(join(dir, "work", ".pi"), "");
    expect(load().problems).toEqual([]);
  });
});

describe("values that contradict each other", () => {
  it("are kept and named: a target that is not below the maximum", () => {
    write(globalFile, { observationsPoolMaxTokens: 5000 });
    write(projectFile, { observationsPoolTargetTokens: 5000 });
    const { settings, problems } = load();
    expect(settings).toMatchObject({ observationsPoolMaxTokens: 5000, observationsPoolTargetTokens: 5000 });
    expect(problems).toMatchObject([{ file: projectFile, key: "observationsPoolTargetTokens" }]);
  });

  it("are kept and named: a reflector that would be due before the observer", () => {
    write(globalFile, { observeAfterTokens: 30_000 });
    const { settings, problems } = load();
    expect(settings).toMatchObject({ observeAfterTokens: 30_000, reflectAfterTokens: 20_000 });
    expect(problems).toMatchObject([{ file: globalFile, key: "observeAfterTokens" }]);
  });

  it("are none at the limits", () => {
    write(globalFile, {
      observeAfterTokens: 20_000,
      observationsPoolMaxTokens: 1,
      observationsPoolTargetTokens: undefined,
    });
    expect(load().problems).toEqual([]);
  });
});

describe("the warning", () => {
  it("is absent without problems", () => {
    expect(settingsWarning([])).toBeUndefined();
  });

  it("reads as a sentence and counts the rest", () => {
    write(globalFile, { pasive: true, observeAfterTokens: 0 });
    expect(settingsWarning(load().problems)).toBe(
      `Memory settings: pasive in ${globalFile} is not a setting and is ignored; did you mean passive? (and 1 more; see /om:status)`,
    );
  });
});

it("has words for every key", () => {
  for (const key of SETTINGS_KEYS) expect(allowedWords(key)).toMatch(/\w/);
});

describe("any content", () => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.integer(),
    fc.double(),
    fc.constantFrom("ratio", "always", true, { provider: "p", id: "i" }),
  );
  const key = fc.oneof(fc.constantFrom(...SETTINGS_KEYS), fc.string());
  const namespace = fc.oneof(fc.dictionary(key, value), fc.jsonValue());
  const content = fc.oneof(
    namespace.map((memory) => JSON.stringify({ [NAMESPACE]: memory })),
    // A good file with a piece cut out or put in
    fc.tuple(namespace, fc.nat(), fc.nat(5), fc.string()).map(([memory, at, cut, put]) => {
      const text = JSON.stringify({ [NAMESPACE]: memory }, null, 2);
      const from = at % text.length;
      return text.slice(0, from) + put + text.slice(from + cut);
    }),
    fc.string(),
  );

  it("never throws, always gives valid settings, and has each value where the source says", () => {
    fc.assert(
      fc.property(content, content, fc.string(), fc.boolean(), (inGlobal, inProject, passive, trusted) => {
        writeFileSync(globalFile, inGlobal);
        writeFileSync(projectFile, inProject);
        const { settings, problems, sources } = load({ trusted, env: { [PASSIVE_VARIABLE]: passive } });
        expect(SettingsSchema.parse(settings)).toEqual(settings);
        const places = [globalFile, projectFile, PASSIVE_VARIABLE];
        for (const problem of problems) {
          expect(places).toContain(problem.file);
          expect(problem.message).toMatch(/\w/);
        }
        for (const known of SETTINGS_KEYS) {
          if (sources[known] === "default") expect(settings[known]).toEqual(DEFAULT_SETTINGS[known]);
          else expect(places).toContain(sources[known]);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("that is not JSON is named with a place inside it", () => {
    fc.assert(
      fc.property(content, (text) => {
        writeFileSync(globalFile, text);
        const message = load().problems.find(({ key: named }) => named === NAMESPACE)?.message;
        const place = /not valid JSON: .* at line (\d+), column (\d+)/s.exec(message ?? "");
        if (!place) return;
        const line = text.replace(/^\uFEFF/, "").split("\n")[Number(place[1]) - 1];
        expect(line).toBeDefined();
        expect(Number(place[2])).toBeLessThanOrEqual((line?.length ?? 0) + 1);
      }),
      { numRuns: 500 },
    );
  });
});
