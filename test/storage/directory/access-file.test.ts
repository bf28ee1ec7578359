/** What a data directory remembers of access. */
import { expect, test } from "vitest";
import { MemoryFileSystem } from "../../../lab/memory/memory-file-system.js";
import { AccessFile } from "../../../src/storage/index.js";

const PATH = "/n1";

async function directory(): Promise<MemoryFileSystem> {
  const files = new MemoryFileSystem();
  await files.makeDirectory(PATH);
  return files;
}

const read = async (files: MemoryFileSystem) => (await AccessFile.read(PATH, files)).facts;

test("is nothing without a file or a directory, and then none is made", async () => {
  const files = new MemoryFileSystem();
  expect(await read(files)).toEqual({ isRequired: false, isClosed: false });
  const made = await directory();
  await (await AccessFile.read(PATH, made)).note({ isRequired: false });
  expect(await made.list(PATH)).toEqual([]);
});

test("outlives the process, each fact by itself", async () => {
  const files = await directory();
  const file = await AccessFile.read(PATH, files);
  for (const facts of [
    { isRequired: true, isClosed: false },
    { isRequired: true, isClosed: true },
    { isRequired: false, isClosed: true },
    { isRequired: false, isClosed: false },
  ]) {
    await Promise.all([file.note({ isClosed: !facts.isClosed }), file.note(facts)]);
    expect(await read(files)).toEqual(facts);
  }
  await file.note({ isClosed: true });
  expect(await read(files)).toEqual({ isRequired: false, isClosed: true });
});

test.each(["", "end\nend\n", "closed\n", "open\nend\n"])(
  "that cannot be read (%j) is taken for the stricter",
  async (text) => {
    const files = await directory();
    const file = await files.open(`${PATH}/access`, "create");
    await file.write([Buffer.from(text)], 0);
    await file.close();
    expect(await read(files)).toEqual({ isRequired: true, isClosed: true });
  },
);
