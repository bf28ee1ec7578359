/** Checks of what every command promises about its result; tests compare the rest themselves. */
import { expect } from "vitest";
import type { CliResult } from "./command-line.js";

/**
 * The command failed with that exit code, and its only output was one line on standard error with
 * the reason, possibly after the notice of a long wait.
 */
export function expectFailure(
  { code, stdout, stderr }: CliResult,
  expected: number,
  reason: RegExp,
): void {
  expect([code, stdout, stderr]).toEqual([expected, "", expect.stringMatching(reason)]);
  expect(stderr).toMatch(/^(holdfast: [^\n]+: still trying\n)?holdfast: [^\n]+\n$/);
}

/** Returns `text`, which must be one line by the command itself. */
export function oneLine(text: string): string {
  expect(text).toMatch(/^holdfast: [^\n]+\n$/);
  return text;
}

/**
 * The output of `--json`: the command succeeded, and printed nothing but one document on one line.
 */
export function documentOf<T>({ code, stdout, stderr }: CliResult): T {
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.indexOf("\n")).toBe(stdout.length - 1);
  return JSON.parse(stdout);
}
