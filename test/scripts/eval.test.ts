import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ChatRequest,
  chunkBlocks,
  defaultObserver,
  defaultReflector,
  FAULTS,
  freshToolResults,
  type Handler,
  lastUserText,
  type Role,
  type ScriptedModel,
  startScriptedModel,
  systemText,
  toolNames,
} from "../../demo/model/scripted-model.ts";
import { preparePi, SCRIPTED_MODEL } from "../../demo/pi/pi-launch.ts";
import { KEPT_HEADING } from "../../scripts/eval/ask.ts";
import type { Evaluation } from "../../scripts/eval/evaluation.ts";
import { type Cut, scriptOf } from "../../scripts/eval/play.ts";
import { readQuestions } from "../../scripts/eval/questions.ts";
import { PASSIVE_VARIABLE } from "../../src/host/settings/settings.ts";
import { parseSession, projectVisible } from "../../src/index.ts";
import { prose } from "../pi/support/harness.ts";
import { ROOT } from "../support/programs/run-cli.ts";
import { assistant, text, user } from "../support/sessions/builders.ts";
import { plainSession, SESSION_HEADER } from "../support/sessions/plain-session.ts";

/** Each turn tells of one bay: at once when it opens, and only at the end of a long message who works there. */
const TURNS = 12;
const opens = (bay: number) => `bay ${bay} opens at ${bay + 5}:30`;
const keeper = (bay: number) => `the keeper of bay ${bay} is number ${bay * 111}`;

function session(): string {
  const entries = Array.from({ length: TURNS }, (_, bay) => [
    user(`u${bay}`, [text(`Remember that ${opens(bay)}. ${prose(150, bay + 1)} And ${keeper(bay)}.`)]),
    assistant(`a${bay}`, [text(`Noted. ${prose(150, bay + 100)}`)]),
  ]).flat();
  const chained = entries.map((entry, at) => ({ ...entry, parentId: entries[at - 1]?.id ?? null }));
  return [SESSION_HEADER, ...chained].map((line) => `${JSON.stringify(line)}\n`).join("");
}

const QUESTIONS = [
  { id: "opens", question: "When does bay 2 open?", expected: opens(2), weight: 3, critical: true },
  { id: "keeper", question: "Who keeps bay 2?", expected: keeper(2) },
  { id: "refused", question: "Refuse: when does bay 3 open?", expected: opens(3) },
  { id: "unmarked", question: "When does bay 4 open?", expected: `${opens(4)}, unmarked` },
  { id: "later", question: "When does bay 5 open?", expected: opens(5) },
  { id: "kept", question: "When does bay 11 open?", expected: opens(11) },
];

/** Answers with what it has that speaks of the bay in question; recalls the line first if it can. */
function answer(request: ChatRequest) {
  const question = lastUserText(request);
  const bay = /bay (\d+)/.exec(question)?.[1];
  const hasTool = toolNames(request).includes("recall");
  if (question.startsWith("Refuse") && !hasTool) return FAULTS.unauthorised();
  const [summary = "", kept = ""] = systemText(request).split(KEPT_HEADING);
  const line =
    summary.split("\n").find((one) => one.startsWith("[") && one.includes(`bay ${bay} opens`)) ??
    kept.split("\n").find((one) => one.includes(`bay ${bay} opens`));
  if (line === undefined) return { text: "not known" };
  const id = line.slice(1, 13);
  const results = freshToolResults(request);
  if (hasTool && results.length === 0) return { toolCalls: [{ name: "recall", arguments: { id } }] };
  return { text: [line, ...results].join("\n") };
}

function mark(request: ChatRequest) {
  const [, expected = "", given = ""] =
    /# A right answer says\n\n(.*)\n\n# Answer\n\n([\s\S]*)/.exec(lastUserText(request)) ?? [];
  if (expected.includes("unmarked")) return { text: "Well, that is hard to say." };
  const isRight = given.includes(expected);
  return {
    text: `\`\`\`json\n{"mark": ${isRight ? 1 : 0}, "why": "it ${isRight ? "says so" : "does not"}"}\n\`\`\``,
  };
}

function isAbout(bay: number, request: ChatRequest): boolean {
  return chunkBlocks(request).some((block) => block.text.includes(opens(bay)));
}

let dir = "";
let model: ScriptedModel;
let env: NodeJS.ProcessEnv = {};
/** What the server says that it counted, by who asked */
const counted = new Map<Role | "grader" | "kept", { requests: number; input: number; output: number }>();

/** The same answers with a count of tokens of their own, which is remembered. */
function counting(handler: Handler): Handler {
  return async (request, nth) => {
    const asker = systemText(request).startsWith("You grade") ? "grader" : roleIn(request);
    const reply = await handler(request, nth);
    const sum = counted.get(asker) ?? { requests: 0, input: 0, output: 0 };
    const isAnswer = reply.kind === undefined || reply.kind === "answer";
    const usage = { prompt: 1000 + nth, completion: 10 + nth };
    counted.set(asker, {
      requests: sum.requests + 1,
      input: sum.input + (isAnswer ? usage.prompt : 0),
      output: sum.output + (isAnswer ? usage.completion : 0),
    });
    return isAnswer ? { ...reply, usage } : reply;
  };
}

function roleIn(request: ChatRequest): Role | "kept" {
  const [tool] = toolNames(request);
  if (tool === undefined) return systemText(request).includes(KEPT_HEADING) ? "kept" : "summariser";
  return tool === "recall" ? "agent" : "observer";
}

interface Ended {
  out: string;
  err: string;
  code: number | null;
}

/** `npm run eval` as a user starts it, with the scratch agent dir's model. */
function evaluation(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [join(ROOT, "scripts/eval/main.ts"), ...args], { cwd: dir, env });
  const ended: Ended = { out: "", err: "", code: null };
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    ended.out += piece;
  });
  child.stderr.setEncoding("utf8").on("data", (piece: string) => {
    ended.err += piece;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    // How far it is tells only how slow this machine is.
    const complaints = () => ended.err.replace(/^(played|asked) .*\n/gm, "");
    child.once("close", (code) => resolve({ ...ended, err: complaints(), code }));
  });
}

function write(name: string, value: unknown): string {
  const path = join(dir, name);
  writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
  return path;
}

const PLAYED = [
  ...["--model", SCRIPTED_MODEL, "--keep-recent", "600"],
  ...["--set", "observeAfterTokens=250", "--set", "reflectAfterTokens=1500"],
];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-eval-test-"));
  model = await startScriptedModel({
    observer: counting(defaultObserver),
    reflector: counting(defaultReflector),
    agent: counting(answer),
    summariser: counting((request) =>
      systemText(request).startsWith("You grade") ? mark(request) : answer(request),
    ),
  });
  const cost = { input: 1, output: 10 };
  env = { ...preparePi({ dir, modelUrl: model.url, cost, settings: {} }, []).env, [PASSIVE_VARIABLE]: "1" };
  write("session.jsonl", session());
  write("questions.json", QUESTIONS);
});

afterAll(async () => {
  await model.close();
  rmSync(dir, { recursive: true, force: true });
});

describe("npm run eval", () => {
  it("plays a session, asks of its summary alone, with what was kept and with recall, and counts what the provider counts", async () => {
    const args = ["session.jsonl", "questions.json", ...PLAYED];
    const { out, err, code } = await evaluation(
      ...args,
      ...["--fold-at", "1500", "--fold-at", "end", "--save", "played.jsonl", "--json"],
    );
    expect(err).toBe("");
    // Two questions stay without a mark in one way or the other.
    expect(code).toBe(1);
    const told = JSON.parse(out) as Evaluation;
    expect(told.folds).toMatchObject([
      { folded: true, fullFold: true, unobserved: 0 },
      { folded: true, unobserved: 0 },
    ]);
    const last = told.folds.at(-1);
    expect(last?.characters).toBe(told.summary.length);
    expect(told.summary.match(/^\[[0-9a-f]{12}\]/gm)?.length).toBe(
      (last?.observations ?? 0) + (last?.reflections ?? 0),
    );

    const byId = new Map(told.questions.map(({ id, answers }) => [id, answers]));
    expect([...byId.keys()]).toEqual(QUESTIONS.map(({ id }) => id));
    expect(byId.get("opens")).toMatchObject({
      summary: { mark: 1, why: "it says so" },
      recall: { mark: 1, calls: 1 },
    });
    expect(byId.get("keeper")).toMatchObject({
      summary: { mark: 0, why: "it does not" },
      recall: { mark: 1, calls: 1 },
    });
    expect(byId.get("refused")).toMatchObject({
      summary: { error: expect.stringMatching(/^not answered: .*Incorrect API key/) },
      recall: { mark: 1 },
    });
    expect(byId.get("unmarked")?.summary).toMatchObject({
      ...{ text: expect.stringContaining(opens(4)), error: "not graded: the grader's reply holds no mark" },
    });
    // Its message was kept, so that it is no fault of the summary that it does not tell.
    expect(byId.get("kept")).toMatchObject({ summary: { mark: 0 }, kept: { mark: 1 } });
    expect(told.scores).toMatchObject({
      summary: { points: 4, of: 6, critical: 1, ofCritical: 1, failed: 2, calls: 0, characters: 0 },
      kept: { points: 5, of: 6, critical: 1, ofCritical: 1, failed: 2, calls: 0 },
      recall: { points: 6, of: 7, critical: 1, ofCritical: 1, failed: 1, calls: 5 },
    });

    const server = (role: Role | "grader" | "kept") =>
      counted.get(role) ?? { requests: 0, input: 0, output: 0 };
    const cost = ({ input, output }: { input: number; output: number }) => (input + 10 * output) / 1e6;
    for (const [purpose, role] of [
      ["memory", "observer"],
      ["answers", "summariser"],
      ["kept", "kept"],
      ["recall", "agent"],
      ["grading", "grader"],
    ] as const) {
      const { cost: usd, ...spend } = told.spent[purpose];
      expect(spend).toEqual({ ...server(role), cacheRead: 0 });
      expect(usd).toBeCloseTo(cost(server(role)), 9);
    }
    expect(model.requests).toHaveLength(
      Object.values(told.spent).reduce((sum, { requests }) => sum + requests, 0),
    );

    // What was played is a session that the library reads, and whose visible memory is the summary's.
    const visible = projectVisible(parseSession(readFileSync(join(dir, "played.jsonl"), "utf8")));
    expect(visible.observations).toHaveLength(last?.observations ?? -1);
    expect(parseSession(readFileSync(join(dir, "session.jsonl"), "utf8"))).toHaveLength(2 * TURNS);
  });

  it("says it for people, of as many questions as it is told to ask", async () => {
    const { out, code } = await evaluation(
      ...["session.jsonl", "questions.json", ...PLAYED, "--questions", "2"],
    );
    expect(code).toBe(0);
    expect(out).toMatch(
      /Compaction after [\d,]+ tokens: summary of [\d,]+ characters, about [\d,]+ tokens; \d+ observ/,
    );
    expect(out).toMatch(/summary alone +│ 3 of 4 +│ 1 of 1 +│ 0 /);
    expect(out).toMatch(/summary and kept messages │ 3 of 4 +│ 1 of 1 +│ 0 /);
    expect(out).toMatch(/summary and recall +│ 4 of 4 +│ 1 of 1 +│ 0 +│ 2 /);
    expect(out).toMatch(/grading +│ 6 +│/);
    expect(out).toContain("Not right, summary alone:\n  keeper: 0, it does not");
  });

  it("tells what the workers' provider said, and asks nothing where there is no memory to ask of", async () => {
    model.use({ observer: () => FAULTS.unauthorised() });
    const { err, code } = await evaluation("session.jsonl", "questions.json", ...PLAYED);
    model.use({ observer: counting(defaultObserver) });
    expect(code).toBe(2);
    expect(err).toMatch(/no memory to fold; .* The extension warned: .*Incorrect API key/);
  });

  it("goes on when a worker fails on the way, and says what is missing", async () => {
    model.use({
      observer: (request) => (isAbout(5, request) ? FAULTS.unauthorised() : defaultObserver(request)),
    });
    const { out, code } = await evaluation("session.jsonl", "questions.json", ...PLAYED, "--json");
    model.use({ observer: counting(defaultObserver) });
    expect(code).toBe(1);
    const { folds, warnings, questions } = JSON.parse(out) as Evaluation;
    expect(warnings).toEqual([expect.stringContaining("Incorrect API key")]);
    expect(folds[0]?.unobserved).toBeGreaterThan(1000);
    expect(questions.find(({ id }) => id === "opens")?.answers.summary.mark).toBe(1);
    expect(questions.find(({ id }) => id === "later")?.answers.summary).toMatchObject({
      text: "not known",
      mark: 0,
    });
  });

  it.each([
    ["a question file that cannot be used", ["{}", []], /^eval: \S*bad\.json: it must be a list: \[\{ "id"/],
    [
      "a model that Pi does not know",
      [QUESTIONS, ["--model", "scripted/other"]],
      /does not know the model scripted\/other/,
    ],
    [
      "nothing to fold",
      [QUESTIONS, []],
      /the last compaction had nothing to cut or no memory to fold; compact later/,
    ],
  ] as const)("says in one line that it was given %s", async (_name, [questions, args], words) => {
    const file = write("bad.json", questions);
    const { err, code, out } = await evaluation("session.jsonl", file, "--model", SCRIPTED_MODEL, ...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(words);
    expect(err.trim().split("\n")).toHaveLength(1);
  });
});

describe("a question file", () => {
  it.each([
    ["no JSON", "[{", /bad\.json: it is no JSON: /],
    ["nothing", [], /bad\.json: it must hold at least one question/],
    ["no question", [3], /question 1 must be an object with id, question, expected, weight, critical/],
    [
      "a question that lacks something",
      [QUESTIONS[0], { id: "b", question: "  ", weight: -1 }],
      /question 2: question must be a text that is not empty: what is asked; question 2: expected must be .*; question 2: weight must be a number above 0/,
    ],
    [
      "an unknown key",
      [{ ...QUESTIONS[0], wieght: 2 }],
      /question 1 has the unknown key wieght; a question has id,/,
    ],
    ["an id twice", [QUESTIONS[0], QUESTIONS[0]], /two questions have the id "opens"; give each its own/],
  ])("that holds %s is refused with the place and what to write there", (_name, questions, words) => {
    expect(() => readQuestions(write("bad.json", questions))).toThrow(words);
  });

  it("that is missing is named", () => {
    expect(() => readQuestions(join(dir, "missing.json"))).toThrow(
      /missing\.json: it cannot be read: ENOENT/,
    );
  });

  it("counts a question once, and as not critical, unless it says otherwise", () => {
    const { id, question, expected } = QUESTIONS[1] ?? {};
    expect(readQuestions(write("good.json", [{ id, question, expected }]))).toEqual([
      { id, question, expected, weight: 1, critical: false },
    ]);
  });
});

describe("what is played of a session", () => {
  const played = plainSession()
    .user(100)
    .assistant(100)
    .observed("e2")
    .user(100)
    .assistant(100, { calls: ["c"] });
  const { entries } = played
    .result("c", 100)
    .assistant(100)
    .compacted("e4")
    .user(100)
    .assistant(100)
    .other("label");
  const script = (...cuts: Cut[]) => scriptOf(entries, cuts);
  /** The last entry before each cut */
  const cutAfter = (...cuts: Cut[]) => {
    const { moments, cuts: places } = script(...cuts);
    return places.map((place) => {
      const before = moments.slice(0, place + 1).filter((moment) => moment.type === "entry");
      return before.at(-1)?.entry.id;
    });
  };

  it("is its conversation, without memory and compactions, turn by turn", () => {
    const { moments, sourceTokens } = script();
    expect(moments.map((moment) => (moment.type === "entry" ? moment.entry.id : moment.type))).toEqual([
      ...["e1", "agentStarted", "e2", "turnEnded"],
      ...["e4", "agentStarted", "e5", "e6", "turnEnded", "e7", "turnEnded"],
      ...["e9", "agentStarted", "e10", "turnEnded", "e11"],
    ]);
    expect(sourceTokens).toBe(moments.reduce((sum, one) => sum + (one.type === "entry" ? one.tokens : 0), 0));
  });

  it("is compacted where the session was and at its end, or at the end of the turns that are named", () => {
    expect(cutAfter()).toEqual(["e7", "e11"]);
    expect(cutAfter("e5", 1)).toEqual(["e2", "e6"]);
    expect(cutAfter("end", "e2", "e1")).toEqual(["e2", "e11"]);
  });

  it("cannot be compacted where it is not", () => {
    expect(() => script(10_000)).toThrow(/cannot be compacted after 10000 source tokens: it has \d+$/);
    expect(() => script("e3")).toThrow(/after the entry e3: its branch has no conversation entry of this id/);
  });
});
