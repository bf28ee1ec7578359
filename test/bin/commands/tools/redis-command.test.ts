/** `holdfast redis check` says beforehand what the Redis port does with a script. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../../e2e/world/command-line.js";

const RELEASE = `if redis.call("get",KEYS[1]) == ARGV[1] then
  return redis.call("del",KEYS[1]) else return 0 end`;
const TAKE = "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])";
const SIGNAL = "redis.call('lpush', KEYS[2], 1) return redis.call('del', KEYS[1])";
const ANYBODY = "return redis.call('del', KEYS[1])";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-scripts-"));
  const texts = { "release.lua": RELEASE, "take.lua": TAKE, "signal.lua": SIGNAL };
  for (const [name, text] of Object.entries({ ...texts, "anybody.lua": ANYBODY })) {
    await writeFile(join(directory, name), text);
  }
});
afterAll(() => rm(directory, { recursive: true }));

const files = (...names: readonly string[]): readonly string[] =>
  names.map((name) => join(directory, name));

test("scripts that are served are shown with what they do", async () => {
  const checked = await runCli(["redis", "check", ...files("release.lua", "take.lua")]);
  expect([checked.code, checked.stderr]).toEqual([0, ""]);
  expect(checked.stdout.replaceAll(`${directory}/`, "").split("\n")).toEqual([
    "release.lua: served",
    "  free: changes nothing",
    "  held by the caller: releases",
    "  held by another: changes nothing",
    "take.lua: served",
    "  free: takes",
    "  held by the caller: changes nothing",
    "  held by another: changes nothing",
    "",
  ]);
});

test("the worst script decides the exit code, and each has its document", async () => {
  const names = files("release.lua", "signal.lua", "anybody.lua");
  const { code, stdout } = await runCli(["redis", "check", "--json", ...names]);
  expect(code).toBe(5);
  const documents = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(documents.map(({ isServed, reason }) => [isServed, reason])).toEqual([
    [true, null],
    [false, "it uses LPUSH"],
    [false, "it would end or move a lock whose value it has not compared"],
  ]);
});

test("a file that cannot be read is named", async () => {
  const { code, stderr } = await runCli(["redis", "check", ...files("none.lua")]);
  expect(code).toBe(1);
  expect(stderr).toContain("none.lua cannot be read: ENOENT");
});
