/**
 * File systems of limited size for the data of nodes: a tmpfs for each, if this process may mount.
 * Only the nemesis that fills disks needs them.
 */
import { execFile } from "node:child_process";
import { appendFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Room for a few segments of the log and the store. */
export const VOLUME_MEBIBYTES = 192;

/** Why there can be no volumes here, or `undefined`. */
export async function mountRefusal(): Promise<string | undefined> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-jepsen-mount-"));
  const volume = new Volume(0, directory);
  try {
    await volume.mount(1);
    await volume.unmount();
    return undefined;
  } catch {
    return "a full disk requires the right to mount a tmpfs: run as root, or leave it out";
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A file system of limited size that holds the data of one node, and can be full. */
export class Volume {
  readonly nodeId: number;
  readonly directory: string;
  #isFull = false;
  /** Parts of the harness that need room. */
  #guests = 0;
  #changing: Promise<void> = Promise.resolve();

  constructor(nodeId: number, directory: string) {
    this.nodeId = nodeId;
    this.directory = directory;
  }

  async mount(mebibytes: number): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    await run("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", this.directory]);
  }

  async unmount(): Promise<void> {
    await run("umount", [this.directory]);
  }

  /** To the last byte, for processes that are not guests. */
  fill(): Promise<void> {
    this.#isFull = true;
    return this.#change();
  }

  free(): Promise<void> {
    this.#isFull = false;
    return this.#change();
  }

  /** What the harness does with the files, while no node uses them, has room. */
  async withRoom<T>(work: () => Promise<T>): Promise<T> {
    this.#guests += 1;
    try {
      await this.#change();
      return await work();
    } finally {
      this.#guests -= 1;
      await this.#change();
    }
  }

  #change(): Promise<void> {
    this.#changing = this.#changing.then(async () => {
      const ballast = join(this.directory, BALLAST);
      if (this.#isFull && this.#guests === 0) await fillUp(ballast);
      else await rm(ballast, { force: true });
    });
    return this.#changing;
  }
}

const BALLAST = "ballast";
const PIECES_BYTES = [1024 * 1024, 4_096, 1] as const;

async function fillUp(file: string): Promise<void> {
  for (const bytes of PIECES_BYTES) {
    const piece = Buffer.alloc(bytes);
    try {
      for (;;) await appendFile(file, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }
}
