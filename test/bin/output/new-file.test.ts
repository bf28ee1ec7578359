/** A file that appears whole or not at all, and never replaces another one unless asked to. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NewFile } from "../../../bin/output/new-file.js";

let place = "";
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "holdfast-new-file-"));
});
afterEach(() => rm(place, { recursive: true, force: true }));

const names = async (): Promise<string[]> => (await readdir(place)).sort();

test("is there when it is committed, for its owner alone, and under its name only then", async () => {
  const path = join(place, "a");
  const file = await NewFile.create(path, false);
  await file.write(Buffer.from("one "));
  await file.write(Buffer.from("two"));
  expect(await names()).toEqual([expect.stringMatching(/^\.a\.saving-/)]);
  await file.commit();
  expect(await readFile(path, "utf8")).toBe("one two");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await file.discard();
  expect(await names()).toEqual(["a"]);
});

test("leaves nothing when it is discarded, once or twice", async () => {
  const file = await NewFile.create(join(place, "a"), false);
  await file.write(Buffer.from("one"));
  await file.discard();
  await file.discard();
  expect(await names()).toEqual([]);
});

test("takes nobody's place, not even one that came while it was written", async () => {
  const path = join(place, "a");
  const file = await NewFile.create(path, false);
  await file.write(Buffer.from("mine"));
  await writeFile(path, "theirs");
  await expect(file.commit()).rejects.toMatchObject({
    exitCode: 1,
    message: `cannot write ${path}: it exists already`,
  });
  await file.discard();
  expect([await names(), await readFile(path, "utf8")]).toEqual([["a"], "theirs"]);
  await expect(NewFile.create(path, false)).rejects.toMatchObject({
    exitCode: 1,
    message: `${path} exists: --force replaces it`,
  });
});

test("replaces a file when it is told to, whole, and nothing else than a file", async () => {
  const path = join(place, "a");
  await writeFile(path, "theirs");
  const file = await NewFile.create(path, true);
  await file.write(Buffer.from("mine"));
  expect(await readFile(path, "utf8")).toBe("theirs");
  await file.commit();
  expect([await names(), await readFile(path, "utf8")]).toEqual([["a"], "mine"]);
  await mkdir(join(place, "directory"));
  await symlink("a", join(place, "link"));
  for (const name of ["directory", "link"]) {
    await expect(NewFile.create(join(place, name), true)).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining("is not a regular file"),
    });
  }
  expect(await names()).toEqual(["a", "directory", "link"]);
});

test("says what is in the way of it", async () => {
  await expect(NewFile.create(join(place, "no", "a"), false)).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(/^cannot write .*: there is no such directory$/),
  });
  await writeFile(join(place, "file"), "");
  await expect(NewFile.create(join(place, "file", "a"), false)).rejects.toMatchObject({
    message: expect.stringMatching(/^cannot write .*: a part of the path is not a directory$/),
  });
});
