import * as files from "./demo-project.ts";
import { call, type DemoTurn, edit, fact, passing, run, TEST, write } from "./demo-turn.ts";

/** From the detector to a tool that is ready for its first version. */
export const RELEASE_TURNS: DemoTurn[] = [
  {
    title: "Find stuck sensors",
    asks: "A sensor can also get stuck. Six equal readings in a row, one hour, are a stuck sensor; report it as its own kind, not as a spike. At slack water five equal ones happen. Add tests for both rules and run everything.",
    steps: [
      call(
        "A second function beside the first.",
        edit("src/detect.mjs", "export function findFaults", `${files.STUCK_RULE}export function findFaults`),
        write("test/detect.test.mjs", files.DETECT_TEST),
      ),
      run(TEST),
    ],
    says: "findStuck is in place and all ten tests pass: a steep spring tide is no fault, five equal readings are slack water, six are a stuck sensor.",
    facts: [
      fact(
        "stuck-rule",
        "critical",
        "User decided that six equal readings in a row (one hour) are a stuck sensor, its own kind of fault; five equal ones happen at slack water.",
        "Six equal readings in a row, one hour",
      ),
      fact(
        "ten-tests",
        "medium",
        "findStuck is complete and all ten tests pass.",
        "findStuck is in place and all ten tests pass",
      ),
    ],
  },
  {
    title: "Write the report",
    asks: "Now src/report.mjs: a Markdown table, levels in metres with two decimals, times on the gauge's own clock, because the harbour master compares it with his paper log.",
    steps: [
      call("The report and nothing else.", write("src/report.mjs", files.REPORT)),
      run("node --check src/report.mjs && wc -l src/*.mjs test/*.mjs scripts/*.mjs"),
    ],
    says: "src/report.mjs turns faults into a Markdown table in metres; it converts the UTC times back to the gauge's clock only when it prints.",
    facts: [
      fact(
        "report",
        "high",
        "User wants the report as a Markdown table, in metres with two decimals, on the gauge's own clock: the harbour master compares it with his paper log.",
        "a Markdown table, levels in metres with two decimals",
      ),
      passing(
        "report-written",
        "low",
        "src/report.mjs was written and passes a syntax check.",
        "turns faults into a Markdown table in metres",
      ),
    ],
  },
  {
    title: "The command line",
    asks: "And src/cli.mjs: one file as its argument, the report on stdout. The exit code is 2 when there are faults and 0 when there are none, so that cron sends its mail only when there is something to read. Run it on the sample and show the exit code.",
    steps: [
      call("Small, since the parts exist.", write("src/cli.mjs", files.CLI)),
      run('node src/cli.mjs data/harbour.csv; echo "exit code $?"'),
    ],
    says: "The report shows four spikes and one sensor stuck for 100 minutes, and the exit code is 2. Without faults it prints nothing and exits with 0.",
    facts: [
      fact(
        "exit-code",
        "critical",
        "User decided on exit code 2 when there are faults and 0 when there are none, so that cron sends mail only when there is something to read.",
        "so that cron sends its mail only",
      ),
      fact(
        "cli-done",
        "medium",
        "src/cli.mjs works: on the sample it reports four spikes and one sensor stuck for 100 minutes and exits with 2.",
        "four spikes and one sensor stuck for 100 minutes",
      ),
    ],
  },
  {
    title: "Check what the battery did",
    asks: "Did the battery do anything odd on the last day? Print that day's lines and tell me; no code for it yet.",
    steps: [run("grep '^2026-03-08' data/harbour.csv")],
    says: "Nothing odd: the battery sinks evenly from 12.38 V to 12.30 V on 8 March. A battery alarm stays an open question, as you asked for no code yet.",
    facts: [
      fact(
        "battery-open",
        "medium",
        "A battery alarm is an open question; user asked for no code for it yet.",
        "A battery alarm stays an open question",
      ),
      passing(
        "last-day",
        "low",
        "The last day's lines were printed; the battery sank evenly from 12.38 V to 12.30 V.",
        "2026-03-08 00:10,",
      ),
    ],
  },
  {
    title: "Write the README",
    asks: "Write a short README with the rules as they stand, then show it to me.",
    steps: [call("Rules first, reasons short.", write("README.md", files.README)), run("cat README.md")],
    says: "The README states the median rule, the stuck rule, that a gap is never a zero, both clocks, and the exit codes.",
    facts: [
      fact(
        "readme",
        "medium",
        "README.md is written and states all rules as decided.",
        "The README states the median rule",
      ),
    ],
  },
  {
    title: "Read the parser and the detector once more",
    asks: "Before version 1, read src/parse.mjs and src/detect.mjs once more and tell me if anything contradicts what we decided. Then run all tests.",
    steps: [
      call(
        "Both files, as they are now.",
        { name: "read", arguments: { path: "src/parse.mjs" } },
        { name: "read", arguments: { path: "src/detect.mjs" } },
      ),
      run(TEST),
    ],
    says: "Nothing contradicts it, and all ten tests pass: empty levels are null, the clock offset is fixed, only whole windows are judged, and stuck stretches start at six readings.",
    facts: [
      fact(
        "reviewed",
        "high",
        "Parser and detector were reviewed against the decisions before version 1: nothing contradicts them, all ten tests pass.",
        "Nothing contradicts it, and all ten tests pass",
      ),
    ],
  },
];
