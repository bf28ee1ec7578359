import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import {
  descendantsOf,
  groupBelow,
  isAlive,
  isForeground,
  parseStat,
} from "../../../bin/run/process-tree.js";

const REST = "5 0 0 -1 4194304 1 0 0 0 5 6 0 0 20 0 1 0 123456 7 8";

test("a name with spaces and parentheses does not shift the fields", () => {
  expect(parseStat(9, `9 (a) b (c)) S 7 ${REST}`)).toEqual({
    pid: 9,
    parent: 7,
    group: 5,
    startTime: "123456",
  });
});

test("a process is in the foreground when its group is the one that its terminal has in front", () => {
  expect(isForeground("9 (a b) S 7 5 3 34816 5 4194304 1")).toBe(true);
  expect(isForeground("9 (a b) S 7 5 3 34816 6 4194304 1")).toBe(false);
  // Without a terminal.
  expect(isForeground("9 (a b) S 7 5 3 0 -1 4194304 1")).toBe(false);
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

test.runIf(process.platform === "linux")(
  "of the descendants only those in the group of the process are of its group",
  async () => {
    // The second one leaves the group for a session of its own.
    const sleeping = "sh -c 'echo $0 $$; exec sleep 600'";
    const line = `${sleeping} same & a=$!; setsid ${sleeping} other & read line; kill $a $!`;
    const child = spawn("/bin/sh", ["-c", line], { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(async () => {
      const ended = once(child, "exit");
      child.stdin.end("\n");
      await ended;
    });
    let printed = "";
    while (printed.split("\n").length < 3) printed += String((await once(child.stdout, "data"))[0]);
    const pidOf = (name: string) => Number(new RegExp(`${name} (\\d+)`).exec(printed)?.[1]);
    const pids = (marks: readonly { readonly pid: number }[]) => marks.map(({ pid }) => pid).sort();
    const both = [pidOf("same"), pidOf("other")].sort();
    expect(pids(descendantsOf(child.pid ?? 0))).toEqual(both);
    expect(pids(groupBelow(child.pid ?? 0))).toEqual([pidOf("same")]);
    expect(groupBelow(2 ** 22 + 1)).toEqual([]);
  },
);
