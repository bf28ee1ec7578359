/**
 * A file system of limited size, which a test can fill up. It needs the right to mount a tmpfs;
 * a test without that right is skipped and says so.
 */
import { execFile } from "node:child_process";
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const MEBIBYTE = 1 << 20;
const PAGE_BYTES = 4_096;

export async function canMount(): Promise<boolean> {
  const path = await mkdtemp(join(tmpdir(), "holdfast-mount-"));
  try {
    await mountVolume(path, 1);
    await unmountVolume(path);
    return true;
  } catch {
    process.stderr.write("SKIPPED: a full disk needs the right to mount a tmpfs\n");
    return false;
  } finally {
    await rm(path, { recursive: true });
  }
}

export async function mountVolume(directory: string, mebibytes: number): Promise<void> {
  await run("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", directory]);
}

export async function unmountVolume(directory: string): Promise<void> {
  await run("umount", [directory]);
}

/** Leaves no room on the volume, though a node may write there. Returns what makes room again. */
export async function fillVolume(directory: string): Promise<() => Promise<void>> {
  const ballast = join(directory, "ballast");
  const file = await open(ballast, "w");
  try {
    for (const bytes of [MEBIBYTE, PAGE_BYTES]) await writeUntilFull(file, Buffer.alloc(bytes));
  } finally {
    await file.close();
  }
  return () => rm(ballast);
}

async function writeUntilFull(file: FileHandle, piece: Buffer): Promise<void> {
  try {
    for (;;) await file.write(piece);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
