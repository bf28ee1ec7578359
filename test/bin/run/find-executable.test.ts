import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Failure } from "../../../bin/exit/failure.js";
import { findExecutable, findTool } from "../../../bin/run/find-executable.js";

let directory = "";

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-path-"));
  mkdirSync(join(directory, "first", "folder"), { recursive: true });
  mkdirSync(join(directory, "second"));
  writeFileSync(join(directory, "first", "tool"), "no script\n");
  chmodSync(join(directory, "first", "tool"), 0o644);
  writeFileSync(join(directory, "second", "tool"), "#!/bin/sh\n");
  chmodSync(join(directory, "second", "tool"), 0o755);
});

afterAll(() => rmSync(directory, { recursive: true }));

function codeOf(name: string, path?: string): number {
  try {
    findExecutable(name, path);
  } catch (error) {
    if (error instanceof Failure) return error.exitCode;
    throw error;
  }
  throw new Error(`${name} was found`);
}

test("a bare name is the first executable of that name along the path", () => {
  const path = `${directory}/first:${directory}/second`;
  expect(findExecutable("tool", path)).toBe(`${directory}/second/tool`);
});

test("a name with a slash is a path and nothing else", () => {
  expect(findExecutable(`${directory}/second/tool`, "")).toBe(`${directory}/second/tool`);
  expect(codeOf(`${directory}/third/tool`, `${directory}/second`)).toBe(127);
});

test("what is there but cannot be executed is 126, what is not there is 127", () => {
  expect(codeOf("tool", `${directory}/first`)).toBe(126);
  expect(codeOf(`${directory}/first/tool`)).toBe(126);
  expect(codeOf(`${directory}/first/folder`)).toBe(126);
  expect(codeOf("tool", directory)).toBe(127);
  expect(codeOf("", `${directory}/second`)).toBe(127);
  expect(codeOf(`${directory}/first/tool/below`)).toBe(127);
});

test("a tool that is welcome but missing is not a failure", () => {
  expect(findTool("holdfast-no-such-tool")).toBeUndefined();
});
