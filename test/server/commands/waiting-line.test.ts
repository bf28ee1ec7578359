/** Fair shares of the waiting line: between clients of one node, and between nodes. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  BATCH_HEADER_BYTES,
  type Command,
  decodeBatchHeader,
  decodeCommands,
  OP,
} from "../../../src/protocol/index.js";
import { type Attachment, Attachments } from "../../../src/server/commands/attachments.js";
import { KeptCommand } from "../../../src/server/commands/kept-commands.js";
import { ForwardedChunk, WaitingLine } from "../../../src/server/commands/waiting-line.js";
import { encodeCommand } from "../../protocol/command-bytes.js";
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

  client(session: number, turnOf?: number): Attachment {
    const connection = new RecordingConnection(session);
    connection.session = session;
    connection.attachEpoch = 1;
    const attachment = this.#attachments.add(connection);
    attachment.turnOf = turnOf;
    return attachment;
  }

  /** Clients of one identity with `count` commands each. */
  flood(sessions: readonly number[], identity: number, count: number): void {
    for (const session of sessions) {
      const client = this.client(session, identity);
      for (let sequence = 1; sequence <= count; sequence += 1) this.send(client, sequence);
    }
  }

  send(client: Attachment, sequence: number, value = ""): KeptCommand {
    this.#order += 1;
    const command: Command = {
      ...{ op: OP.update, sequence, mark: 1, acknowledged: [] },
      ...{ target: 1, value },
    };
    const bytes = encodeCommand(command);
    const kept = new KeptCommand(client, command, bytes, this.#order, 1, undefined);
    this.line.push(kept, 0);
    return kept;
  }

  /** Sessions of the next entry, or of the next message to the leader. */
  take(bytesMax = BATCH): number[] {
    const { bytes } = this.line.take(bytesMax, 0);
    return decodeCommands(bytes, 0).map(({ session }) => session);
  }

  chunk(from: number, bytesMax = BATCH, identityOf?: (session: number) => number): ForwardedChunk {
    const { bytes } = this.line.take(bytesMax, 0);
    const commands = decodeCommands(bytes, 0);
    if (identityOf === undefined) return new ForwardedChunk(from, 1, bytes, commands);
    const runs = new Map<number, number>();
    commands.forEach(({ session }, at) => {
      const identity = identityOf(session);
      if (session === commands[at - 1]?.session) return;
      runs.set(identity, (runs.get(identity) ?? 0) + 1);
    });
    return new ForwardedChunk(from, 1, bytes, commands, runs);
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
      what: fc.constantFrom("send", "send", "send", "settle", "take", "again", "identity"),
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
          // The cluster is closed, or opened again.
          else if (what === "identity")
            (clients[client] as Attachment).turnOf = [undefined, 0, 1, 2][valueBytes % 4];
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

describe("a waiting line of a closed cluster", () => {
  const [GREEDY, MODEST] = [2, 3];
  const sessionsFrom = (first: number, count: number): number[] => {
    return Array.from({ length: count }, (_, at) => first + at);
  };

  /** The part of the next entries that each identity gets. */
  function partsOf(crowd: Crowd, entries: number, identityOf: (session: number) => number) {
    const counts = new Map<number, number>();
    let all = 0;
    for (let i = 0; i < entries; i += 1) {
      for (const session of crowd.take()) {
        all += 1;
        const identity = identityOf(session);
        counts.set(identity, (counts.get(identity) ?? 0) + 1);
      }
    }
    return (identity: number): number => (counts.get(identity) ?? 0) / all;
  }
  const byHundreds = (session: number): number => (session < 100 ? MODEST : GREEDY);

  test.each([10, 1_000])(
    "gives an identity with one client as much as one with %d",
    (greedyClients) => {
      const crowd = new Crowd();
      crowd.flood(sessionsFrom(100, greedyClients), GREEDY, 10_000 / greedyClients);
      crowd.flood([1], MODEST, 4_000);
      const part = partsOf(crowd, 6, byHundreds);
      expect(part(MODEST)).toBeGreaterThan(0.45);
      expect(part(MODEST)).toBeLessThan(0.55);
    },
  );

  test("gives everything to an identity that is alone, by turns of its clients", () => {
    const crowd = new Crowd();
    crowd.flood(sessionsFrom(100, 4), GREEDY, 2_000);
    const { items } = crowd.line.take(BATCH, 0);
    const bytes = items.reduce((sum, item) => sum + item.recordBytes, 0);
    expect(bytes).toBeGreaterThan(BATCH * 0.99);
    const bySession = new Map<unknown, number>();
    for (const item of items) {
      const { session } = item as KeptCommand;
      bySession.set(session, (bySession.get(session) ?? 0) + 1);
    }
    const counts = [...bySession.values()];
    expect(counts).toHaveLength(4);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThan(items.length / 4);
  });

  test("serves a newcomer of another identity in the next entry", () => {
    const crowd = new Crowd();
    crowd.flood(sessionsFrom(100, 1_000), GREEDY, 10);
    crowd.take();
    crowd.flood([1], MODEST, 1);
    expect(crowd.take()).toContain(1);
  });

  test("counts the clients of an identity at another node as if they were at this one", () => {
    const crowd = new Crowd();
    crowd.flood(sessionsFrom(100, 10), GREEDY, 1_000);
    const modestOrGreedy = (session: number): number => (session < 50 ? MODEST : GREEDY);
    const counts = new Map<number, number>();
    for (let round = 0; round < 8; round += 1) {
      // Half of what the other node sends is of the greedy identity too.
      const elsewhere = new Crowd();
      elsewhere.flood([1], MODEST, 100);
      elsewhere.flood([51], GREEDY, 100);
      crowd.line.push(elsewhere.chunk(2, BATCH / 4, modestOrGreedy), 0);
      for (const session of crowd.take(BATCH / 2)) {
        const identity = modestOrGreedy(session);
        counts.set(identity, (counts.get(identity) ?? 0) + 1);
      }
    }
    // All that the other node sent was taken, and the identity of the many had its part as well.
    expect(counts.get(MODEST)).toBe(800);
    expect(counts.get(GREEDY)).toBeGreaterThan(800);
  });

  test("takes what other nodes sent and puts it back without losing count of it", () => {
    const crowd = new Crowd();
    crowd.flood([1], MODEST, 10);
    for (const from of [2, 3]) {
      const elsewhere = new Crowd();
      elsewhere.flood([100 * from], GREEDY, 50);
      crowd.line.push(elsewhere.chunk(from, BATCH, byHundreds), 0);
    }
    const { bytes } = crowd.line;
    for (let i = 0; i < 5; i += 1) {
      crowd.line.putBack(crowd.line.take(BATCH / 32, 0).items, 0);
      expect(crowd.line.bytes).toBe(bytes);
    }
    const sessions: number[] = [];
    while (!crowd.line.isEmpty) sessions.push(...crowd.take(BATCH / 32));
    expect(sessions.filter((session) => session === 1)).toHaveLength(10);
    expect(sessions.filter((session) => session !== 1)).toHaveLength(100);
    expect(crowd.line.clear()).toEqual([]);
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
