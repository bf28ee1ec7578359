/**
 * Attacks on the peer ports of a real cluster that once ended its service for good or kept members
 * out. The attacker has raw sockets and, for the worst attacks, what only a member or a reader of
 * its disk can know: the id of the cluster and the births of directories.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import type { NodeStatus } from "../../../src/client/admin/cluster-status.js";
import { encodeHello, PEER_CLOSE } from "../../../src/net/peers/hello.js";
import type { PeerIdentity, PeerMessage } from "../../../src/net/types.js";
import { encodeConfiguration, type Message } from "../../../src/raft/index.js";
import { readIdentity } from "../../../src/storage/index.js";
import { frameOf } from "../../net/peers/messages.js";
import { RawLink } from "../../net/peers/raw-link.js";
import {
  type ClusterProcess,
  type NodeHandle,
  runCli,
  startCluster,
} from "../world/cluster-process.js";
import { until } from "../world/process-life.js";

let cluster: ClusterProcess;
let peerPorts: readonly number[] = [];
beforeAll(async () => {
  const ports = await freePorts(6);
  peerPorts = ports.slice(3);
  cluster = await startCluster({ ports });
});
afterAll(() => cluster?.stop());

const TERM = 2 ** 52;

/** More of the page than the SDK looks at. */
interface Status extends NodeStatus {
  readonly clusterId: string;
  readonly incarnation: number;
  readonly peers: readonly { readonly id: number; readonly endpoint: string }[];
}

async function statusOf(node: NodeHandle): Promise<Status> {
  const status = (await node.status()) as Status | undefined;
  if (status === undefined) throw new Error(`node ${node.id} does not answer`);
  return status;
}

/** What the node says first, as it is on its disk. */
async function identityOf(node: NodeHandle): Promise<PeerIdentity> {
  const stored = await readIdentity(join(cluster.directory, `n${node.id}`));
  if (stored === undefined) throw new Error(`no directory of node ${node.id}`);
  const { birth, origin, clusterId } = stored;
  const { incarnation } = await statusOf(node);
  return { nodeId: node.id, clusterId, birth, origin, incarnation, advertise: "ws://evil:1" };
}

/** A link to `to` that was admitted as one from `from`. */
async function poseAs(from: NodeHandle, to: NodeHandle): Promise<RawLink> {
  return enter(await identityOf(from), to);
}

async function enter(identity: PeerIdentity, to: NodeHandle): Promise<RawLink> {
  const connection = await greet(identity, to);
  await connection.heard();
  return connection;
}

async function greet(identity: PeerIdentity, to: NodeHandle): Promise<RawLink> {
  const connection = await RawLink.to(peerPorts[to.id - 1] ?? 0);
  connection.send(encodeHello(identity, to.id));
  return connection;
}

function say(connection: RawLink, ...messages: readonly Message[]): void {
  const peerMessages = messages.map((message): PeerMessage => ({ type: "raft", message }));
  connection.send(frameOf(peerMessages.map((message) => ({ group: 0, message }))));
}

/** Locks are granted at every node. */
async function expectService(): Promise<void> {
  await cluster.leader();
  for (const { endpoint } of cluster.nodes) {
    const ran = await runCli(["run", `--endpoints=${endpoint}`, "work", "--", "true"]);
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
  }
}

async function expectMembersOnly(): Promise<void> {
  for (const node of cluster.nodes) {
    const { peers } = await statusOf(node);
    const others = cluster.nodes.filter(({ id }) => id !== node.id);
    expect(peers.map(({ endpoint }) => endpoint)).toEqual(others.map(({ endpoint }) => endpoint));
  }
}

test("a web page gets no peer link and hears nothing of the cluster", async () => {
  const { clusterId } = await statusOf(cluster.node(1));
  for (const port of peerPorts) {
    const page = await fetch(`http://127.0.0.1:${port}/peer`, {
      ...{ method: "POST", headers: { Origin: "http://evil.example" }, body: "HFPL\0\x02" },
    });
    const text = await page.text();
    expect([page.status, text]).toEqual([400, expect.stringContaining("do not speak HTTP")]);
    expect(text).not.toContain(clusterId);
    const { birth, nodeId } = await identityOf(cluster.node(1));
    const stranger = await RawLink.to(port);
    const identity = { nodeId, birth, clusterId: "ab".repeat(16), incarnation: 1 };
    stranger.send(encodeHello({ ...identity, origin: "joined", advertise: "" }, 2));
    const { code, reason } = await stranger.ended;
    expect([code, reason]).toEqual([PEER_CLOSE.wrongCluster, "another cluster"]);
    expect(reason).not.toContain(clusterId);
  }
});

test("a term of 2^52 in any message is taken up by nobody: elections go on", async () => {
  for (const from of cluster.nodes) {
    for (const to of cluster.nodes) {
      if (from === to) continue;
      const head = { from: from.id, to: to.id, term: TERM, epoch: 1 };
      const connection = await poseAs(from, to);
      say(
        connection,
        { type: "voteReply", ...head, granted: false },
        { type: "heartbeat", ...head, commitIndex: 0, round: 1 },
        { type: "vote", ...head, lastLogIndex: 2 ** 40, lastLogTerm: 5, isTransfer: true },
      );
      // No frame has this kind, so the node ends the link when it has read all that came before.
      connection.frame(99);
      await connection.ended;
    }
  }
  const leader = await cluster.leader();
  await leader.kill();
  const next = await cluster.leader();
  expect(next.id).not.toBe(leader.id);
  await leader.start();
  await expectService();
  for (const node of cluster.nodes) expect((await statusOf(node)).term).toBeLessThan(1_000);
});

test("an entry of one byte gets into no log: every node lives on and starts again", async () => {
  await expectService();
  const leader = await cluster.leader();
  const followers = cluster.nodes.filter(({ id }) => id !== leader.id);
  const pids = cluster.nodes.map(({ pid }) => pid);
  // Nothing is written while nobody has a session.
  let last = 0;
  await until("the logs to be equal", async () => {
    const indexes = await Promise.all(
      cluster.nodes.map(async (node) => (await statusOf(node)).appliedIndex),
    );
    last = indexes[0] ?? 0;
    return new Set(indexes).size === 1;
  });
  const { term } = await statusOf(leader);
  for (const follower of followers) {
    const connection = await poseAs(leader, follower);
    const data = Uint8Array.of(1);
    for (let index = last + 1; index <= last + 3; index += 1) {
      say(connection, {
        ...{ type: "append", from: leader.id, to: follower.id, term, epoch: 1 },
        ...{ prevLogIndex: last, prevLogTerm: term, commitIndex: last + 1 },
        entries: [{ index: last + 1, term, kind: "command", data }],
      });
    }
    const refused = "entries that cannot be applied";
    await until("the refusal", () => follower.stderr.includes(refused) || !follower.isRunning);
    connection.close(PEER_CLOSE.goingAway, "enough");
  }
  await expectService();
  expect(cluster.nodes.map(({ pid }) => pid)).toEqual(pids);
  await Promise.all(cluster.nodes.map((node) => node.kill()));
  await Promise.all(cluster.nodes.map((node) => node.start()));
  await expectService();
});

test("a hello that takes a node's place keeps the node out neither now nor after its restart", async () => {
  for (const posed of cluster.nodes) {
    const real = await identityOf(posed);
    const strange = { birth: randomBytes(8).toString("hex"), origin: "joined" as const };
    const hellos: readonly (readonly [Partial<PeerIdentity>, number])[] = [
      [{ ...strange, incarnation: 2 ** 53 - 1 }, PEER_CLOSE.farIncarnation],
      [{ incarnation: 2 ** 53 - 1 }, PEER_CLOSE.farIncarnation],
      [{ ...strange, incarnation: real.incarnation + 1 }, PEER_CLOSE.unproven],
      [{ ...strange, incarnation: real.incarnation + 1_000 }, PEER_CLOSE.unproven],
    ];
    for (const to of cluster.nodes) {
      if (to === posed) continue;
      for (const [change, code] of hellos) {
        const connection = await RawLink.to(peerPorts[to.id - 1] ?? 0);
        connection.send(encodeHello({ ...real, ...change }, to.id));
        expect(await connection.ended).toMatchObject({ code });
      }
    }
  }
  await expectMembersOnly();
  for (const node of cluster.nodes) {
    const others = cluster.nodes.filter((other) => other !== node);
    await node.restart();
    // Without one of the others nothing is granted unless the node that came back counts.
    const [away] = others;
    await away?.kill();
    await cluster.leader();
    await away?.start();
  }
  await expectService();
  await expectMembersOnly();
});

/** Says four bytes of a hello a second until the connection ends. */
function lisp(link: RawLink): void {
  link.write(Buffer.from("0000090001", "hex"));
  const timer = setInterval(() => link.write(Buffer.of(0)), 250);
  link.stream.on("close", () => clearInterval(timer));
}

test("connections that never end their hello keep no member out: a leader that restarts is let in", async () => {
  const leader = await cluster.leader();
  const [follower, paused] = cluster.nodes.filter(({ id }) => id !== leader.id);
  if (follower === undefined || paused === undefined) throw new Error("two followers are needed");
  let isOver = false;
  let opened = 0;
  /** Comes again as soon as it was sent away. */
  const lurk = async (port: number): Promise<void> => {
    while (!isOver) {
      try {
        const connection = await RawLink.to(port);
        opened += 1;
        lisp(connection);
        await connection.ended;
      } catch {
        // Sent away before it stood.
      }
      await new Promise(setImmediate);
    }
  };
  const lurkers = [follower, paused].flatMap(({ id }) =>
    Array.from({ length: 64 }, () => lurk(peerPorts[id - 1] ?? 0)),
  );
  await until("the sockets to be open", () => opened >= 128);
  await leader.kill("SIGTERM");
  paused.pause();
  await leader.start();
  const isServing = async (): Promise<boolean> => {
    const [one, two] = await Promise.all([leader.status(), follower.status()]);
    return one?.leader !== 0 && one?.leader === two?.leader && one?.leader !== paused.id;
  };
  await until("a leader without the paused node", isServing);
  paused.resume();
  isOver = true;
  await Promise.all(lurkers);
  await expectService();
});

// The last one, because the cluster has one node less after it.
test("a stolen node gets no link after its removal, whatever it said of members before", async () => {
  const leader = await cluster.leader();
  const [stolen, other] = cluster.nodes.filter(({ id }) => id !== leader.id);
  if (stolen === undefined || other === undefined) throw new Error("two followers are needed");
  const identity = await identityOf(stolen);
  await stolen.kill();
  const voters = cluster.nodes.map(({ id }) => id);
  const addresses = voters.map((id) => ({ id, address: `127.0.0.1:${peerPorts[id - 1]}` }));
  const configuration = encodeConfiguration({ voters, outgoing: [], learners: [], addresses });
  const message: PeerMessage = { type: "members", index: 2 ** 50, configuration };
  for (const to of [leader, other]) {
    const connection = await enter(identity, to);
    connection.send(frameOf([{ group: 0, message }]));
    // No frame has this kind, so the node ends the link when it has read all that came before.
    connection.frame(99);
    await connection.ended;
  }
  await cluster.operate("member", "remove", String(stolen.id));
  for (const to of [leader, other]) {
    await until(`node ${to.id} to let it in no more`, async () => {
      const connection = await greet(identity, to);
      connection.close(PEER_CLOSE.goingAway, "enough");
      return (await connection.ended).code === PEER_CLOSE.notAMember;
    });
  }
});
