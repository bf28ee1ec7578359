/**
 * File systems of limited size for the data of nodes: a tmpfs for each, if this process may mount.
 * Only the nemesis that fills disks needs them.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Room for a few segments of the log and the store. */
const VOLUME_MEBIBYTES = 192;

/** Why there can be no volumes here, or `undefined`. */
export async function mountRefusal(): Promise<string | undefined> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-jepsen-mount-"));
  try {
    await mountVolume(directory);
    await unmountVolume(directory);
    return undefined;
  } catch {
    return "a full disk requires the right to mount a tmpfs: run as root, or leave it out";
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** `copies`: how often it has to have room for everything. */
export async function mountVolume(directory: string, copies = 1): Promise<void> {
  await mkdir(directory, { recursive: true });
  const size = `size=${copies * VOLUME_MEBIBYTES}m`;
  await run("mount", ["-t", "tmpfs", "-o", size, "tmpfs", directory]);
}

export async function unmountVolume(directory: string): Promise<void> {
  await run("umount", [directory]);
}
