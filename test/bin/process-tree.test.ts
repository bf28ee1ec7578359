import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { descendantsOf, isAlive, parseStat } from "../../bin/run/process-tree.js";

const REST = "0 0 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 1 0 123456 7 8";

test("a name with spaces and parentheses does not shift the fields", () => {
  expect(parseStat(9, `9 (a) b (c)) S 7 ${REST}`)).toEqual({
    pid: 9,
    parent: 7,
    startTime: "123456",
  });
});

test("a zombie has ended", () => {
  expect(parseStat(9, `9 (a) Z 7 ${REST}`)).toBeUndefined();
  expect(parseStat(9, "")).toBeUndefined();
});

test.runIf(process.platform === "linux")(
  "descendants are found below shells, and only they",
  async () => {
    // The outer shell waits for an inner one, which waits for its input to end.
    const child = spawn("/bin/sh", ["-c", "sh -c 'echo ready; read line'; true"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const marks = descendantsOf(child.pid ?? 0);
    expect(marks).toHaveLength(1);
    expect(marks.every(isAlive)).toBe(true);
    expect(descendantsOf(process.pid).map(({ pid }) => pid)).toContain(child.pid);
    const ended = once(child, "exit");
    child.stdin.end();
    await ended;
    expect(marks.some(isAlive)).toBe(false);
  },
);
