/** How a member is, as another one relays it to a client that cannot reach the member itself. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { OP, STATUS, VITALS_TEXT_BYTES_MAX, type VitalsView } from "../../../src/protocol/index.js";
import { vitalsIn, vitalsText } from "../../../src/server/vitals/vitals-text.js";
import { startClosedCluster } from "../world/closed-cluster.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

async function connected(world: World, node: WorldNode): Promise<TestClient> {
  const client = world.client();
  client.connect(node);
  await world.until("hello", () => client.hello !== undefined);
  return client;
}

async function relayed(world: World, client: TestClient, node: number, id = 1) {
  client.query({ op: OP.vitals, id, node, after: 0 });
  await world.until("vitals", () => client.answer(id) !== undefined);
  return client.answer(id);
}

function payloadOf(answer: { readonly payload: unknown } | undefined): VitalsView {
  if (answer === undefined) throw new Error("no answer");
  return answer.payload as VitalsView;
}

describe("a node that is asked how another member is", () => {
  test("passes on what that member says of itself", async () => {
    const { world, leader, followers } = await startCluster();
    const client = await connected(world, followers[0]);
    const answer = await relayed(world, client, leader.id);
    expect(answer?.status).toBe(STATUS.ok);
    expect(answer?.payload).toMatchObject({ node: leader.id, role: "leader", connections: 0 });
    const { peers } = payloadOf(answer);
    for (const { endpoint, isVoter, heardWallMs } of peers) {
      expect([endpoint === "", isVoter, heardWallMs === null]).toEqual([false, true, false]);
    }
  });

  test("says nothing about a member that it does not hear but when it last did", async () => {
    const { world, leader, followers } = await startCluster();
    const [one, other] = followers;
    const client = await connected(world, one);
    leader.crash();
    other.crash();
    await world.run(5_000);
    expect(await relayed(world, client, leader.id)).toMatchObject({ payload: null });
    const own = payloadOf(await relayed(world, client, 0, 2));
    const peer = own.peers.find(({ node }) => node === leader.id);
    expect(peer).toMatchObject({ isConnected: false, isVoter: true });
    const silentMs = own.wallMs - (peer?.heardWallMs ?? Number.POSITIVE_INFINITY);
    expect(silentMs).toBeGreaterThanOrEqual(4_000);
    expect(silentMs).toBeLessThan(10_000);
  });

  test("waits a bounded time for a member that says nothing", async () => {
    const { world, leader, followers } = await startCluster();
    const client = await connected(world, followers[0]);
    world.network.filter = (_from, _to, message) => message.type !== "vitals";
    expect(await relayed(world, client, leader.id)).toMatchObject({ payload: null });
  });

  test("refuses a node that is not a member, and further questions while many are open", async () => {
    const { world, leader, followers } = await startCluster();
    const client = await connected(world, followers[0]);
    const refused = await relayed(world, client, 99);
    expect(refused?.status).toBe(ERROR_NUMBERS.INVALID_ARGUMENT);
    world.network.filter = (_from, _to, message) => message.type !== "vitals";
    for (let id = 2; id < 40; id += 1) {
      client.query({ op: OP.vitals, id, node: leader.id, after: 0 });
      await world.run(10);
    }
    await world.until("the last", () => client.answer(39) !== undefined);
    expect(client.answer(39)?.status).toBe(ERROR_NUMBERS.BUSY);
  });

  test("asks nobody for those who may observe nothing", async () => {
    const { world, leader, followers, signedIn } = await startClosedCluster({ nothing: "none" });
    const asked: number[] = [];
    world.network.filter = (from, _to, message) => {
      if (message.type === "vitals") asked.push(from);
      return true;
    };
    const nothing = await signedIn("nothing", followers[0]);
    const stranger = await connected(world, followers[0]);
    expect(await relayed(world, nothing, leader.id)).toMatchObject({
      status: ERROR_NUMBERS.FORBIDDEN,
    });
    expect(await relayed(world, stranger, leader.id)).toMatchObject({
      status: ERROR_NUMBERS.UNAUTHENTICATED,
    });
    expect(asked).toEqual([]);
  });

  test("takes an answer only from the member that it asked", async () => {
    const { world, leader, followers } = await startCluster();
    const [one, other] = followers;
    const client = await connected(world, one);
    let id = 0;
    world.network.filter = (_from, _to, message) => {
      if (message.type === "vitals") id = message.id;
      return message.type !== "vitals";
    };
    client.query({ op: OP.vitals, id: 1, node: leader.id, after: 0 });
    await world.until("the question", () => id > 0);
    const text = vitalsText({ ...sample(), node: leader.id });
    one.driver.peerEvents.onMessage(other.id, 0, { type: "vitalsReply", id, text });
    await world.run(10);
    expect(client.answer(1)).toBeUndefined();
    one.driver.peerEvents.onMessage(leader.id, 0, { type: "vitalsReply", id, text });
    await world.until("the answer", () => client.answer(1) !== undefined);
    expect(client.answer(1)?.payload).toMatchObject({ node: leader.id, term: 7 });
  });
});

describe("the text of a member's vitals", () => {
  test("comes back as it was, without what no field has a name for", () => {
    expect(vitalsIn(vitalsText(sample()), 2)).toEqual(sample());
    const more = { ...sample(), extra: { deep: [1] } };
    expect(vitalsIn(JSON.stringify(more), 2)).toEqual(sample());
  });

  test("fits its message, whatever the node has measured", () => {
    const event = { wallMs: 1, kind: "members" as const, text: "\u0001".repeat(1_024) };
    const large = { ...sample(), events: Array.from({ length: 256 }, () => event) };
    const text = vitalsText(large);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(VITALS_TEXT_BYTES_MAX);
    expect(vitalsIn(text, 2)).toMatchObject({ node: 2, events: [] });
  });

  test("counts for nothing with one field of another type or beyond its bounds", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(sample())),
        fc.jsonValue({ maxDepth: 2 }),
        (field, value) => {
          const view = vitalsIn(JSON.stringify({ ...sample(), [field]: value }), 2);
          if (view === undefined) return;
          const before = sample()[field as keyof VitalsView];
          const now = view[field as keyof VitalsView];
          const isNumber = before === null || typeof before === "number";
          if (isNumber) expect(now === null || Number.isFinite(now)).toBe(true);
          else expect(typeof now).toBe(typeof before);
          if (Array.isArray(before)) expect(Array.isArray(now)).toBe(true);
        },
      ),
    );
    for (const wrong of [{ node: 3 }, { term: -1 }, { term: 1e300 }, { role: "king" }]) {
      expect(vitalsIn(JSON.stringify({ ...sample(), ...wrong }), 2)).toBeUndefined();
    }
    for (const text of ["", "null", "[]", '{"node":2}', "{".repeat(100_000)]) {
      expect(vitalsIn(text, 2)).toBeUndefined();
    }
  });
});

function sample(): VitalsView {
  return {
    ...{ node: 2, version: "0.1.0", modelVersion: 9, startedWallMs: 1, wallMs: 2 },
    ...{ role: "follower", term: 7, leader: 1, commitIndex: 5, appliedIndex: 5 },
    ...{ hasQuorumContact: true, isDiskFull: false, isMemoryScarce: false, isDraining: false },
    ...{ isOpen: true, loopDelayMaxMs: 1.5, logSyncP99Ms: null, connections: 1, watches: 0 },
    ...{
      sessions: 1,
      keys: 1,
      holds: 1,
      waiters: 0,
      deadlocks: 0,
      possibleDeadlocks: 0,
      auditState: "off",
    },
    certificateEndsWallMs: null,
    peers: [
      {
        ...{ node: 1, endpoint: "ws://n1:7411", isVoter: true, isConnected: true },
        ...{ heardWallMs: 1, roundTripMs: 0.4, matchIndex: null },
      },
    ],
    points: [
      {
        ...{ wallMs: 1, grants: 1, waits: 0, failures: 0, lost: 0, commitP50Ms: null },
        ...{ commitP99Ms: null, waitP50Ms: 1, waitP99Ms: 2, loopDelayMaxMs: 1 },
      },
    ],
    events: [{ wallMs: 1, kind: "started", text: "version 0.1.0 started" }],
  };
}
