/** What a terminal of 80 columns shows: help, results, verdicts. */
import { expect, test } from "vitest";
import { resultText, verdictText } from "../../../jepsen-lite/run/result-text.js";
import type { Results } from "../../../jepsen-lite/run/results.js";
import { parseRunOptions } from "../../../jepsen-lite/run/run-options.js";
import { withShortNumbers } from "../../../jepsen-lite/text/short-numbers.js";
import { named, wrapped } from "../../../jepsen-lite/text/wrapped-text.js";
import type { CheckPart, CheckResult } from "../../../jepsen-lite/verdict/check-result.js";
import { WORKLOADS } from "../../../jepsen-lite/workloads/catalogue.js";

const tooLong = (text: string) => text.split("\n").filter((line) => line.length > 80);

test("a text is broken between words, keeps its columns, and never loses one", () => {
  const words = Array.from({ length: 40 }, (_, index) => `word${index}`);
  const text = wrapped(`  name    ${words.join(" ")}`, 10);
  expect(tooLong(text)).toEqual([]);
  expect(text.split(/\s+/).slice(2)).toEqual(words);
  expect(text.split("\n")[0]).toMatch(/^ {2}name {4}word0 /);
  expect(text.split("\n")[1]).toMatch(/^ {10}word/);
  const path = `/${"x".repeat(200)}`;
  expect(wrapped(`  report ${path}`, 4)).toBe(`  report\n    ${path}`);
  expect(wrapped(path, 4)).toBe(path);
  expect(named("a", "b c", 4)).toBe("a   b c");
  expect(named("longer", "b", 4)).toBe("longer b");
});

test("long numbers are shown by as many digits as tell them apart", () => {
  expect(withShortNumbers(["token 3764820767674096 and 3764820767674095, value 12345678"])).toEqual(
    ["token …4096 and …4095, value 12345678"],
  );
  // Equal ends: more digits, for all of them.
  expect(withShortNumbers(["1111111118888", "1111111128888"])).toEqual(["…18888", "…28888"]);
  expect(withShortNumbers(["3764820767674096 twice, 3764820767674096"])).toEqual([
    "…4096 twice, …4096",
  ]);
});

test("help names every workload and fits into 80 columns", () => {
  const help = String(parseRunOptions(["--help"]));
  expect(tooLong(help)).toEqual([]);
  for (const { name } of WORKLOADS) expect(help).toContain(`\n  ${name}  `);
});

function part(name: string, compared: number, isAsked: boolean): CheckPart {
  return { name, valid: true, compared, isAsked, violations: 0, figures: {} };
}

function checked(subject: string, parts: readonly CheckPart[]): CheckResult {
  const summary = "757 operations: 567 succeeded, 156 refused, 34 of unknown outcome and so on";
  const nothing = { anomalies: [], anomalyCounts: {}, remarks: [] };
  return { subject, name: "model lock", valid: true, summary, parts, ...nothing };
}

function resultsOf(checks: readonly CheckResult[], more: Partial<Results> = {}): Results {
  const figures = {
    operations: 757,
    faults: 1,
    elections: 2,
    sessionsLost: 0,
    longestGapMs: 9_151,
  };
  const rest = { seconds: 33, anomalies: {}, comparison: [], valid: true, wasInterrupted: false };
  return { ...rest, figures, checks, ...more } as unknown as Results;
}

test("what compared nothing is shown in capitals only where something was to be compared", () => {
  const quiet = resultText(
    resultsOf([checked("mutex", [part("tokens", 5, true), part("order", 0, false)])]),
    "/d",
  );
  expect(quiet).not.toContain("NOTHING");
  expect(quiet).toMatch(/not tested +order \(add --workload queue\)/);
  const loud = resultText(
    resultsOf([
      checked("mutex", [part("order", 0, false)]),
      checked("queue", [part("order", 0, true), part("leases", 3, true)]),
    ]),
    "/d",
  );
  expect(loud).toMatch(/NOTHING +was compared by order in queue/);
  expect(loud).not.toContain("not tested");
  expect([tooLong(quiet), tooLong(loud)]).toEqual([[], []]);
});

test("each kind of anomaly is named with how often it was seen and one sentence", () => {
  const sentence =
    "two clients held `mutex/1` from 7.773 s to 7.912 s: client 3 by token 3764820767674096, " +
    "client 1 by token 3764820767674095";
  const anomaly = {
    kind: "two holders",
    sentence,
    keys: ["mutex/1"],
    steps: [],
    reasons: [],
  } as const;
  const broken = { ...checked("mutex", []), valid: false, anomalies: [anomaly] };
  const results = resultsOf([broken], {
    valid: false,
    anomalies: { "token not larger": 1, "two holders": 7 },
  });
  const text = resultText(results, "/d");
  expect(text.replace(/\s+/g, " ")).toContain(
    "✗ two holders × 7 two clients held `mutex/1` from 7.773 s to 7.912 s: client 3 by token …4096, client 1 by token …4095 ✗ token not larger × 1",
  );
  expect(tooLong(text)).toEqual([]);
  expect(verdictText(results)).toMatch(/^NOT VALID: /);
  expect(verdictText(resultsOf([], { valid: "unknown", wasInterrupted: true }))).toMatch(
    /^INTERRUPTED/,
  );
  expect(verdictText({ ...results, wasInterrupted: true })).toMatch(
    /^NOT VALID: .*\(interrupted\)$/,
  );
});
