import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  readingAndWritingCalls,
  voluntarySwitches,
} from "../../../bench/measures/process-calls.js";

test.skipIf(!existsSync("/proc/self/io"))("each call that reads is counted", () => {
  const before = readingAndWritingCalls(process.pid) ?? Number.NaN;
  for (let count = 0; count < 100; count += 1) readFileSync("/proc/self/stat");
  expect(readingAndWritingCalls(process.pid)).toBeGreaterThanOrEqual(before + 100);
  expect(Number.isSafeInteger(voluntarySwitches(process.pid))).toBe(true);
});

test("a process that is not there has none", () => {
  expect(readingAndWritingCalls(2 ** 22 + 1)).toBeUndefined();
  expect(voluntarySwitches(2 ** 22 + 1)).toBeUndefined();
});
