/**
 * A voter that lost its directory, together with a node whose store was damaged while it was
 * stopped. However badly the store is damaged, the node still knows the directories of its peers,
 * or takes part in nothing. Otherwise the two would be a majority that knows nothing of a lock that
 * is held. Real processes, real files.
 */
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { connect } from "../../../src/index.js";
import { type NodeHandle, startCluster } from "../world/cluster-process.js";
import { until } from "../world/process-life.js";

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** In the first record of the journal, where what is damaged takes the rest with it. */
async function flipBitInJournal(directory: string): Promise<void> {
  const names = await readdir(join(directory, "store"));
  let flipped = 0;
  for (const name of names.filter((one) => one.endsWith(".log"))) {
    const path = join(directory, "store", name);
    const content = await readFile(path);
    if (content.length === 0) continue;
    content[20] = (content[20] ?? 0) ^ 1;
    await writeFile(path, content);
    flipped += 1;
  }
  expect(flipped).toBeGreaterThan(0);
}

interface Damage {
  readonly what: string;
  /** Whether the store is opened once more before, so that its journal has become a table. */
  readonly isOld: boolean;
  readonly damage: (directory: string) => Promise<void>;
}

const DAMAGES: readonly Damage[] = [
  { what: "one bit of its journal is flipped", isOld: false, damage: flipBitInJournal },
  {
    what: "it is gone",
    isOld: false,
    damage: (directory) => rm(join(directory, "store"), { recursive: true }),
  },
  {
    what: "its CURRENT is gone",
    isOld: true,
    damage: (directory) => rm(join(directory, "store", "CURRENT")),
  },
];

test.each(DAMAGES.map((one) => [one.what, one] as const))(
  "a wiped voter is not counted by a node whose store is damaged: %s",
  async (_what, { isOld, damage }) => {
    const cluster = await startCluster({ serverArguments: ["--audit"] });
    endings.push(() => cluster.stop());
    const leader = await cluster.leader();
    const [damaged, wiped] = cluster.nodes.filter(({ id }) => id !== leader.id);
    if (damaged === undefined || wiped === undefined) throw new Error("three nodes are needed");
    const directoryOf = ({ id }: NodeHandle): string => join(cluster.directory, `n${id}`);
    const client = await connect({ endpoints: cluster.endpoints, ttlMs: 120_000 });
    endings.push(() => client.close());
    // Something for the store of every node: a tenure that ended.
    for (let tenure = 0; tenure < 3; tenure += 1) await (await client.acquire("before")).release();
    const isThere = async (node: NodeHandle): Promise<boolean> =>
      (await node.status())?.appliedIndex === (await leader.status())?.appliedIndex;
    await until("everybody to have applied it", async () => isThere(damaged));
    if (isOld) await damaged.restart();
    await damaged.stop();
    const held = await client.acquire("held");

    await leader.kill();
    await wiped.kill();
    await rm(directoryOf(wiped), { recursive: true });
    await damage(directoryOf(damaged));
    const before = wiped.stderr.length;
    await Promise.all([damaged.start(), wiped.start()]);
    const isQuarantined = async (): Promise<boolean> =>
      ((await damaged.status()) as { role?: string } | undefined)?.role === "quarantined";
    const isRefused = (): boolean =>
      wiped.stderr.slice(before).includes(`refused by node ${damaged.id} `);
    const leads = async (node: NodeHandle): Promise<boolean> =>
      (await node.status())?.role === "leader";
    await until(
      "the damage to be found, the wiped node refused, or a lock to be lost",
      async () =>
        (await isQuarantined()) || isRefused() || (await leads(damaged)) || (await leads(wiped)),
    );
    for (const node of [damaged, wiped]) {
      expect(await leads(node)).toBe(false);
      const answer = await fetch(`${node.endpoint.replace(/^ws/, "http")}/readyz`);
      expect(answer.status).toBe(503);
    }
    if (await isQuarantined()) {
      expect(damaged.stderr).toContain(`holdfast recover --id ${damaged.id}`);
      return;
    }
    // Both nodes that forgot nothing make a majority again, in which the lock is held.
    await leader.start();
    const view = await client.inspect("held");
    expect(view.holds.map(({ token }) => token)).toEqual([held.token]);
  },
);
