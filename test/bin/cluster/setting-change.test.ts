import { expect, test } from "vitest";
import { settingNamed, settingsNamed, settingValue } from "../../../bin/cluster/setting-change.js";
import { EXIT } from "../../../bin/exit/exit-codes.js";
import { Failure } from "../../../bin/exit/failure.js";

const WAITERS = { name: "waitersMax", value: 5, defaultValue: 100, least: 1, most: 1_000 };
const STEP = { name: "priorityStepMs", value: 1_000, defaultValue: 1_000, least: 0, most: 60_000 };
const ALL = [WAITERS, STEP];

function refusal(run: () => unknown): Failure {
  try {
    run();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error("not refused");
}

test("without a name all settings are meant, with one that one", () => {
  expect(settingsNamed(ALL, undefined)).toBe(ALL);
  expect(settingsNamed(ALL, "priorityStepMs")).toEqual([STEP]);
});

test("an unknown name is wrong usage, and the message lists the known ones", () => {
  for (const name of ["", "waiters", "WaitersMax", "toString"]) {
    const { exitCode, message } = refusal(() => settingNamed(ALL, name));
    expect(exitCode).toBe(EXIT.usage);
    expect(message).toContain("waitersMax, priorityStepMs");
  }
});

test("a value is a whole number within its limits, or the word default", () => {
  expect(settingValue(WAITERS, "1")).toBe(1);
  expect(settingValue(WAITERS, "1000")).toBe(1_000);
  expect(settingValue(STEP, "0")).toBe(0);
  expect(settingValue(STEP, "default")).toBeUndefined();
});

test("any other value is wrong usage, and the message names the limits", () => {
  for (const text of ["0", "1001", "-1", "1.5", "1e2", "", " 5", "5s", "Default", "9".repeat(16)]) {
    const { exitCode, message } = refusal(() => settingValue(WAITERS, text));
    expect(exitCode, text).toBe(EXIT.usage);
    expect(message).toContain("from 1 to 1000");
  }
});
