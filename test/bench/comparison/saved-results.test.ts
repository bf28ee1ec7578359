import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SavedResults } from "../../../bench/comparison/saved-results.js";

let directory = "";
let file = "";

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  file = join(directory, "below", "results.jsonl");
});

afterEach(() => rmSync(directory, { recursive: true }));

test("a run goes on with what was kept, even if it died in the middle of a line", () => {
  const first = SavedResults.open(file, false, "1.0.0");
  first.add("a", { cyclesPerSecond: 1 });
  first.add("b", { cyclesPerSecond: 2 });
  appendFileSync(file, '{"id":"c","resu');
  const second = SavedResults.open(file, true, "1.0.0");
  expect(second.get("a")).toEqual({ cyclesPerSecond: 1 });
  expect(second.get("b")).toEqual({ cyclesPerSecond: 2 });
  expect(second.get("c")).toBeUndefined();
  second.add("c", { cyclesPerSecond: 3 });
  expect(SavedResults.open(file, true, "1.0.0").get("c")).toEqual({ cyclesPerSecond: 3 });
});

test("a run that is not gone on with forgets what was there", () => {
  SavedResults.open(file, false, "1.0.0").add("a", {});
  SavedResults.open(file, false, "1.0.0");
  expect(SavedResults.open(file, true, "1.0.0").get("a")).toBeUndefined();
});

test("there must be results to go on with, and results of another version are not mixed in", () => {
  expect(() => SavedResults.open(file, true, "1.0.0")).toThrow(/nothing to resume/);
  SavedResults.open(file, false, "1.0.0");
  expect(() => SavedResults.open(file, true, "1.0.1")).toThrow(/belongs to another run/);
});
