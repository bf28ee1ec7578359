/**
 * Real nodes, on real files and sockets, whose logs are cut every few kilobytes: a node that was
 * away installs a snapshot, all nodes start again from snapshot and log, and none needs the
 * founders any more.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { STATUS } from "../../../src/protocol/index.js";
import { type NodeOptions, type RunningNode, startNode } from "../../../src/server/index.js";
import { SocketClient } from "../world/socket-client.js";

const LOOPBACK = "127.0.0.1";
const TUNING = {
  snapshotLogBytes: 8_000,
  trailingLogBytes: 1_000,
  segmentBytes: 64 << 10,
  batchBytesMax: 16 << 10,
};
const IDS = [1, 2, 3];

interface Status {
  readonly leader: number;
  readonly commitIndex: number;
  readonly firstIndex: number;
  readonly snapshotIndex: number;
  readonly snapshots: { readonly takenTotal: number; readonly installedTotal: number };
}

async function statusOf(node: RunningNode): Promise<Status> {
  const response = await fetch(`http://${LOOPBACK}:${node.clientPort}/status`);
  return (await response.json()) as Status;
}

async function until(node: RunningNode, isSo: (status: Status) => boolean): Promise<Status> {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    const status = await statusOf(node);
    if (isSo(status)) return status;
    if (performance.now() > deadlineMs)
      throw new Error(`waited in vain: ${JSON.stringify(status)}`);
    await delay(20);
  }
}

describe("three nodes that cut their logs", () => {
  let directory: string;
  let founding: Map<number, NodeOptions>;
  const running = new Map<number, RunningNode>();

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-node-"));
    const ports = await freePorts(IDS.length);
    const members = IDS.map((id, at) => ({
      id,
      address: { host: LOOPBACK, port: ports[at] ?? 0 },
    }));
    founding = new Map(
      members.map(({ id, address }) => [
        id,
        {
          id,
          dataDirectory: join(directory, `n${id}`),
          listen: { host: LOOPBACK, port: 0 },
          peerListen: address,
          initialCluster: members,
          tuning: TUNING,
        },
      ]),
    );
  });

  afterEach(async () => {
    for (const id of [...running.keys()]) await stop(id);
    rmSync(directory, { recursive: true, force: true });
  });

  async function start(id: number, isFounding = true): Promise<RunningNode> {
    const { initialCluster, ...rest } = founding.get(id) as NodeOptions;
    const isKnown = isFounding && initialCluster !== undefined;
    const node = await startNode(isKnown ? { ...rest, initialCluster } : rest);
    running.set(id, node);
    return node;
  }

  async function stop(id: number): Promise<void> {
    await running.get(id)?.stop();
    running.delete(id);
  }

  /** Takes and gives back locks until the log does not hold `index` any more. */
  async function fillBeyond(node: RunningNode, index: number): Promise<void> {
    const client = await SocketClient.connect(node.endpoint);
    await client.attach({ ttlMs: 60_000 });
    for (let first = 1; (await statusOf(node)).firstIndex <= index + 1; first += 40) {
      const acquires = Array.from({ length: 20 }, (_, at) => first + at);
      await Promise.all(acquires.map((sequence) => client.acquire(`f${sequence}`, sequence)));
      await Promise.all(acquires.map((sequence) => client.end(sequence, sequence + 20)));
    }
    client.close();
  }

  test("lose nothing: not by a snapshot sent, nor by starting from one without the founders", async () => {
    const [one] = await Promise.all(IDS.map((id) => start(id)));
    if (one === undefined) throw new Error("no node");
    const holder = await SocketClient.connect(one.endpoint);
    const { session } = await holder.attach({ ttlMs: 120_000 });
    const { result } = await holder.acquire("kept", 1);
    expect(result.status).toBe(STATUS.granted);
    const { commitIndex } = await until(
      running.get(3) as RunningNode,
      ({ leader }) => leader !== 0,
    );
    await stop(3);
    await fillBeyond(one, commitIndex + 20);

    const three = await start(3);
    const taken = await until(three, ({ snapshots }) => snapshots.installedTotal === 1);
    expect(taken.snapshotIndex).toBeGreaterThan(commitIndex);
    await fillBeyond(one, taken.commitIndex);
    for (const node of running.values()) {
      await until(node, ({ snapshotIndex }) => snapshotIndex > taken.snapshotIndex);
    }

    for (const id of IDS) await stop(id);
    const again = await Promise.all(IDS.map((id) => start(id, false)));
    for (const node of again) {
      await until(node, ({ leader, snapshotIndex }) => leader !== 0 && snapshotIndex > 0);
      const client = await SocketClient.connect(node.endpoint);
      const { payload } = await client.inspect("kept");
      expect(payload).toMatchObject({ holds: [{ session }] });
      client.close();
    }
    const back = await SocketClient.connect(again[2]?.endpoint ?? "", holder.nonce, holder.attempt);
    expect(await back.attach({ session })).toMatchObject({ session, highestSequence: 1 });
    const released = await back.end(1, 2);
    expect(released.result.status).toBe(STATUS.released);
    back.close();
  });
});
