import { expect, test } from "vitest";
import { parseAnswer, startLines } from "../../../bench/peers/load-lines.js";

const REPORT = {
  event: "report",
  cycles: 3,
  acquires: [
    [120, 2],
    [257, 1],
  ],
  maxMicros: 256,
  errors: { LOCK_LOST: 1 },
  violations: { overlap: 0, token: 0 },
} as const;

test("a program is given its load line by line, and the last line starts it", () => {
  const { signal } = new AbortController();
  const load = { connections: 2, workers: 3, keys: ["b/0", "b/1"], isShared: false, signal };
  expect(startLines(["127.0.0.1:1"], load, 60).split("\n")).toEqual([
    "address 127.0.0.1:1",
    "connections 2",
    "workers 3",
    "shared no",
    "seconds 60",
    "key b/0",
    "key b/1",
    "start",
    "",
  ]);
  expect(startLines([], { ...load, isShared: true }, 60)).toContain("\nshared yes\n");
});

test("answers are read as they were written", () => {
  for (const answer of [
    { event: "start" },
    { event: "reset" },
    { event: "failed", message: "no server" },
    REPORT,
  ]) {
    expect(parseAnswer(JSON.stringify(answer))).toEqual(answer);
  }
});

test("what is not an answer is quoted rather than counted", () => {
  const { violations: _, ...withoutViolations } = REPORT;
  const lines = [
    "",
    "Exception in thread main",
    "3",
    "null",
    '{"event":"other"}',
    ...[
      withoutViolations,
      { ...REPORT, cycles: "3" },
      { ...REPORT, cycles: -1 },
      { ...REPORT, acquires: [[1]] },
      { ...REPORT, acquires: [[1, 0.5]] },
      { ...REPORT, errors: { a: "b" } },
      { ...REPORT, violations: { overlap: 0 } },
    ].map((each) => JSON.stringify(each)),
  ];
  for (const line of lines) {
    expect(() => parseAnswer(line), line).toThrow(`the load program wrote: ${line}`);
  }
});
