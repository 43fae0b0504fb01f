import * as files from "./demo-project.ts";
import { call, type DemoTurn, edit, fact, LIST, passing, run, TEST, write } from "./demo-turn.ts";

/** From the empty folder to a detector that finds exactly the real spikes. */
export const DETECTOR_TURNS: DemoTurn[] = [
  {
    title: "Start the project and make sample data",
    asks: "We are starting a small command-line tool called tidewatch. It reads the files of a tide gauge (one reading every 10 minutes, level in centimetres) and flags readings that cannot be right. It will run on the harbour office machine, which has no internet, so plain Node and no dependencies, ever. Begin with scripts/make-sample.mjs: a generator for one week of sample data in data/harbour.csv with some known faults, always the same. Run it.",
    steps: [
      call("First the generator.", write("scripts/make-sample.mjs", files.MAKE_SAMPLE)),
      run("node scripts/make-sample.mjs"),
    ],
    says: "The generator writes 1008 readings to data/harbour.csv: seven days of 144, with 4 spikes, 6 gaps and one sensor stuck for ten readings, always the same.",
    facts: [
      fact(
        "purpose",
        "high",
        "User is building tidewatch, a command-line tool that reads tide gauge files (a reading every 10 minutes, level in cm) and flags readings that cannot be right.",
        "small command-line tool called tidewatch",
      ),
      fact(
        "plain-node",
        "critical",
        "User requires plain Node and no dependencies, ever: tidewatch runs on the harbour office machine, which has no internet.",
        "no dependencies, ever",
      ),
      fact(
        "sample",
        "medium",
        "Sample data is done: scripts/make-sample.mjs writes 1008 readings to data/harbour.csv with 4 spikes, 6 gaps and one stuck stretch of ten readings.",
        "with 4 spikes, 6 gaps",
      ),
      passing(
        "generator-ran",
        "low",
        "The sample generator ran and reported 1008 readings.",
        "data/harbour.csv: 1008 readings",
      ),
    ],
  },
  {
    title: "Look at the first day",
    asks: "Show me the first day of the file. I want to see its shape before we write a parser.",
    steps: [run("head -145 data/harbour.csv")],
    says: "Three columns: time, level_cm, battery_v. The level starts at 400 cm at midnight on 2 March and swings by more than two metres each way; at 07:30, 07:40 and 07:50 the level is an empty field, and the battery sinks slowly from 12.90 V.",
    facts: [
      fact(
        "columns",
        "medium",
        "Gauge files have the columns time, level_cm, battery_v; a missing level is an empty field.",
        "Three columns: time, level_cm, battery_v",
      ),
      passing(
        "first-day",
        "low",
        "The first day of the sample was printed: levels swing by more than two metres, battery starts at 12.90 V.",
        "2026-03-02 00:10,",
      ),
    ],
  },
  {
    title: "Write the parser",
    asks: "Write src/parse.mjs with tests. Two things matter. The gauge's clock stays on winter time (UTC+1) all year; inside the program everything is UTC. And a missing level must stay null, never 0: last year a zero was reported as an extreme ebb and the pilot boat stayed in port for nothing.",
    steps: [
      call(
        "Parser and tests together.",
        write("src/parse.mjs", files.PARSE_WITH_BUG),
        write("test/parse.test.mjs", files.PARSE_TEST),
      ),
      run(TEST),
    ],
    says: 'Four tests pass and two fail: Number("") is 0, so a missing level came out as 0, exactly what you warned of. I will mend that next.',
    facts: [
      fact(
        "gauge-clock",
        "high",
        "User stated that the gauge's clock stays on winter time (UTC+1) all year; inside the program all times are UTC.",
        "stays on winter time (UTC+1) all year",
      ),
      fact(
        "missing-null",
        "critical",
        "User requires a missing level to stay null, never 0: last year a zero was reported as an extreme ebb and the pilot boat stayed in port for nothing.",
        "must stay null, never 0",
      ),
      passing(
        "parser-bug",
        "medium",
        'The first parser turned an empty level into 0 because Number("") is 0; two tests failed.',
        "a missing level came out as 0",
      ),
    ],
  },
  {
    title: "Mend the missing level",
    asks: "Mend it and run the tests again.",
    steps: [
      call(
        "An empty field becomes null before it is read as a number.",
        edit("src/parse.mjs", "level: Number(level)", 'level: level === "" ? null : Number(level)'),
      ),
      run(TEST),
    ],
    says: "All six parser tests pass now; an empty level is null, and a level of 0 stays 0.",
    facts: [
      fact(
        "parser-done",
        "critical",
        "The parser (src/parse.mjs) is complete: the empty-level bug is mended and all six tests pass.",
        "All six parser tests pass now",
      ),
      passing("parser-tests", "low", "The test run after the mend showed 6 passing tests.", "pass 6"),
    ],
  },
  {
    title: "A first spike rule: jumps over 25 cm",
    asks: "Now src/detect.mjs. Begin simply: a jump of more than 25 cm between neighbouring readings is a spike. Add scripts/list-faults.mjs that prints every flagged reading, and run it on the sample.",
    steps: [
      call(
        "The rule and the listing.",
        write("src/detect.mjs", files.DETECT_BY_JUMP),
        write("scripts/list-faults.mjs", files.LIST_FAULTS),
      ),
      run(LIST),
    ],
    says: "74 readings are flagged, but only four spikes are real. Towards the end of the week the spring tide itself moves by up to 30 cm in ten minutes, so a fixed jump cannot tell it from a fault.",
    facts: [
      passing(
        "jump-rule",
        "high",
        "User asked for a first spike rule: a jump of more than 25 cm between neighbouring readings.",
        "a jump of more than 25 cm between neighbouring",
      ),
      fact(
        "spring-tide",
        "high",
        "With the 25 cm jump rule 74 readings were flagged and only four were real: the spring tide itself moves up to 30 cm in ten minutes.",
        "a fixed jump cannot tell it from a fault",
      ),
    ],
  },
  {
    title: "Decide on the median rule",
    asks: "Then the fixed jump is out. Decision: compare each reading with the median of the five around it, and flag it when it is more than 18 cm off. The 18 comes from the harbour master: swell in the basin stays below that. Change it and list again.",
    steps: [
      call("Rewriting detect.mjs around the median.", write("src/detect.mjs", files.DETECT_BY_MEDIAN)),
      run(LIST),
    ],
    says: "9 readings are flagged now instead of 74. Four are the real spikes; four more are the first two and last two readings of the file, and one stands beside a gap. Those five are judged by a lopsided window.",
    facts: [
      fact(
        "median-rule",
        "critical",
        "User decided that the spike rule is: more than 18 cm off the median of the five readings around it; this replaces the 25 cm jump.",
        "compare each reading with the median of the five",
      ),
      fact(
        "why-18",
        "high",
        "The limit of 18 cm comes from the harbour master: swell in the basin stays below it.",
        "The 18 comes from the harbour master",
      ),
      passing(
        "nine-flagged",
        "medium",
        "The median rule flagged 9 readings: the 4 real spikes and 5 false ones at the file's ends and beside a gap.",
        "9 readings are flagged now instead of 74",
      ),
    ],
  },
  {
    title: "Leave the ends and the gaps alone",
    asks: "Do not judge a reading that has a gap or an end of the file among its five: better to miss one there than to cry wolf. List again.",
    steps: [
      call(
        "Only whole windows are judged.",
        edit("src/detect.mjs", files.JUDGE_WHOLE_WINDOWS.oldText, files.JUDGE_WHOLE_WINDOWS.newText),
        edit("src/detect.mjs", files.WINDOW_WITHOUT_SHIFT.oldText, files.WINDOW_WITHOUT_SHIFT.newText),
      ),
      run(LIST),
    ],
    says: "Exactly the four real spikes are flagged, out of 1008 readings.",
    facts: [
      fact(
        "no-wolf",
        "high",
        "User prefers a missed fault to a false alarm: a reading with a gap or an end of the file among its five is not judged.",
        "better to miss one there than to cry wolf",
      ),
      fact(
        "spikes-done",
        "critical",
        "Spike detection is complete: exactly the four real spikes of the sample are flagged.",
        "Exactly the four real spikes are flagged",
      ),
    ],
  },
];
