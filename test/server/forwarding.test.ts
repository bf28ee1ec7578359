import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { MESSAGE, OP, STATUS } from "../../src/protocol/index.js";
import { expectAgreement, startCluster } from "./cluster.js";

describe("forwarded commands", () => {
  test("are applied exactly once when the leader dies with them in flight", async () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed });
      const client = world.client();
      await client.start(followers[0]);
      const sequences = Array.from({ length: 20 }, (_, i) => client.acquire(`key-${i}`, 0));
      // Somewhere between the client's frame and the last acknowledgement.
      await world.run((seed % 10) * 0.9);
      leader.crash();
      for (const sequence of sequences) {
        expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
      }
      expect(followers[0].table.counts().holds).toBe(sequences.length);
      const tokens = sequences.map((sequence) => client.token(sequence));
      expect([...new Set(tokens)].sort((a, b) => a - b)).toEqual(tokens);
      await expectAgreement(world);
    }
  });

  test("are applied exactly once when the link to the leader is made anew", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    const sequences = [];
    for (let i = 0; i < 50; i += 1) {
      sequences.push(client.acquire(`key-${i}`, 0));
      await world.run(1);
      if (i % 7 === 0) world.network.reconnect(followers[0].id, leader.id);
    }
    for (const sequence of sequences) {
      expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
    }
    expect(leader.table.counts().holds).toBe(50);
    await expectAgreement(world);
  });

  test("go again after a while when they, or their refusal, were lost", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    let dropped = 0;
    world.network.filter = (_from, to, message) => {
      if (to !== leader.id || message.type !== "forward" || dropped > 0) return true;
      dropped += 1;
      return false;
    };
    const sequence = client.acquire("a");
    await client.untilReply(sequence);
    expect(dropped).toBe(1);
    expect(client.token(sequence)).toBeGreaterThan(0);
  });

  test("are refused by a node that leads another term, and kept", async () => {
    const { world, leader, followers } = await startCluster();
    const refused: string[] = [];
    world.network.filter = (_from, to, message) => {
      if (to === followers[0].id && message.type === "forwardRefused") refused.push(message.reason);
      return true;
    };
    const events = leader.driver.peerEvents;
    const records = new Uint8Array(0);
    const { term } = leader.raft;
    events.onMessage(followers[0].id, 0, { type: "forward", id: 1, term: term - 1, records });
    followers[1].driver.peerEvents.onMessage(followers[0].id, 0, {
      type: "forward",
      id: 2,
      term,
      records,
    });
    await world.run(10);
    expect(refused).toEqual(["notLeader", "notLeader"]);
  });

  test("that are cut short are dropped, with a line in the log, and harm nobody", async () => {
    const { world, leader, followers } = await startCluster();
    const records = new Uint8Array([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 99, 5]);
    const { term } = leader.raft;
    const message = { type: "forward", id: 1, term, records } as const;
    leader.driver.peerEvents.onMessage(followers[0].id, 0, message);
    await world.run(10);
    expect(world.story.some((line) => line.includes("forwarded records are cut"))).toBe(true);
    const client = world.client();
    await client.start(leader);
    expect((await client.untilReply(client.acquire("a", 0))).result.status).toBe(STATUS.granted);
    await expectAgreement(world);
  });

  test("wait while nobody leads and are answered when somebody does again", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    leader.crash();
    followers[1].crash();
    await world.run(2_000);
    const sequence = client.acquire("a");
    await world.run(5_000);
    expect(client.reply(sequence)).toBeUndefined();
    followers[1].start();
    expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
    await expectAgreement(world);
  });
});

describe("overload", () => {
  const tuning = {
    uncommittedBytesMax: 8_192,
    batchBytesMax: 4_096,
    pipelineEntriesMax: 2,
  } as const;

  test("is answered BUSY, and what was not refused executes exactly once", async () => {
    const { world, leader, followers } = await startCluster({ tuning, diskMs: 20 });
    const clients = [];
    for (const node of [leader, followers[0], followers[1]]) {
      const client = world.client();
      await client.start(node);
      clients.push(client);
    }
    const sent = clients.map((client) =>
      Array.from({ length: 400 }, (_, i) => client.acquire(`key-${client.nonce}-${i}`, 0)),
    );
    let busy = 0;
    let granted = 0;
    for (const [i, client] of clients.entries()) {
      for (const sequence of sent[i] ?? []) {
        const { status } = (await client.untilReply(sequence)).result;
        if (status === ERROR_NUMBERS.BUSY) busy += 1;
        else if (status === STATUS.granted) granted += 1;
        else throw new Error(`status ${status}`);
      }
    }
    expect(busy).toBeGreaterThan(0);
    expect(granted).toBeGreaterThan(0);
    expect(busy + granted).toBe(1_200);
    await expectAgreement(world);
    expect(leader.table.counts().holds).toBe(granted);
    for (const node of world.nodes) expect(node.driver.status.keptBytes).toBe(0);
  });

  test("refuses nothing that may execute all the same, when the leader changes under it", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed, tuning, diskMs: 5 });
      const client = world.client();
      await client.start(followers[0]);
      const sequences: number[] = [];
      for (let i = 0; i < 400; i += 1) {
        sequences.push(client.acquire(`key-${i}`, 0));
        if (i % 8 === 0) await world.run(1);
        if (i === 100 + seed * 10) leader.pause(3_000);
      }
      const statuses: number[] = [];
      for (const sequence of sequences) {
        statuses.push((await client.untilReply(sequence)).result.status);
      }
      const granted = statuses.filter((status) => status === STATUS.granted).length;
      const busy = statuses.filter((status) => status === ERROR_NUMBERS.BUSY).length;
      expect(granted + busy).toBe(sequences.length);
      await expectAgreement(world);
      expect(followers[0].table.counts().holds).toBe(granted);
    }
  });

  test("does not refuse what an earlier connection may have sent already", async () => {
    const { world, leader } = await startCluster({ tuning, diskMs: 20 });
    const client = world.client();
    await client.start(leader);
    const repeated = client.acquire("a", 0);
    await client.untilReply(repeated);
    client.disconnect();
    await client.start(leader);
    client.received.length = 0;
    for (let i = 0; i < 400; i += 1) client.acquire(`key-${i}`, 0);
    client.send({
      op: OP.acquire,
      sequence: repeated,
      mark: 1,
      acknowledged: [],
      owner: 1,
      items: [{ key: "a", mode: "exclusive" }],
      waitMs: 0,
    });
    const refused = () =>
      client.received.filter(
        (message) => message.kind === MESSAGE.reply && message.result.status === ERROR_NUMBERS.BUSY,
      ).length;
    await world.until("BUSY", () => refused() > 0);
    expect((await client.untilReply(repeated)).result.status).toBe(STATUS.granted);
  });
});
