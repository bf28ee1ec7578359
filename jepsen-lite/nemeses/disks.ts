/**
 * Faults of disks, on fewer than half of the nodes at a time: the data of a majority stay whole,
 * because beyond that the only correct answer of any such system is "unavailable". Damaged nodes
 * are recovered as an operator would do it, by `holdfast recover` and a promotion.
 */
import { execFile } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { whyNoPlatter } from "../../lab/platter.js";
import { RandomStream } from "../../lab/random-stream.js";
import type { NodeProcess } from "../cluster/node-process.js";
import { mountRefusal } from "../cluster/volumes.js";
import { Patience } from "../harness/patience.js";
import { builtCommand } from "../harness/scripts.js";
import { chooseNodes, namesOf } from "./chosen-nodes.js";
import { damageDirectory, emptied } from "./file-damage.js";
import { nothing, promoted } from "./leadership.js";
import { type Nemesis, StuckError, type Target } from "./nemesis.js";

const run = promisify(execFile);
const RECOVER_MS_MAX = 120_000;
const RECOVER_PAUSE_MS = 500;
/** Elections and other faults may be under way. */
const WELL_MS_MAX = 8_000;

export const diskFull: Nemesis = {
  name: "disk-full",
  about: "the disk of one node is filled to the last byte, and freed at the end",
  isUnusual: true,
  needs: "volumes",
  async refusal() {
    return mountRefusal();
  },
  async begin(target, random) {
    const volume = random.pick(target.volumes);
    await volume.fill();
    return {
      what: `the disk of node ${volume.nodeId} is full`,
      end: () => volume.free(),
    };
  },
};

export const powerLoss: Nemesis = {
  name: "power-loss",
  about: "nodes lose their power, and of their disks all or part of what was not synced",
  isUnusual: true,
  needs: "platters",
  async refusal() {
    return whyNoPlatter();
  },
  async begin(target, random) {
    const extents = ["one", "leader", "minority", "majority", "all"] as const;
    const nodes = chooseNodes(target, random, extents);
    const what = `loss of power of ${namesOf(target, nodes)}`;
    const losses = nodes.map((node) => [node, new RandomStream(random.below(2 ** 31))] as const);
    await Promise.all(nodes.map((node) => node.kill()));
    for (const [node, left] of losses) {
      await node.whileDown(async () => node.plan.platter?.losePower(() => left.next()));
    }
    return {
      what,
      async end() {
        for (const node of nodes) node.start();
      },
    };
  },
};

export const damage: Nemesis = {
  name: "damage",
  about:
    "any file of a data directory is altered, cut off, emptied or removed; recovered at the end",
  async begin(target, random) {
    const node = random.pick(target.nodes);
    const giveBack = target.reserve(node.id);
    if (giveBack === undefined) return nothing("no disk can be spared at the moment");
    const { what, file } = await node.whileDown(() =>
      damageDirectory(node.plan.dataDirectory, random),
    );
    // It must notice the damage by itself, and take part in nothing that it cannot confirm.
    node.start();
    return {
      what: `on the disk of node ${node.id}: ${what}`,
      file,
      async end() {
        if (!(await isWell(target, node))) await recover(target, node);
        giveBack();
      },
    };
  },
};

/** Not every damaged file is needed, and some can be rebuilt from the rest. */
async function isWell(target: Target, node: NodeProcess): Promise<boolean> {
  const patience = new Patience(WELL_MS_MAX);
  while (!target.signal.aborted && patience.lasts()) {
    const status = node.isRunning ? await node.status() : undefined;
    if (!node.isRunning || status?.role === "quarantined") return false;
    // A node that the others refuse hears of no leader.
    if (status?.role === "leader" || (status?.role === "follower" && status.leader)) return true;
    await delay(RECOVER_PAUSE_MS);
  }
  return false;
}

async function recover(target: Target, node: NodeProcess): Promise<void> {
  const { dataDirectory } = node.plan;
  const { member } = node;
  const endpoints = target.nodes
    .filter((other) => other !== node)
    .map((other) => other.plan.endpoint)
    .join(",");
  const words = [
    "recover",
    `--id=${member}`,
    `--data=${dataDirectory}`,
    `--endpoints=${endpoints}`,
  ];
  const { accessToken } = target;
  const environment = accessToken === undefined ? {} : { HOLDFAST_ACCESS_TOKEN: accessToken };
  const patience = new Patience(RECOVER_MS_MAX);
  while (!target.signal.aborted) {
    try {
      await node.whileDown(async () => {
        const { signal } = target;
        const env = { ...process.env, ...environment };
        const command = [builtCommand(), ...words];
        await run(process.execPath, command, { env, signal, killSignal: "SIGKILL" });
      });
      break;
    } catch (error) {
      // LevelDB aborts processes that open some damaged tables: then the directory counts as lost.
      if ((error as { signal?: unknown }).signal === "SIGABRT") await emptied(dataDirectory);
      // Other faults may be under way: there is no leader, or the others cannot spare it yet.
      if (!patience.lasts())
        throw new StuckError(`node ${member} could not be recovered: ${error}`);
      await delay(RECOVER_PAUSE_MS);
    }
  }
  node.start();
  await promoted(target, member);
  await removeEvidence(dataDirectory);
}

/** The files that were set aside are evidence for people; here they would only fill the disk. */
async function removeEvidence(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (name.startsWith("set-aside-")) await rm(join(directory, name), { recursive: true });
  }
}
