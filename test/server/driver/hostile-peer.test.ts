/**
 * Messages of a hostile peer that was admitted as a member. The driver must withstand them: nothing
 * enters the log that cannot be applied, since every later start would read it again.
 */
import { describe, expect, test } from "vitest";
import type { PeerMessage } from "../../../src/net/index.js";
import {
  LOCAL_CREDENTIAL,
  latestStampAfter,
  OP,
  RECORD_HEADER_BYTES,
  STAMP_MAX,
  STATUS,
  Writer,
  writeRecord,
  writeRequest,
} from "../../../src/protocol/index.js";
import { type Entry, encodeConfiguration } from "../../../src/raft/index.js";
import { encodeBatch, encodeCommand } from "../../protocol/command-bytes.js";
import { expectAgreement, type StartedCluster, startCluster } from "../world/cluster.js";
import { Operator } from "../world/operator.js";
import { World, type WorldNode } from "../world/world.js";
import type { WorldOptions } from "../world/world-time.js";

function recordOf(session: number, bytes: Uint8Array): Uint8Array {
  const record = new Uint8Array(RECORD_HEADER_BYTES + bytes.length);
  writeRecord(record, new DataView(record.buffer), 0, session, 1, bytes);
  return record;
}

/** The record of an order that came through the socket in the directory. */
function localRecordOf(bytes: Uint8Array): Uint8Array {
  const record = new Uint8Array(RECORD_HEADER_BYTES + bytes.length);
  writeRecord(record, new DataView(record.buffer), 0, 0, LOCAL_CREDENTIAL, bytes);
  return record;
}

const HEAD = { sequence: 1, mark: 1, acknowledged: [] };
/** Nothing here writes as much, so that no snapshot is taken unless one is asked for. */
const LATE_SNAPSHOTS = { snapshotLogBytes: 1 << 20, trailingLogBytes: 1 << 19 };
const KEEPALIVE = encodeCommand({ op: OP.keepalive, number: 1, mark: 1, acknowledged: [] });

/** A cluster in which something was granted, and an append that its leader could send next. */
async function scene(tuning: WorldOptions["tuning"] = {}) {
  const cluster = await startCluster({ tuning });
  const client = cluster.world.client();
  await client.start(cluster.leader);
  await client.untilReply(client.acquire("a", 0));
  await expectAgreement(cluster.world);
  const { leader, followers } = cluster;
  const [follower] = followers;
  const sayAll = (batches: readonly Uint8Array[], kind: Entry["kind"] = "command"): void => {
    const { term, lastIndex, lastTerm } = follower.raft;
    const entries = batches.map((data, at) => ({ index: lastIndex + 1 + at, term, kind, data }));
    const commitIndex = lastIndex + entries.length;
    const head = { from: leader.id, to: follower.id, term, epoch: 1, commitIndex };
    follower.driver.peerEvents.onMessage(leader.id, 0, {
      type: "raft",
      message: {
        ...{ type: "append", ...head, prevLogIndex: lastIndex, prevLogTerm: lastTerm, entries },
      },
    });
  };
  const say = (data: Uint8Array, kind?: Entry["kind"]): void => sayAll([data], kind);
  return { ...cluster, follower, say, sayAll };
}

async function expectService({ world, followers }: StartedCluster): Promise<void> {
  const client = world.client();
  await client.start(followers[1]);
  expect((await client.untilReply(client.acquire(`b-${client.nonce}`, 0))).result.status).toBe(
    STATUS.granted,
  );
  await expectAgreement(world);
}

describe("an append", () => {
  const whole = recordOf(1, KEEPALIVE);
  const cases: readonly (readonly [string, (node: WorldNode) => Uint8Array])[] = [
    ["of one byte", () => Uint8Array.of(1)],
    ["of nothing", () => new Uint8Array(0)],
    ["of another version", ({ table }) => encodeBatch(table.stamp, 1, 0, []).fill(2, 0, 1)],
    ["with fewer records than it says", ({ table }) => encodeBatch(table.stamp, 1, 2, [whole])],
    ["with more records than it says", ({ table }) => encodeBatch(table.stamp, 1, 0, [whole])],
    ["that is cut", ({ table }) => encodeBatch(table.stamp, 1, 1, [whole]).slice(0, -1)],
    ["whose time falls", ({ table }) => encodeBatch(table.stamp - 1, 1, 0, [])],
    ["whose time runs away", ({ table }) => encodeBatch(table.stamp + 2 ** 41, 1, 0, [])],
    ["of a time after the end", () => encodeBatch(STAMP_MAX + 1, 1, 0, [])],
    ["of no time", () => encodeBatch(0, 1, 0, [])],
    ["of a time beyond numbers", () => encodeBatch(2 ** 53, 1, 0, [])],
    ["of a date beyond dates", ({ table }) => encodeBatch(table.stamp, 2 ** 53 - 1, 0, [])],
  ];
  test.each(cases)(
    "%s gets into no log, and the node serves on, after a restart too",
    async (_, make) => {
      const started = await scene();
      const { world, follower, say } = started;
      const { lastIndex } = follower.raft;
      const data = make(follower);
      say(data);
      say(data);
      await world.run(1);
      expect(follower.raft.lastIndex).toBe(lastIndex);
      const lines = world.story.filter((line) => line.includes("entries that cannot be applied"));
      expect(lines).toHaveLength(1);
      await expectService(started);
      follower.crash();
      follower.start();
      await expectService(started);
    },
  );

  test("whose commands nobody can decode has no effect, and is reported", async () => {
    const { world, follower, say } = await scene();
    const { lastIndex } = follower.raft;
    const counted = follower.table.counts();
    say(encodeBatch(follower.table.stamp, 1, 1, [recordOf(1, Uint8Array.of(0xc1))]));
    await world.run(1);
    expect(follower.raft.appliedIndex).toBe(lastIndex + 1);
    expect(follower.failures).toEqual([]);
    expect(follower.table.counts()).toEqual(counted);
    const lines = world.story.filter((line) =>
      line.includes("an entry holds records that are not commands"),
    );
    expect(lines).toHaveLength(1);
  });
});

describe("cluster time", () => {
  /** Each is half a second before what would be too far from the one before. */
  const chain = (from: number): Uint8Array[] =>
    Array.from({ length: 8_194 }, (_, at) => encodeBatch(from + (at + 1) * 2 ** 40, 1, 0, []));

  test("does not run to its end by one append, however many entries that has", async () => {
    const started = await scene();
    const { world, follower, sayAll } = started;
    const { lastIndex } = follower.raft;
    sayAll(chain(follower.table.stamp));
    await world.run(1);
    expect(follower.raft.lastIndex).toBe(lastIndex);
    await expectService(started);
    expect(follower.table.stamp).toBeLessThan(2 ** 30);
  });

  test("stands still at its end, and locks are granted and given back as before", async () => {
    const world = new World({ nodeCount: 1, joinerCount: 1, diskMs: 0 });
    const [node] = world.nodes;
    if (node === undefined) throw new Error("no node");
    node.start();
    await world.untilLeader();
    const term = node.raft.term + 1;
    // As many appends as it takes, each of which is believed.
    for (let epoch = 1; epoch < 5_000 && node.table.stamp < STAMP_MAX; epoch += 1) {
      const { lastIndex: prevLogIndex, lastTerm: prevLogTerm } = node.raft;
      const data = encodeBatch(latestStampAfter(node.table.stamp), 1, 0, []);
      const entry: Entry = { index: prevLogIndex + 1, term, kind: "command", data };
      const head = { from: 2, to: node.id, term, epoch, prevLogIndex, prevLogTerm };
      const message = { ...head, commitIndex: entry.index, entries: [entry] };
      const { peerEvents } = node.driver;
      peerEvents.onMessage(2, 0, { type: "raft", message: { type: "append", ...message } });
      await world.run(1);
    }
    expect(node.table.stamp).toBe(STAMP_MAX);
    for (let life = 0; life < 2; life += 1) {
      await world.untilLeader();
      const client = world.client();
      await client.start(node);
      for (let count = 0; count < 3; count += 1) {
        const { result } = await client.untilReply(client.acquire("late", 0));
        expect(result.status).toBe(STATUS.granted);
        await client.untilReply(client.end(client.lastSequence));
      }
      expect([node.table.stamp, node.failures]).toEqual([STAMP_MAX, []]);
      node.crash();
      await node.restart();
    }
  });
});

test("a node that was made to believe what no other does asks for a snapshot, and comes back", async () => {
  const started = await scene(LATE_SNAPSHOTS);
  const { world, leader, followers, follower, sayAll } = started;
  const other = followers[1];
  const { lastIndex } = follower.raft;
  const stamp = follower.table.stamp + 2 ** 40;
  sayAll(Array.from({ length: 20 }, (_, at) => encodeBatch(stamp + at, 1, 0, [])));
  await world.run(5);
  expect(follower.raft.appliedIndex).toBe(lastIndex + 20);
  // Its leader goes on; the node can take nothing of that.
  const client = world.client();
  await client.start(other);
  while (leader.raft.commitIndex <= lastIndex + 30) {
    await client.untilReply(client.acquire("a-2", 0));
    await client.untilReply(client.end(client.lastSequence));
  }
  await world.until("a snapshot", () => follower.driver.status.snapshots.installedTotal > 0);
  await expectAgreement(world);
  expect(follower.table.stamp).toBeLessThan(stamp);
  expect(leader.driver.status.snapshots.takenTotal).toBe(1);
  const lines = world.story.filter((line) => line.includes("contradicts this node's"));
  expect(lines).toHaveLength(1);
});

test("entries at the edge of what is believed keep nobody from service once their node leads", async () => {
  const { world, leader, followers, follower, sayAll } = await scene();
  const latest = latestStampAfter(follower.table.stamp);
  sayAll([encodeBatch(latest, 1, 0, []), encodeBatch(latest + 1, 1, 0, [])]);
  await world.run(1);
  leader.crash();
  const client = world.client();
  await client.start(followers[1]);
  expect((await client.untilReply(client.acquire("b", 0))).result.status).toBe(STATUS.granted);
  expect(follower.raft.role).toBe("leader");
});

test("an answer that asks for any snapshot does not end a leader that has taken none", async () => {
  const started = await scene(LATE_SNAPSHOTS);
  const { world, leader, follower } = started;
  const head = { from: follower.id, to: leader.id, term: leader.raft.term };
  const nothing = { matchIndex: 0, rejectedIndex: 0, hintIndex: 0, hintTerm: 0 };
  const epoch = world.network.epochOf(leader.id, follower.id);
  const answer = { type: "appendReply", ...head, epoch, ...nothing } as const;
  const message = { ...answer, success: false, needsSnapshot: true };
  leader.driver.peerEvents.onMessage(follower.id, 0, { type: "raft", message });
  await world.until("a snapshot", () => leader.driver.status.snapshots.takenTotal > 0);
  await expectService(started);
});

describe("a configuration", () => {
  const of = (voters: readonly number[], address = "127.0.0.1:1"): Uint8Array => {
    const addresses = voters.map((id) => ({ id, address }));
    return encodeConfiguration({ voters, outgoing: [], learners: [], addresses });
  };
  const dialed = Buffer.from("127.0.0.1:1");
  const undialable = Buffer.from(of([1, 2, 3]));
  for (let at = undialable.indexOf(dialed); at >= 0; at = undialable.indexOf(dialed)) {
    undialable.write("xxxxxxxxxxx", at, "latin1");
  }

  test.each([
    ["of voters that nobody knows", of([99])],
    ["without one of the voters", of([1, 2])],
    ["with addresses that cannot be dialed", Uint8Array.from(undialable)],
  ])("%s gets into no log, and the node serves on, after a restart too", async (_, data) => {
    const started = await scene();
    const { world, follower, say } = started;
    const { lastIndex } = follower.raft;
    say(data, "configuration");
    await world.run(1);
    expect(follower.raft.lastIndex).toBe(lastIndex);
    expect(follower.raft.configuration.voters).toEqual([1, 2, 3]);
    follower.crash();
    follower.start();
    await expectService(started);
  });
});

test("forwarded records that no gateway would have taken are left out, and the rest counts", async () => {
  const started = await startCluster();
  const { world, leader, followers } = started;
  const client = world.client();
  await client.start(followers[0]);
  const proposed: number[] = [];
  const good: Uint8Array[] = [];
  world.network.filter = (_from, to, message) => {
    if (to === leader.id && message.type === "forward") {
      good.push(message.records);
      return false;
    }
    return true;
  };
  const sequence = client.acquire("k", 0);
  await world.until("a forward", () => good.length > 0);
  world.network.filter = () => true;
  const [mine = new Uint8Array(0)] = good;
  const bad = recordOf(7, Uint8Array.of(0x93, 1));
  const records = new Uint8Array([...bad, ...mine, ...recordOf(8, new Uint8Array(0))]);
  const { term, lastIndex } = leader.raft;
  leader.driver.peerEvents.onMessage(followers[0].id, 0, { type: "forward", id: 1, term, records });
  expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
  for (let index = lastIndex + 1; index <= leader.raft.lastIndex; index += 1) {
    proposed.push(leader.raft.entry(index).data.length);
  }
  expect(proposed[0]).toBe(21 + mine.length);
  expect(world.story.join("\n")).toContain("forwarded records are not commands");
  await expectAgreement(world);
});

test("a stolen node is not heard any more once its removal is applied", async () => {
  const { world, leader, followers } = await startCluster();
  const [stolen, other] = followers;
  const operator = new Operator(world, leader);
  expect(await operator.change("remove", stolen.id)).toBe(STATUS.ok);
  const { term } = leader.raft;
  const putMallory = { op: OP.putIdentity, ...HEAD, mark: 0, name: "mallory" } as const;
  const writer = new Writer();
  writeRequest(writer, {
    op: OP.changeMember,
    id: 1,
    action: "remove",
    node: other.id,
    address: undefined,
  });
  const said: PeerMessage[] = [
    { type: "forward", id: 1, term, records: localRecordOf(encodeCommand(putMallory)) },
    { type: "operation", id: 2, term, credential: LOCAL_CREDENTIAL, request: writer.take() },
    { type: "members", index: 2 ** 40, configuration: Uint8Array.of(1) },
    {
      type: "raft",
      message: {
        ...{ type: "vote", from: stolen.id, to: leader.id, term: term + 9, epoch: 99 },
        ...{ lastLogIndex: 2 ** 40, lastLogTerm: term + 8, isTransfer: true },
      },
    },
  ];
  for (const message of said) leader.driver.peerEvents.onMessage(stolen.id, 0, message);
  await world.run(1_000);
  expect([leader.raft.role, leader.raft.term]).toEqual(["leader", term]);
  expect(leader.raft.configuration.voters).toContain(other.id);
  expect(leader.table.accessRevision).toBe(0);
  // The same from a member, of which each node believes everything.
  for (const message of said.slice(0, 2)) {
    leader.driver.peerEvents.onMessage(other.id, 0, message);
  }
  await world.until("mallory", () => leader.table.accessRevision > 0);
});
