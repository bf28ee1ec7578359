/**
 * What users of etcd's locks and leases reported, played against this table, this SDK and this
 * cluster. Each scenario would show the reported symptom if the same thing were wrong here.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { MESSAGE, OP, STATUS } from "../../src/protocol/index.js";
import { failure, rejection, setUp } from "../client/world/set-up.js";
import { connectTo } from "../client/world/simulated-client.js";
import { ClusterLog, exclusive, resultOf } from "../lockfsm/plans/cluster-log.js";
import { expectAgreement, startCluster } from "../server/world/cluster.js";
import { Operator } from "../server/world/operator.js";
import { asking } from "./asking.js";

const HELD = { status: ERROR_NUMBERS.LOCK_HELD };

describe("etcd #22082: a late repetition of an unlock frees a newer hold of the same session", () => {
  // Fails if a release finds its hold by anything but its number, or is executed twice.
  test("in the table: the repetition has no effect, a new try finds nothing", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const old = a.take();
    const unlock = asking(a, { op: OP.end, target: old.sequence });
    expect(resultOf(log.apply(unlock))).toEqual({ status: STATUS.released });
    const current = a.take();
    expect(log.apply(unlock)).toEqual([]);
    expect(resultOf(a.end(old))).toMatchObject({ status: STATUS.notReleased });
    expect(b.acquire(exclusive("k"), 0)).toMatchObject(HELD);
    expect(resultOf(a.end(current))).toEqual({ status: STATUS.released });
  });

  // Fails if an unlock whose answer was lost is not known again, whatever became of the lock since.
  test("through the SDK, when the answer to the unlock was lost and every command comes twice", async () => {
    const { world, server } = setUp();
    server.faults.duplicates = 1;
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const old = await world.until(client.acquire("k"));
    server.faults.latencyMs = [1, 1];
    server.faults.commitMs = [0, 0];
    const unlocking = old.release();
    await world.run(1.5);
    expect(server.isHeld("k", old.token)).toBe(false);
    platform.connection?.cut();
    const current = await world.until(client.acquire("k"));
    expect(await world.until(unlocking)).toEqual({ released: true });
    expect(await world.until(old.release())).toEqual({ released: true });
    // The next keepalive takes the repetition of the unlock along.
    await world.run(20_000);
    expect(current.isHeld).toBe(true);
    expect(server.isHeld("k", current.token)).toBe(true);
  });
});

describe("etcd #15247: a leader that hung on its disk takes leases away when it wakes", () => {
  // Fails if time that nobody led, or a leader did not turn in, is counted into leases.
  test("which were renewed through its successor meanwhile", async () => {
    const { world, leader, followers } = await startCluster();
    const holder = world.client();
    await holder.start(followers[0], 4_000);
    await holder.untilReply(holder.acquire("a", 0));
    leader.pause(15_000);
    for (let second = 0; second < 20; second += 1) {
      await world.run(1_000);
      holder.keepalive();
    }
    const successor = await world.untilLeader();
    expect(successor.id).not.toBe(leader.id);
    expect(world.nodes.map((node) => node.table.counts().holds)).toEqual([1, 1, 1]);
    // It leads again, and still knows nothing of the time that it missed.
    const operator = new Operator(world, followers[0]);
    expect(await operator.status(operator.askTransfer(leader.id))).toBe(STATUS.ok);
    holder.keepalive();
    await world.run(1_000);
    expect((await world.untilLeader()).id).toBe(leader.id);
    expect(holder.received.filter(({ kind }) => kind === MESSAGE.ended)).toEqual([]);
    expect(leader.table.counts().holds).toBe(1);
    await expectAgreement(world);
  });

  // Fails if a turn of the leader's loop counts for as long as it took.
  test("which nobody could renew, since all hung", async () => {
    const { world, leader, followers } = await startCluster();
    const holder = world.client();
    await holder.start(followers[0], 4_000);
    await holder.untilReply(holder.acquire("a", 0));
    for (const node of world.nodes) node.pause(30_000);
    await world.run(30_000);
    const keepalive = holder.keepalive();
    await world.until("the renewal", () => holder.renewed(keepalive) !== undefined);
    expect(leader.table.counts().holds).toBe(1);
  });
});

// The text of this report was not to be found; the scenario is the family of reports it stands in.
describe("etcd #12017: a wait that was given up keeps its place and is granted to nobody", () => {
  async function giveUpUnheard() {
    const { world, server } = setUp();
    const [one, two, three] = [
      await connectTo(server, { name: "one", ttlMs: 30_000 }),
      await connectTo(server, { name: "two", ttlMs: 30_000 }),
      await connectTo(server, { name: "three", ttlMs: 30_000 }),
    ];
    const lock = await world.until(one.client.acquire("k"));
    const controller = new AbortController();
    const leaving = two.client.acquire("k", { signal: controller.signal });
    await world.run(50);
    const waiting = three.client.acquire("k");
    await world.run(50);
    const connection = two.platform.connection;
    if (connection !== undefined) connection.isBlackhole = true;
    controller.abort();
    expect(await rejection(world, leaving)).toBe(controller.signal.reason);
    return { world, server, lock, waiting, cut: () => connection?.cut() };
  }

  // Fails if giving up is not reported to the table, or is forgotten with the connection.
  test("when the connection broke before the table could learn of it", async () => {
    const { world, server, lock, waiting, cut } = await giveUpUnheard();
    cut();
    await world.run(500);
    const { waiters } = server.table.inspect("k");
    expect(waiters.map(({ sessionName }) => sessionName)).toEqual(["three"]);
    await world.until(lock.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });

  // Fails if neither giving up nor the grant that comes late is answered to the table.
  test("when it was granted before the table could learn of it", async () => {
    const { world, server, lock, waiting, cut } = await giveUpUnheard();
    await world.until(lock.release());
    expect(server.table.inspect("k").holds).toMatchObject([{ sessionName: "two" }]);
    cut();
    expect((await world.until(waiting, 1_000)).isHeld).toBe(true);
    expect(server.table.counts()).toMatchObject({ holds: 1, waiters: 0 });
  });
});

describe("etcd #19597: a waiter waits on after its session is gone", () => {
  // Fails if the end of a session leaves its requests in the queues.
  test("in the table: its place goes with it, while the holder still holds", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a", 60_000), log.open("b", 5_000), log.open("c", 60_000)];
    a.take();
    b.acquire();
    c.acquire();
    expect(log.line("k")).toEqual(["a", "|", "b", "c"]);
    log.pass(4_999);
    expect(log.line("k")).toEqual(["a", "|", "b", "c"]);
    expect(log.pass(1)).toMatchObject([{ kind: MESSAGE.ended, session: b.session }]);
    expect(log.line("k")).toEqual(["a", "|", "c"]);
  });

  // Fails if the SDK ends waits only by an outcome of theirs.
  test("through the SDK: the caller learns it at once, not when the lock comes free", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 60_000 });
    const two = await connectTo(server, { ttlMs: 2_000 });
    const lock = await world.until(one.client.acquire("k"));
    const waiting = failure(world, two.client.acquire("k"));
    await world.run(100);
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    two.platform.connection?.cut();
    await world.run(5_000);
    server.faults.downNodes.clear();
    expect((await waiting).code).toBe("SESSION_EXPIRED");
    expect(server.isHeld("k", lock.token)).toBe(true);
  });
});

describe("etcd #11456: a lock is handed out although the lease ended while it was waited for", () => {
  // Fails if a request is granted without a look at its session, which is due and not swept yet.
  test("in the table: one that is over is never granted, not even before it is swept", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    const [first, b] = [log.open("first", 5_000), log.open("b", 5_000)];
    const [a, c] = [log.open("a", 60_000), log.open("c", 60_000)];
    const hold = a.take();
    b.acquire();
    c.acquire();
    log.stamp += 5_000;
    const messages = a.end(hold);
    // One unit of work was enough for the session that was due before it.
    expect(messages[0]).toMatchObject({ kind: MESSAGE.ended, session: first.session });
    expect(log.line("k")).toEqual(["|", "b", "c"]);
    for (let entry = 0; entry < 4; entry += 1) log.apply();
    expect(log.line("k")).toEqual(["c", "|"]);
  });

  // Fails if a grant is believed that arrives when the own lease may be over.
  test("through the SDK: a process that slept over grant and lease holds nothing", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 60_000 });
    const two = await connectTo(server, { ttlMs: 2_000 });
    const lock = await world.until(one.client.acquire("k"));
    const waiting = failure(world, two.client.acquire("k"));
    await world.run(1_000);
    two.platform.stop();
    await world.run(200);
    await world.until(lock.release());
    expect(server.table.inspect("k").holds).toMatchObject([{ session: two.client.session }]);
    await world.run(3_000);
    expect(server.table.inspect("k").holds).toEqual([]);
    two.platform.goOn();
    expect((await waiting).code).toBe("SESSION_EXPIRED");
  });
});

describe("etcd #9888: changes of leader renew leases, so that nothing ever expires", () => {
  // Fails if a new leader gives leases their time again, or forgets what its predecessor counted.
  test("by transfers that come faster than the leases end", async () => {
    const { world, leader } = await startCluster();
    const holder = world.client();
    await holder.start(leader, 4_000);
    await holder.untilReply(holder.acquire("a", 0));
    holder.disconnect();
    const beganMs = world.nowMs;
    for (let change = 0; change < 40; change += 1) {
      const present = await world.untilLeader();
      const next = world.nodes.find((node) => node !== present);
      const operator = new Operator(world, present);
      const answer = operator.askTransfer(next?.id ?? 0);
      await world.run(600);
      expect(await operator.status(answer)).toBe(STATUS.ok);
      operator.client.disconnect();
      if (next?.table.counts().holds === 0) break;
    }
    expect(world.nodes.map((node) => node.table.counts().holds)).toEqual([0, 0, 0]);
    expect(world.nowMs - beganMs).toBeGreaterThanOrEqual(4_000);
    expect(world.nowMs - beganMs).toBeLessThan(8_000);
  });

  // Fails if the same happens where the leader cannot prepare for it.
  test("by crashes that come faster than the leases end", async () => {
    const { world, leader } = await startCluster();
    const holder = world.client();
    await holder.start(leader, 6_000);
    await holder.untilReply(holder.acquire("a", 0));
    holder.disconnect();
    for (let change = 0; change < 12; change += 1) {
      const present = await world.untilLeader();
      await world.run(2_500);
      if (present.table.counts().holds === 0) break;
      present.crash();
      await world.untilLeader();
      present.start();
    }
    expect((await world.untilLeader()).table.counts().holds).toBe(0);
  });
});
