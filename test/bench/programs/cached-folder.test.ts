import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cachedFolder } from "../../../bench/programs/cached-folder.js";

let directory = "";
let source = "";

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "holdfast-test-"));
  source = join(directory, "main.go");
  writeFileSync(source, "one");
  vi.stubEnv("XDG_CACHE_HOME", directory);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

const notes: string[] = [];
const making = { signal: new AbortController().signal, onNote: (text: string) => notes.push(text) };

/** Makes a folder with one file in it, or finds it. */
function made(content: string): Promise<string> {
  return cachedFolder("program", [source], making, async (folder) => {
    await writeFile(join(folder, "program"), content);
  });
}

test("a folder is made once, and another one when its sources change", async () => {
  notes.length = 0;
  const first = await made("a");
  expect(await made("b")).toBe(first);
  expect(readFileSync(join(first, "program"), "utf8")).toBe("a");
  expect(notes).toEqual([`program is made in ${first}, once`]);
  writeFileSync(source, "two");
  const second = await made("c");
  expect(second).not.toBe(first);
  expect(readFileSync(join(second, "program"), "utf8")).toBe("c");
});

test("two that make it at the same time have the same one", async () => {
  const [first, second] = await Promise.all([made("a"), made("a")]);
  expect(second).toBe(first);
  expect(readdirSync(join(directory, "holdfast-bench"))).toHaveLength(1);
});

test("nothing is left of a folder that could not be made", async () => {
  const failing = cachedFolder("program", [source], making, async (folder) => {
    await writeFile(join(folder, "half"), "");
    throw new Error("the compiler said no");
  });
  await expect(failing).rejects.toThrow("the compiler said no");
  expect(readdirSync(join(directory, "holdfast-bench"))).toEqual([]);
});
