/**
 * Trouble with disks, on fewer than half of the nodes at a time: what a majority has stays whole,
 * and beyond that the honest answer of any such system is "unavailable". Damaged nodes are brought
 * back as an operator would, by `holdfast recover` and a promotion.
 */
import { execFile } from "node:child_process";
import { open, readdir, rm, statfs, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { NodeProcess } from "../cluster/node-process.js";
import { mountRefusal } from "../cluster/volumes.js";
import { builtCommand } from "../own-scripts.js";
import type { SeededRandom } from "../seeded-random.js";
import { nothing, promoted } from "./leadership.js";
import type { Nemesis, Target } from "./nemesis.js";

const run = promisify(execFile);
const BALLAST = "ballast";
const RECOVER_MS_MAX = 120_000;
const RECOVER_PAUSE_MS = 500;

export const diskFull: Nemesis = {
  name: "disk-full",
  about: "the disk of one node is filled to the last byte, and emptied at the end",
  async refusal() {
    return mountRefusal();
  },
  async begin(target, random) {
    const volume = random.pick(target.volumes);
    const ballast = join(volume.directory, BALLAST);
    const { bavail, bsize } = await statfs(volume.directory);
    try {
      await writeFile(ballast, Buffer.alloc(bavail * bsize));
    } catch (error) {
      // The node took some of it meanwhile: full is what it should be.
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
    return {
      what: `the disk of node ${volume.nodeId} is full`,
      end: () => rm(ballast, { force: true }),
    };
  },
};

export const damage: Nemesis = {
  name: "damage",
  about: "a node's log is corrupted, truncated or wiped while it is down; recovered at the end",
  async begin(target, random) {
    const node = random.pick(target.nodes);
    const how = random.pick(["bit", "truncate", "wipe"] as const);
    const giveBack = target.reserve(node.id);
    if (giveBack === undefined) return nothing("no disk can be spared at the moment");
    await node.whileDown(() => harm(node, how, random));
    // It must notice by itself, and take part in nothing.
    node.start();
    return {
      what: `${WORDS[how]} on the disk of node ${node.id}`,
      async end() {
        await recover(target, node);
        giveBack();
      },
    };
  },
};

const WORDS = { bit: "a bit turned over", truncate: "a segment cut short", wipe: "nothing left" };

async function harm(
  node: NodeProcess,
  how: "bit" | "truncate" | "wipe",
  random: SeededRandom,
): Promise<void> {
  const { dataDirectory } = node.plan;
  if (how === "wipe") {
    for (const name of await readdir(dataDirectory)) {
      await rm(join(dataDirectory, name), { recursive: true });
    }
    return;
  }
  const log = join(dataDirectory, "log");
  const [segment] = (await readdir(log)).sort();
  if (segment === undefined) return;
  const file = join(log, segment);
  const handle = await open(file, "r+");
  try {
    const written = await writtenBytes(handle);
    const place = Math.floor(written * (0.1 + 0.8 * random.unit()));
    if (how === "truncate") {
      await truncate(file, place);
    } else {
      const byte = Buffer.alloc(1);
      await handle.read(byte, 0, 1, place);
      byte.writeUInt8(byte.readUInt8(0) ^ (1 << random.below(8)), 0);
      await handle.write(byte, 0, 1, place);
    }
  } finally {
    await handle.close();
  }
}

/** Segments are filled with zeros ahead of use. */
async function writtenBytes(handle: Awaited<ReturnType<typeof open>>): Promise<number> {
  const bytes = await handle.readFile();
  let end = bytes.length;
  while (end > 1 && bytes[end - 1] === 0) end -= 1;
  return end;
}

async function recover(target: Target, node: NodeProcess): Promise<void> {
  const { id, dataDirectory } = node.plan;
  const endpoints = target.nodes
    .filter((other) => other !== node)
    .map((other) => other.plan.endpoint)
    .join(",");
  const words = ["recover", `--id=${id}`, `--data=${dataDirectory}`, `--endpoints=${endpoints}`];
  const deadlineMs = performance.now() + RECOVER_MS_MAX;
  while (!target.signal.aborted) {
    try {
      await node.whileDown(async () => {
        await run(process.execPath, [builtCommand(), ...words]);
      });
      break;
    } catch (error) {
      // Other faults may be under way: nobody leads, or the others cannot spare it yet.
      if (performance.now() > deadlineMs) throw error;
      await delay(RECOVER_PAUSE_MS);
    }
  }
  node.start();
  await promoted(target, id);
  await removeEvidence(dataDirectory);
}

/** What was set aside is evidence for people; here it would only fill the disk. */
async function removeEvidence(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith("set-aside-")) await rm(join(directory, name), { recursive: true });
  }
}
