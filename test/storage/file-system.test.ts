/** What is built on the port to the file system, when a process dies and when the power fails. */
import { expect, it } from "vitest";
import { MemoryFileSystem } from "../../lab/memory/memory-file-system.js";
import { makeDirectories } from "../../src/storage/file-system.js";

it("a directory that a process made and did not sync is durable once the next one makes it", async () => {
  const died = new MemoryFileSystem(new Map([["/d/file", Uint8Array.of(1)]]));
  await died.makeDirectory("/d/new");
  const losePending = () => 0.9;
  expect(await died.crashed(losePending).list("/d")).not.toContain("new");
  const next = died.inherited();
  await makeDirectories(next, "/d/new");
  expect(await next.crashed(losePending).list("/d")).toContain("new");
});
