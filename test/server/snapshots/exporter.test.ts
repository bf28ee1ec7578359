/**
 * Snapshots that operators save: their contents, how long they are kept, and when there is none.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS, HoldfastError } from "../../../src/errors/index.js";
import { TableRestore } from "../../../src/lockfsm/index.js";
import {
  type Answer,
  MESSAGE,
  OP,
  type Operation,
  type SnapshotView,
  STATUS,
} from "../../../src/protocol/index.js";
import { Attachment } from "../../../src/server/commands/attachments.js";
import { SnapshotDigest } from "../../../src/storage/index.js";
import { startCluster } from "../world/cluster.js";
import { RecordingConnection } from "../world/recording-connection.js";
import type { TestClient } from "../world/test-client.js";
import type { World } from "../world/world.js";
import { type SnapshotNode, SnapshotWorld } from "./snapshot-world.js";

type ReadyView = Extract<SnapshotView, { readonly isReady: true }>;

/** An operator's connection to a node of a `SnapshotWorld`. */
class Saver {
  readonly connection = new RecordingConnection(1);
  readonly attachment = new Attachment(this.connection);
  readonly node: SnapshotNode;
  #id = 0;

  constructor(node: SnapshotNode) {
    this.node = node;
  }

  save(): number {
    this.#id += 1;
    this.node.wake();
    const operation = { op: OP.saveSnapshot, id: this.#id, isStale: false } as const;
    this.node.snapshots.exporter.save(this.attachment, operation);
    return this.#id;
  }

  read(checksum: string, chunk: number): number {
    this.#id += 1;
    this.node.wake();
    const operation = { op: OP.readSnapshot, id: this.#id, checksum, chunk } as const;
    this.node.snapshots.exporter.read(this.attachment, operation);
    return this.#id;
  }

  answer(id: number): Answer | undefined {
    return this.connection.sent.find(
      (message): message is Answer => message.kind === MESSAGE.answer && message.id === id,
    );
  }

  /** Asks until it is there. */
  async saved(world: SnapshotWorld): Promise<ReadyView> {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      const id = this.save();
      await world.until("an answer", () => this.answer(id) !== undefined);
      const { status, payload } = this.answer(id) as Answer;
      if (status !== STATUS.ok) throw new Error(`refused with ${status}`);
      const view = payload as SnapshotView;
      if (view.isReady) return view;
    }
    throw new Error("no snapshot after 100 questions");
  }

  async chunk(world: SnapshotWorld, checksum: string, chunk: number): Promise<Uint8Array> {
    const id = this.read(checksum, chunk);
    await world.until("a chunk", () => this.answer(id) !== undefined);
    const { status, payload } = this.answer(id) as Answer;
    if (status !== STATUS.ok) throw new Error(`refused with ${status}`);
    return Buffer.from((payload as { bytes: string }).bytes, "base64");
  }

  async all(world: SnapshotWorld, view: ReadyView): Promise<Uint8Array[]> {
    const chunks: Uint8Array[] = [];
    for (let number = 0; number < view.chunkCount; number += 1) {
      chunks.push(await this.chunk(world, view.checksum, number));
    }
    return chunks;
  }

  close(): void {
    this.attachment.isClosed = true;
    this.node.wake();
  }
}

function hashOf(chunks: readonly Uint8Array[]): string {
  const restore = new TableRestore();
  for (const chunk of chunks) restore.add(chunk);
  const finishing = restore.finish();
  for (;;) {
    const step = finishing.next();
    if (step.done === true) return step.value.hash();
  }
}

function checksumOf(chunks: readonly Uint8Array[], view: ReadyView): string {
  const digest = new SnapshotDigest();
  for (const chunk of chunks) digest.add(chunk);
  return digest.manifestOf(view, Buffer.from(view.configuration, "hex")).checksum;
}

/** Enough log that no snapshot is taken except for an operator. */
const RARELY = { snapshotLogBytes: 1 << 30 };

describe("a snapshot for an operator", () => {
  test("is taken when it is asked for, and has all that was applied by then", async () => {
    const world = new SnapshotWorld();
    const node = await world.add(RARELY);
    world.acquire(50);
    node.commitTo(world.entries.length);
    await world.until("the entries", () => node.appliedIndex === world.entries.length);
    expect(node.snapshots.status.index).toBe(0);
    const saver = new Saver(node);
    const view = await saver.saved(world);
    expect(view).toMatchObject({ nodeId: node.id, index: 51, byteLength: expect.any(Number) });
    const chunks = await saver.all(world, view);
    expect(chunks.length).toBeGreaterThan(3);
    expect(checksumOf(chunks, view)).toBe(view.checksum);
    expect(hashOf(chunks)).toBe(world.reference.hash());
    expect(node.snapshots.status.exportedTotal).toBe(1);
  });

  test("is the newest there is, if nothing was applied since", async () => {
    const world = new SnapshotWorld();
    const node = await world.add(RARELY);
    world.acquire(10);
    node.commitTo(world.entries.length);
    await world.until("the entries", () => node.appliedIndex === world.entries.length);
    const first = await new Saver(node).saved(world);
    const second = await new Saver(node).saved(world);
    expect(second.checksum).toBe(first.checksum);
    expect(node.snapshots.status.takenTotal).toBe(1);
    world.acquire(1);
    node.commitTo(world.entries.length);
    await world.until("the entry", () => node.appliedIndex === world.entries.length);
    expect((await new Saver(node).saved(world)).index).toBe(first.index + 1);
  });

  test("stays to be read while newer ones come, and goes with its reader", async () => {
    const world = new SnapshotWorld();
    const node = await world.addLeader();
    const saver = new Saver(node);
    const view = await saver.saved(world);
    const checksums = async (): Promise<string[]> =>
      (await node.store.list()).map(({ checksum }) => checksum);
    for (let round = 0; round < 3; round += 1) {
      const { takenTotal } = node.snapshots.status;
      world.acquire(60);
      node.commitTo(world.entries.length);
      await world.until("a snapshot", () => node.snapshots.status.takenTotal > takenTotal);
    }
    await world.run(50);
    expect(await checksums()).toContain(view.checksum);
    expect(checksumOf(await saver.all(world, view), view)).toBe(view.checksum);
    saver.close();
    world.acquire(60);
    node.commitTo(world.entries.length);
    for (let left = 100; left > 0 && (await checksums()).includes(view.checksum); left -= 1) {
      await world.run(10);
    }
    expect(await checksums()).not.toContain(view.checksum);
    expect(node.failure).toBe(undefined);
  });

  test("is told to be on its way before anybody takes its node for dead", async () => {
    const world = new SnapshotWorld();
    const node = await world.add(RARELY);
    world.acquire(10);
    node.commitTo(world.entries.length);
    await world.until("the entries", () => node.appliedIndex === world.entries.length);
    let open = (): void => {};
    node.store.gate = (call) => {
      if (call !== "create") return;
      return new Promise<void>((resolve) => {
        open = resolve;
      });
    };
    const saver = new Saver(node);
    const first = saver.save();
    const askedAtMs = world.nowMs;
    await world.until("an answer", () => saver.answer(first) !== undefined);
    expect(saver.answer(first)).toMatchObject({ status: STATUS.ok, payload: { isReady: false } });
    expect(world.nowMs - askedAtMs).toBeLessThanOrEqual(110);
    // A second question takes the place of the first one.
    const [second, third] = [saver.save(), saver.save()];
    expect(saver.answer(second)).toMatchObject({ payload: { isReady: false } });
    node.store.gate = () => {};
    open();
    await world.until("it", () => saver.answer(third) !== undefined);
    expect(saver.answer(third)).toMatchObject({ payload: { isReady: true, index: 11 } });
  });

  test("is forgotten when its reader asks for nothing for minutes", async () => {
    const world = new SnapshotWorld();
    const node = await world.addLeader();
    const saver = new Saver(node);
    const { checksum } = await saver.saved(world);
    world.nowMs += 60_000;
    await world.run(2);
    node.wake();
    await world.run(2);
    const late = saver.read(checksum, 0);
    expect(saver.answer(late)?.status).toBe(ERROR_NUMBERS.COMPACTED);
  });

  test("is refused, with what is in the way, when there cannot be one", async () => {
    const world = new SnapshotWorld();
    const empty = await world.add(RARELY);
    const early = new Saver(empty);
    expect(early.answer(early.save())?.status).toBe(ERROR_NUMBERS.UNAVAILABLE);

    const node = await world.add(RARELY);
    world.acquire(10);
    node.commitTo(world.entries.length);
    await world.until("the entries", () => node.appliedIndex === world.entries.length);
    node.store.gate = (call) => {
      if (call === "append") throw new HoldfastError("DISK_FULL", "no room");
    };
    const saver = new Saver(node);
    const id = saver.save();
    await world.until("an answer", () => saver.answer(id) !== undefined);
    expect(saver.answer(id)).toMatchObject({
      status: ERROR_NUMBERS.DISK_FULL,
      payload: { message: expect.stringContaining("no room") },
    });
    // There is room again.
    node.store.gate = () => {};
    expect((await saver.saved(world)).index).toBe(11);
    expect(node.failure).toBe(undefined);
  });

  test("leaves room for others: few at a time, and few chunks of each", async () => {
    const world = new SnapshotWorld();
    const node = await world.addLeader();
    const savers = Array.from({ length: 4 }, () => new Saver(node));
    const views: ReadyView[] = [];
    for (const saver of savers) views.push(await saver.saved(world));
    const [first, view] = [savers[0] as Saver, views[0] as ReadyView];
    const fifth = new Saver(node);
    expect(fifth.answer(fifth.save())?.status).toBe(ERROR_NUMBERS.BUSY);
    const asked = Array.from({ length: 33 }, () => first.read(view.checksum, 0));
    expect(first.answer(asked[32] as number)?.status).toBe(ERROR_NUMBERS.BUSY);
    expect(first.answer(asked[31] as number)).toBe(undefined);
    await world.until("a chunk", () => first.answer(asked[31] as number) !== undefined);
    const behind = first.read(view.checksum, view.chunkCount);
    expect(first.answer(behind)?.status).toBe(ERROR_NUMBERS.INVALID_ARGUMENT);
    expect(first.answer(first.read("0".repeat(64), 0))?.status).toBe(ERROR_NUMBERS.COMPACTED);
    const other = new Saver(node);
    expect(other.answer(other.read(view.checksum, 0))?.status).toBe(ERROR_NUMBERS.COMPACTED);
    for (const saver of savers) saver.close();
    await world.run(2);
    expect((await fifth.saved(world)).isReady).toBe(true);
  });

  test("ends the node when the store has damaged it", async () => {
    const world = new SnapshotWorld();
    const node = await world.addLeader();
    const saver = new Saver(node);
    const { checksum } = await saver.saved(world);
    const broken = new Error("broken readChunk");
    node.store.gate = (call) => {
      if (call === "readChunk") throw broken;
    };
    saver.read(checksum, 0);
    await world.until("failure", () => node.failure !== undefined);
    expect(node.failure).toBe(broken);
  });
});

describe("in a cluster", () => {
  // Small enough for the world to let stores take their time.
  const tuning = { snapshotLogBytes: 8 << 20, trailingLogBytes: 1 << 20 };
  let lastId = 0;

  async function ask(world: World, operator: TestClient, operation: Operation): Promise<Answer> {
    operator.operate(operation);
    await world.until("an answer", () => operator.answer(operation.id) !== undefined);
    return operator.answer(operation.id) as Answer;
  }

  async function saved(world: World, operator: TestClient, isStale: boolean): Promise<Answer> {
    for (;;) {
      lastId += 1;
      const answer = await ask(world, operator, { op: OP.saveSnapshot, id: lastId, isStale });
      const view = answer.payload as SnapshotView;
      if (answer.status !== STATUS.ok || view.isReady) return answer;
    }
  }

  test("any node gives one with everything that was acknowledged before", async () => {
    const { world, leader, followers } = await startCluster({ tuning });
    const client = world.client();
    await client.start(leader);
    for (const node of [leader, ...followers]) {
      await client.untilReply(client.acquire(`k${node.id}`, 0));
      const operator = world.client();
      operator.connect(node);
      const { commitIndex } = leader.raft;
      const { payload } = await saved(world, operator, false);
      const view = payload as ReadyView;
      expect(view.index).toBeGreaterThanOrEqual(commitIndex);
      expect(view.nodeId).toBe(node.id);
      const chunks: Uint8Array[] = [];
      for (let chunk = 0; chunk < view.chunkCount; chunk += 1) {
        lastId += 1;
        const { checksum } = view;
        const part = { op: OP.readSnapshot, id: lastId, checksum, chunk } as const;
        const { payload: told } = await ask(world, operator, part);
        chunks.push(Buffer.from((told as { bytes: string }).bytes, "base64"));
      }
      expect(checksumOf(chunks, view)).toBe(view.checksum);
      operator.disconnect();
    }
  });

  test("a node that was cut off gives none, but for one that may be stale", async () => {
    const { world, leader, followers } = await startCluster({ tuning });
    const [node, other] = followers;
    const client = world.client();
    await client.start(leader);
    await client.untilReply(client.acquire("k", 0));
    await world.until("the entry", () => node.raft.appliedIndex === leader.raft.commitIndex);
    world.network.cut([node.id], [leader.id, other.id]);
    const operator = world.client();
    operator.connect(node);
    expect((await saved(world, operator, false)).status).toBe(ERROR_NUMBERS.UNAVAILABLE);
    operator.disconnect();
    operator.connect(node);
    const { status, payload } = await saved(world, operator, true);
    expect([status, (payload as ReadyView).index]).toEqual([STATUS.ok, node.raft.appliedIndex]);
  });
});
