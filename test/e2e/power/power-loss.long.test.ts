/**
 * A loss of power below the file system, with a real process and real files: what a node had not
 * made durable is gone, torn or still there, and every promise to its clients is kept. Two seeded
 * bugs of storage, which no test of the process alone can see, show that the test finds such
 * losses.
 */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { NOTHING_MORE, Platter, whyNoPlatter } from "../../../lab/platter.js";
import { seededRandom } from "../../../lab/random-stream.js";
import { NodeHandle } from "../world/node-handle.js";
import { until } from "../world/process-life.js";
import { KeptPromises } from "./kept-promises.js";
import { MutatedBuild, UNSYNCED_LOG, UNSYNCED_STORE } from "./mutated-build.js";

const WHY_NOT = whyNoPlatter();
if (WHY_NOT !== undefined) process.stderr.write(`SKIPPED: ${WHY_NOT}\n`);

/** How many syncs a first start takes, and a later one with a few snapshots after it. */
const FIRST_SYNCS = 12;
const SYNCS = 24;
/** As many as bring those snapshots about. */
const GRANTS_MAX = 4_000;
/** How often the test looks whether there is a snapshot. */
const GRANTS_BETWEEN = 50;
const GRANTS_AFTER_SNAPSHOT_MAX = 600;

interface Machine {
  readonly platter: Platter;
  readonly node: NodeHandle;
  /** In which sync the process is killed; `undefined`: in none. */
  syncs: number | undefined;
}

async function newMachine(command?: string): Promise<Machine> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "holdfast-power-")));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const platter = await Platter.build(directory);
  const [client, peer] = await freePorts(2);
  const words = [
    ...["--id", "1", "--data", join(platter.root, "n1"), "--listen", `127.0.0.1:${client}`],
    ...["--initial-cluster", `1=127.0.0.1:${peer}`, "--stop-on-stdin-end", "--audit"],
    ...["--snapshot-log-size", "1MiB", "--trailing-log-size", "1MiB"],
  ];
  const env = (): NodeJS.ProcessEnv => platter.environment(machine.syncs);
  const program = command === undefined ? { env } : { command, env };
  const node = new NodeHandle(1, `ws://127.0.0.1:${client}`, words, program);
  const machine: Machine = { platter, node, syncs: undefined };
  onTestFinished(() => node.stop());
  return machine;
}

/** Resolves with why the node does not serve; `undefined`: it does. */
async function whyNotServing(node: NodeHandle): Promise<string | undefined> {
  try {
    await node.start();
  } catch (error) {
    return (error as Error).message;
  }
  let damage: string | undefined;
  await until("the node serves or says why not", async () => {
    const status = await node.status();
    damage = status?.damage?.reason;
    return damage !== undefined || status?.role === "leader";
  });
  return damage;
}

async function snapshotsTaken(node: NodeHandle): Promise<number> {
  const response = await fetch(`${node.endpoint.replace(/^ws/, "http")}/metrics`);
  const [, count] = /^holdfast_snapshots_taken_total (\d+)$/m.exec(await response.text()) ?? [];
  return Number(count);
}

/** Starts the node, which is killed in the middle of sync number `syncs`, and loses the power. */
async function loseInSync(machine: Machine, syncs: number, promises?: KeptPromises): Promise<void> {
  const { node } = machine;
  machine.syncs = syncs;
  await node.start().catch((error: Error) => {
    if (node.isRunning || node.exitCode !== null) throw error;
  });
  machine.syncs = undefined;
  if (promises === undefined) return node.kill();
  promises.resume();
  await promises.granted(GRANTS_MAX, node.exited);
  promises.pause();
  await node.kill();
}

/** Kills the node at a moment when its log stands on a snapshot. */
async function loseAtWork({ node }: Machine, extra: number, promises: KeptPromises): Promise<void> {
  promises.resume();
  // What brings a snapshot about is how much is granted, however long that takes.
  for (let granted = 0; (await snapshotsTaken(node)) === 0; granted += GRANTS_BETWEEN) {
    if (granted >= GRANTS_MAX) throw new Error(`no snapshot was taken after ${granted} grants`);
    await promises.granted(GRANTS_BETWEEN, node.exited);
  }
  await promises.granted(extra, node.exited);
  promises.pause();
  await node.kill();
}

/**
 * Loses the power `rounds` times while the node works, and before each of them in a sync. `plan` says
 * when, `left` what is left. Resolves with what is wrong: the first start that failed, or every
 * promise that was broken.
 */
async function broken(
  machine: Machine,
  rounds: number,
  plan: () => number,
  left: () => number,
): Promise<readonly string[]> {
  const { platter, node } = machine;
  let promises: KeptPromises | undefined;
  try {
    for (let round = 0; ; round += 1) {
      const syncs = promises === undefined ? FIRST_SYNCS : SYNCS;
      await loseInSync(machine, 1 + Math.floor(plan() * syncs), promises);
      platter.losePower(left);
      const reason = await whyNotServing(node);
      if (reason !== undefined) return [reason];
      promises ??= await KeptPromises.begin(node.endpoint);
      const found = await promises.broken();
      if (found.length > 0 || round === rounds) return found;
      await loseAtWork(machine, plan() * GRANTS_AFTER_SNAPSHOT_MAX, promises);
      platter.losePower(left);
    }
  } finally {
    await promises?.end();
  }
}

/** Each starts a node up to six times, which takes its time on a machine with other work. */
const TEST_MS_MAX = 300_000;

describe.skipIf(WHY_NOT !== undefined)("a node whose power fails", { timeout: TEST_MS_MAX }, () => {
  test.each([
    { seed: 1, what: "any part", left: seededRandom(101), rounds: 2 },
    { seed: 2, what: "any part", left: seededRandom(102), rounds: 2 },
    { seed: 3, what: "nothing", left: NOTHING_MORE, rounds: 1 },
  ])(
    "keeps every promise with $what left of what was not durable (seed $seed)",
    async ({ seed, left, rounds }) => {
      const machine = await newMachine();
      expect(await broken(machine, rounds, seededRandom(seed), left)).toEqual([]);
      expect(machine.node.stderr).not.toMatch(/made by hand|^platter: /m);
    },
  );

  test.each([
    { bug: UNSYNCED_LOG, sign: /the file is missing or altered|the mark/ },
    { bug: UNSYNCED_STORE, sign: /the log names it, but it does not exist/ },
  ])("is seen to break them with the bug $bug.name", async ({ bug, sign }) => {
    using build = await MutatedBuild.make(bug);
    const machine = await newMachine(build.command);
    const [found = "nothing"] = await broken(machine, 1, seededRandom(4), NOTHING_MORE);
    expect(found).toMatch(sign);
  });
});
