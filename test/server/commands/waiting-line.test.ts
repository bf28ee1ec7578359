/** Fair shares of the waiting line: between clients of one node, and between nodes. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors.js";
import {
  BATCH_HEADER_BYTES,
  type Command,
  decodeBatchHeader,
  decodeCommands,
  encodeCommand,
  OP,
} from "../../../src/protocol/index.js";
import { type Attachment, Attachments } from "../../../src/server/commands/attachments.js";
import { KeptCommand } from "../../../src/server/commands/kept-commands.js";
import { ForwardedChunk, WaitingLine } from "../../../src/server/commands/waiting-line.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import { RecordingConnection } from "../world/recording-connection.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

/** Some hundred commands. */
const BATCH = 32 << 10;

/** Clients of one node by the number of their session. */
class Crowd {
  readonly line = new WaitingLine();
  readonly #attachments = new Attachments({ onTold: () => {}, onCutOff: () => {} });
  #order = 0;

  client(session: number): Attachment {
    const connection = new RecordingConnection(session);
    connection.session = session;
    connection.attachEpoch = 1;
    return this.#attachments.add(connection);
  }

  send(client: Attachment, sequence: number, value = ""): KeptCommand {
    this.#order += 1;
    const command: Command = {
      ...{ op: OP.update, sequence, mark: 1, acknowledged: [] },
      ...{ target: 1, value },
    };
    const bytes = encodeCommand(command);
    const kept = new KeptCommand(client, command, bytes, this.#order);
    this.line.push(kept, 0);
    return kept;
  }

  /** Sessions of the next entry, or of the next message to the leader. */
  take(bytesMax = BATCH): number[] {
    const { bytes } = this.line.take(bytesMax, 0);
    return decodeCommands(bytes, 0).map(({ session }) => session);
  }

  chunk(from: number, bytesMax = BATCH): ForwardedChunk {
    const { bytes } = this.line.take(bytesMax, 0);
    return new ForwardedChunk(from, 1, bytes, decodeCommands(bytes, 0));
  }
}

describe("a waiting line", () => {
  test("gives a newcomer a place in the next entry when ten sessions have a thousand each", () => {
    const crowd = new Crowd();
    for (let session = 1; session <= 10; session += 1) {
      const client = crowd.client(session);
      for (let sequence = 1; sequence <= 1_000; sequence += 1) crowd.send(client, sequence);
    }
    crowd.take();
    crowd.send(crowd.client(11), 1);
    expect(crowd.line.bytes).toBeGreaterThan(2 * BATCH);
    expect(crowd.take()).toContain(11);
  });

  test("shares an entry by bytes: large commands get no more of it than small ones", () => {
    const crowd = new Crowd();
    const [small, large] = [crowd.client(1), crowd.client(2)];
    for (let sequence = 1; sequence <= 4_000; sequence += 1) {
      crowd.send(small, sequence);
      crowd.send(large, sequence, "x".repeat(1_000));
    }
    let smallBytes = 0;
    let bytes = 0;
    for (let entries = 0; entries < 2; entries += 1) {
      const { items } = crowd.line.take(BATCH, 0);
      for (const item of items) {
        bytes += item.recordBytes;
        if (item instanceof KeptCommand && item.attachment === small) {
          smallBytes += item.recordBytes;
        }
      }
    }
    expect(smallBytes / bytes).toBeGreaterThan(0.45);
    expect(smallBytes / bytes).toBeLessThan(0.55);
  });

  test("counts another node by the sessions whose commands it sent", () => {
    const elsewhere = new Crowd();
    for (let session = 101; session <= 200; session += 1) {
      const client = elsewhere.client(session);
      for (let sequence = 1; sequence <= 4; sequence += 1) elsewhere.send(client, sequence);
    }
    const crowd = new Crowd();
    for (let session = 1; session <= 10; session += 1) {
      const client = crowd.client(session);
      for (let sequence = 1; sequence <= 1_000; sequence += 1) crowd.send(client, sequence);
    }
    crowd.line.push(elsewhere.chunk(2), 0);
    const sessions = new Set(crowd.take());
    for (let session = 101; session <= 200; session += 1) expect(sessions).toContain(session);
    for (let session = 1; session <= 10; session += 1) expect(sessions).toContain(session);
  });

  test("loses nothing, repeats nothing, and keeps the order of each session", () => {
    const act = fc.record({
      client: fc.integer({ min: 0, max: 4 }),
      valueBytes: fc.integer({ min: 0, max: 1_000 }),
      what: fc.constantFrom("send", "send", "send", "settle", "take", "again"),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
        const crowd = new Crowd();
        const clients = [1, 2, 3, 4, 5].map((session) => crowd.client(session));
        const waiting = new Map<number, KeptCommand[]>(clients.map((_, at) => [at, []]));
        const take = (): void => {
          for (const item of crowd.line.take(1_500, 0).items) {
            expect(item).toBeInstanceOf(KeptCommand);
            const at = clients.indexOf((item as KeptCommand).attachment as Attachment);
            const own = waiting.get(at) ?? [];
            while (own[0]?.isSettled === true) own.shift();
            expect(own.shift()).toBe(item);
          }
        };
        acts.forEach(({ client, valueBytes, what }, sequence) => {
          const own = waiting.get(client) ?? [];
          const first = own[0];
          if (what === "take") take();
          else if (what === "send") {
            const at = clients[client] as Attachment;
            own.push(crowd.send(at, sequence, "x".repeat(valueBytes)));
          } else if (first !== undefined && what === "settle") first.isSettled = true;
          else if (first !== undefined) crowd.line.push(first, 0);
        });
        while (!crowd.line.isEmpty) take();
        const left = [...waiting.values()].flat().filter(({ isSettled }) => !isSettled);
        expect(left).toEqual([]);
        expect(crowd.line.bytes).toBe(0);
      }),
    );
  });
});

describe("clients with a thousand commands in flight", () => {
  // Small entries, so that a thousand commands are many of them.
  const tuning = { batchBytesMax: 4_096, pipelineEntriesMax: 2 };
  const FLOODING = 10;

  async function flood(world: World, node: WorldNode): Promise<TestClient[]> {
    const clients: TestClient[] = [];
    for (let number = 0; number < FLOODING; number += 1) {
      const client = world.client();
      await client.start(node);
      clients.push(client);
    }
    for (const client of clients) {
      for (let sent = 0; sent < 1_000; sent += 1) client.acquire(`${client.nonce}/${sent}`, 0);
    }
    return clients;
  }

  /** Commands that stand in the log between the arrival of a newcomer's command and it. */
  async function placesBefore(world: World, node: WorldNode, leader: WorldNode): Promise<number> {
    const newcomer = world.client();
    await newcomer.start(node);
    await flood(world, node);
    await world.run(5);
    const from = leader.raft.lastIndex;
    const appliedAtFirst = leader.raft.appliedIndex;
    const sequence = newcomer.acquire("newcomer", 0);
    await newcomer.untilReply(sequence);
    expect(newcomer.reply(sequence)?.result.status).not.toBe(ERROR_NUMBERS.BUSY);
    let count = 0;
    for (let index = appliedAtFirst + 1; index <= leader.raft.lastIndex; index += 1) {
      const entry = leader.raft.entry(index);
      if (entry.kind !== "command") continue;
      const commands = decodeCommands(entry.data, BATCH_HEADER_BYTES);
      expect(commands).toHaveLength(decodeBatchHeader(entry.data).count);
      const at = commands.findIndex(({ session }) => session === newcomer.session);
      if (at >= 0) return count + at;
      count += commands.length;
    }
    throw new Error(`the newcomer's command is not in the log after ${from}`);
  }

  test.each(["the leader", "a follower"])(
    "hold a newcomer at %s up by a few entries, not by all they sent",
    async (where) => {
      const { world, leader, followers } = await startCluster({ tuning });
      const node = where === "the leader" ? leader : followers[0];
      const count = await placesBefore(world, node, leader);
      // What is under way to the leader, in the log and not committed, and half of the next entry.
      expect(count).toBeLessThan(FLOODING * 100);
      await expectAgreement(world);
    },
  );
});
