/**
 * Snapshots that a hostile peer makes up: its checksum is right, but not what it stands for. The log
 * may name a snapshot only after a table was made of it, since every later start makes it again.
 */
import { describe, expect, test } from "vitest";
import { LockTable, NOBODY } from "../../../src/lockfsm/index.js";
import { TableState } from "../../../src/lockfsm/records/state.js";
import { resolveTableSettings } from "../../../src/lockfsm/settings.js";
import { TokenCounter } from "../../../src/lockfsm/token-counter.js";
import { OP, STAMP_MAX } from "../../../src/protocol/index.js";
import { type Configuration, encodeConfiguration } from "../../../src/raft/index.js";
import { SnapshotDigest } from "../../../src/storage/snapshots/digest.js";
import { expectAgreement, type StartedCluster, startCluster } from "../world/cluster.js";
import type { WorldNode } from "../world/world.js";

const SAFE_MAX = Number.MAX_SAFE_INTEGER;
/** Beyond anything that the cluster of a test commits. */
const INDEX = 10_000;

interface Forged {
  readonly chunks: readonly Uint8Array[];
  readonly configuration: Uint8Array;
  readonly index?: number;
}

/** The table of a log that nobody has, up to `index`. */
function tableAt(index: number, stamp: number): LockTable {
  const table = new LockTable();
  const open = { op: OP.open, nonce: "mallory-mallory-", attempt: 1, ttlMs: 60_000 } as const;
  const command = { ...open, name: "m", metadata: "" };
  table.apply(
    { index, stamp, wallMs: Date.UTC(2026, 6), commands: [{ session: 0, epoch: 0, command }] },
    NOBODY,
  );
  return table;
}

/** A table whose counters somebody chose. */
function countedTable(node: WorldNode, change: (state: TableState) => void, index = INDEX) {
  const state = new TableState(resolveTableSettings({}));
  Object.assign(state, { index, stamp: node.table.stamp });
  state.tokens = new TokenCounter(node.table.nextToken);
  change(state);
  const configuration = encodeConfiguration(node.raft.configuration);
  return { chunks: [...LockTable.of(state).snapshot(64)], configuration, index };
}

async function scene(): Promise<
  StartedCluster & { follower: WorldNode; say(forged: Forged): string }
> {
  const cluster = await startCluster();
  const client = cluster.world.client();
  await client.start(cluster.leader);
  await client.untilReply(client.acquire("a", 0));
  await expectAgreement(cluster.world);
  const { leader, followers } = cluster;
  const [follower] = followers;
  const say = ({ chunks, configuration, index = INDEX }: Forged): string => {
    const { term } = follower.raft;
    const digest = new SnapshotDigest();
    for (const chunk of chunks) digest.add(chunk);
    const snapshot = digest.manifestOf({ index, term }, configuration);
    const { checksum } = snapshot;
    const { peerEvents } = follower.driver;
    peerEvents.onMessage(leader.id, 0, { type: "snapshotOffer", term, epoch: 1, snapshot });
    for (const [number, bytes] of chunks.entries()) {
      peerEvents.onMessage(leader.id, 0, { type: "snapshotChunk", checksum, number, bytes });
    }
    return checksum;
  };
  return { ...cluster, follower, say };
}

/** The offer is answered once its first chunk could be written, so chunks are said again until then. */
async function untilRefused(
  { world, leader, follower }: Pick<StartedCluster, "world" | "leader"> & { follower: WorldNode },
  attack: () => string,
): Promise<string> {
  let reason: string | undefined;
  let checksum = "";
  world.network.filter = (from, to, message) => {
    if (from === follower.id && to === leader.id && message.type === "snapshotRefused") {
      if (message.checksum === checksum) reason = message.reason;
    }
    return true;
  };
  for (let tries = 0; reason === undefined && tries < 50; tries += 1) {
    checksum = attack();
    await world.run(20);
  }
  expect(reason).toBeDefined();
  return reason ?? "";
}

async function expectServiceAfterRestart({
  world,
  followers,
  follower,
}: StartedCluster & {
  follower: WorldNode;
}): Promise<void> {
  expect(follower.failures).toEqual([]);
  expect(follower.raft.snapshotIndex).toBeLessThan(INDEX);
  follower.crash();
  await follower.restart();
  const client = world.client();
  await client.start(followers[1]);
  await client.untilReply(client.acquire(`b-${client.nonce}`, 0));
  await expectAgreement(world);
  expect(follower.failures).toEqual([]);
}

describe("a snapshot that a peer made up", () => {
  const garbage = [Uint8Array.from({ length: 64 }, (_, at) => (at * 37) & 255)];
  const chunksOf = (index: number, stamp: number) => [...tableAt(index, stamp).snapshot(64)];
  const members = ({ raft }: WorldNode): Configuration => raft.configuration;
  const cases: readonly (readonly [string, (node: WorldNode) => Forged, RegExp])[] = [
    [
      "of random bytes",
      (node) => ({ chunks: garbage, configuration: encodeConfiguration(members(node)) }),
      /corrupt/,
    ],
    [
      "that is cut off",
      (node) => ({
        chunks: chunksOf(INDEX, node.table.stamp).slice(0, -1),
        configuration: encodeConfiguration(members(node)),
      }),
      /cut off/,
    ],
    [
      "of a later entry than it was offered for",
      (node) => ({
        chunks: chunksOf(INDEX + 1, node.table.stamp),
        configuration: encodeConfiguration(members(node)),
      }),
      /entry 10001/,
    ],
    [
      "whose time runs away",
      (node) => ({
        chunks: chunksOf(INDEX, STAMP_MAX),
        configuration: encodeConfiguration(members(node)),
      }),
      /time/,
    ],
    [
      "whose numbers of requests are nearly used up",
      (node) => countedTable(node, (state) => (state.nextNumber = SAFE_MAX - 6)),
      /nextNumber/,
    ],
    [
      "whose numbers of identities are nearly used up",
      (node) => countedTable(node, (state) => (state.access.nextIdentity = SAFE_MAX - 6)),
      /nextIdentity/,
    ],
    [
      "whose tokens are used up",
      (node) => countedTable(node, (state) => (state.tokens = new TokenCounter(SAFE_MAX))),
      /next ?[tT]oken/,
    ],
    [
      "in which nobody gets a lock for a thousand years",
      (node) => countedTable(node, (state) => (state.quietUntil = state.stamp + 2 ** 45)),
      /quiet/,
    ],
    [
      "of the last entry that there can be",
      (node) => countedTable(node, () => undefined, 2 ** 52),
      /entry 4503599627370496/,
    ],
    [
      "with voters that nobody knows",
      (node) => ({
        chunks: chunksOf(INDEX, node.table.stamp),
        configuration: encodeConfiguration({
          ...{ voters: [99], outgoing: [], learners: [] },
          addresses: [{ id: 99, address: "127.0.0.1:1" }],
        }),
      }),
      /members/,
    ],
  ];
  test.each(cases)(
    "%s is refused, and the node serves on, after a restart too",
    async (_, make, reason) => {
      const started = await scene();
      const { follower, say } = started;
      expect(await untilRefused(started, () => say(make(follower)))).toMatch(reason);
      await expectServiceAfterRestart(started);
    },
  );
});

test("an offer whose chunks never come does not keep a node from taking snapshots", async () => {
  const tuning = { snapshotLogBytes: 2_000, trailingLogBytes: 500 };
  const { world, leader, followers } = await startCluster({ tuning });
  const [follower] = followers;
  const { term, configuration } = follower.raft;
  const snapshot = {
    ...new SnapshotDigest().manifestOf({ index: INDEX, term }, encodeConfiguration(configuration)),
    chunkCount: 2 ** 32 - 1,
  };
  const offer = { type: "snapshotOffer", term, epoch: 1, snapshot } as const;
  follower.driver.peerEvents.onMessage(leader.id, 0, offer);
  await world.run(20);
  const client = world.client();
  await client.start(leader);
  for (let count = 0; count < 60; count += 1) {
    await client.untilReply(client.acquire(`k-${count}`, 0));
    await world.run(500);
  }
  expect(follower.raft.snapshotIndex).toBeGreaterThan(0);
  expect(follower.failures).toEqual([]);
});
