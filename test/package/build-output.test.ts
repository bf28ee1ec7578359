/** What a build leaves in its directory while programs from the build before run there. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type BuiltFile, putInPlace } from "../../scripts/build-output.js";

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "holdfast-build-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, "bin");
}

const FIRST: readonly BuiltFile[] = [
  { name: "holdfast.js", content: 'import("./part-AAAAAAAA.js")', isExecutable: true },
  { name: "part-AAAAAAAA.js", content: "first" },
  { name: "NOTES.txt", content: "of the first" },
];
const SECOND: readonly BuiltFile[] = [
  { name: "holdfast.js", content: 'import("./part-BBBBBBBB.js")', isExecutable: true },
  { name: "part-BBBBBBBB.js", content: "second" },
];

test("a new build leaves the parts that commands of the one before may still load", async () => {
  const target = temporaryDirectory();
  await putInPlace(target, FIRST);
  await putInPlace(target, SECOND);
  expect(readdirSync(target).sort()).toEqual([
    "holdfast.js",
    "part-AAAAAAAA.js",
    "part-BBBBBBBB.js",
  ]);
  expect(readFileSync(join(target, "holdfast.js"), "utf8")).toContain("part-BBBBBBBB");
  expect(statSync(join(target, "holdfast.js")).mode & 0o111).toBe(0o111);
});

test("parts that no build has made for a day are removed", async () => {
  const target = temporaryDirectory();
  await putInPlace(target, FIRST);
  await putInPlace(target, SECOND);
  for (const name of readdirSync(target)) utimesSync(join(target, name), 1, 1);
  await putInPlace(target, SECOND);
  expect(readdirSync(target).sort()).toEqual(["holdfast.js", "part-BBBBBBBB.js"]);
  await putInPlace(target, FIRST);
  expect(readdirSync(target)).toContain("part-BBBBBBBB.js");
});

test("what names other files is replaced after all of them are there", async () => {
  const target = temporaryDirectory();
  await putInPlace(target, FIRST);
  const unwritable = {
    name: "part-CCCCCCCC.js",
    get content(): string {
      throw new Error("no room");
    },
  };
  await expect(putInPlace(target, [...SECOND, unwritable])).rejects.toThrow("no room");
  expect(readFileSync(join(target, "holdfast.js"), "utf8")).toContain("part-AAAAAAAA");
});
