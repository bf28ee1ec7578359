import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { type Item, MESSAGE, OP, STATUS, WAIT_FOREVER } from "../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, permits, resultOf, shared } from "./cluster-log.js";
import { draw, rest, restored } from "./snapshots.js";

const QUEUED = { status: STATUS.queued };

/** A chain of owners, each waiting for the next; the last holds `end`. Returns the first. */
function chain(log: ClusterLog, length: number): Client {
  const clients = Array.from({ length }, (_, at) => log.open(`c${at}`));
  for (const [at, client] of clients.entries()) client.take(exclusive(`${at}`));
  for (const [at, client] of clients.entries()) {
    if (at + 1 < length) expect(client.acquire(exclusive(`${at + 1}`))).toEqual(QUEUED);
  }
  return clients[0] as Client;
}

/** The status of the first answer to an acquire. */
function replyTo(log: ClusterLog, client: Client, items: readonly Item[]): number | undefined {
  const messages = log.apply(client.acquiring(items));
  return resultOf(messages.filter(({ kind }) => kind === MESSAGE.reply))?.status;
}

describe("a search that is cut short", () => {
  test("leaves the request waiting, is counted, and finds the circle in a later entry", () => {
    const log = new ClusterLog();
    chain(log, 30);
    const operator = log.open("operator");
    const closer = log.open("closer");
    closer.take(exclusive("end"));
    // The chain's end waits for the closer, and the closer for its beginning: 31 owners.
    const end = log.table.inspect("29").holds[0]?.session as number;
    const head = { op: OP.acquire, sequence: 9, mark: 1, acknowledged: [] } as const;
    const command = { ...head, owner: 1, items: exclusive("end"), waitMs: WAIT_FOREVER };
    log.apply({ session: end, epoch: 1, command });
    operator.changeSetting("detectionVisitsMax", 10);
    expect(log.table.counts().searchesCut).toBe(0);
    expect(replyTo(log, closer, exclusive("0"))).toBe(STATUS.queued);
    expect(log.table.counts()).toMatchObject({ searchesCut: 1, deadlocks: 0 });
    expect(log.table.hasQueuedWork).toBe(true);
    log.finishWork();
    expect(log.table.counts()).toMatchObject({ searchesCut: 2, deadlocks: 1 });
    const outcome = log.said.find(({ session, message }) => {
      return session === closer.session && message.kind === MESSAGE.outcome;
    });
    expect(outcome?.message).toMatchObject({ result: { status: ERROR_NUMBERS.DEADLOCK } });
  });

  test("is repeated twice and then given up, which nobody else notices", () => {
    const log = new ClusterLog({ detectionVisitsMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    a.take(exclusive("k"));
    b.take(exclusive("l"));
    expect(a.acquire(exclusive("l"))).toEqual(QUEUED);
    const before = log.table.counts().searchesCut;
    expect(before).toBe(1);
    log.finishWork();
    // With four times the visits a's search came to its end.
    expect(log.table.counts().searchesCut).toBe(1);
    const many = Array.from({ length: 200 }, (_, at) => log.open(`m${at}`));
    for (const one of many) one.take(shared("m"));
    expect(b.acquire(exclusive("m"))).toEqual(QUEUED);
    log.finishWork();
    expect(log.table.counts()).toMatchObject({ searchesCut: 4, deadlocks: 0, waiters: 2 });
    expect(log.table.hasQueuedWork).toBe(false);
  });

  test("is repeated out of the units of later entries, so that none of them takes long", () => {
    const log = new ClusterLog({ detectionVisitsMax: 2_000, unitsPerEntryMax: 20 });
    const crowd = log.open("crowd");
    for (let owner = 1; owner <= 5_000; owner += 1) {
      const read = { mark: crowd.sequence, acknowledged: [crowd.sequence] };
      crowd.take(shared("m"), { owner, ...read });
    }
    const waiters = Array.from({ length: 10 }, (_, at) => log.open(`w${at}`));
    const commands = waiters.map((waiter, at) => {
      waiter.take(exclusive(`own ${at}`));
      return waiter.acquiring(exclusive("m"));
    });
    log.apply(...commands);
    expect(log.table.counts().searchesCut).toBe(10);
    // Each looks at 5,000 holders, which is 19 units.
    expect(log.finishWork()).toBeGreaterThanOrEqual(5);
    expect(log.table.counts()).toMatchObject({ searchesCut: 10, deadlocks: 0, waiters: 10 });
  });

  test("goes on where a snapshot was taken in between, and says the same", () => {
    const log = new ClusterLog({ detectionVisitsMax: 10 });
    chain(log, 30);
    const closer = log.open("closer");
    const end = log.table.inspect("29").holds[0]?.session as number;
    closer.take(exclusive("end"));
    const head = { op: OP.acquire, sequence: 9, mark: 1, acknowledged: [] } as const;
    const command = { ...head, owner: 1, items: exclusive("end"), waitMs: WAIT_FOREVER };
    log.apply({ session: end, epoch: 1, command });
    log.finishWork();
    expect(replyTo(log, closer, exclusive("0"))).toBe(STATUS.queued);
    const before = log.table.hash();
    const snapshot = log.table.snapshot(1);
    const chunks = draw(snapshot, 1);
    // The search that is repeated changes its request while the snapshot is written.
    log.finishWork();
    expect(log.table.counts().deadlocks).toBe(1);
    const table = restored([...chunks, ...rest(snapshot)]);
    expect(table.hash()).toBe(before);
    const outbox = { toSession: () => {}, attached: () => {} };
    for (let index = log.index; table.hasQueuedWork; index += 1) {
      table.apply({ index, stamp: log.stamp, wallMs: log.wallMs, commands: [] }, outbox);
    }
    expect(table.counts().deadlocks).toBe(1);
    expect(table.inspect("0")).toEqual(log.table.inspect("0"));
  });

  test("is not made at all while the setting is 0", () => {
    const log = new ClusterLog({ detectionVisitsMax: 0 });
    const [a, b] = [log.open("a"), log.open("b")];
    a.take(exclusive("k"));
    b.take(exclusive("l"));
    expect(a.acquire(exclusive("l"))).toEqual(QUEUED);
    expect(b.acquire(exclusive("k"))).toEqual(QUEUED);
    expect(log.table.counts()).toMatchObject({ searchesCut: 0, deadlocks: 0, waiters: 2 });
  });
});

describe("an owner that has nothing else and nobody behind it", () => {
  test("costs no look at all, be there a hundred thousand before it", { timeout: 60_000 }, () => {
    const log = new ClusterLog({ detectionVisitsMax: 1 });
    const holder = log.open("holder", 600_000);
    const waiter = log.open("waiter", 600_000);
    const token = holder.take();
    for (let owner = 1; owner <= 100_000; owner += 1) {
      log.apply(waiter.acquiring(exclusive("k"), WAIT_FOREVER, { owner }));
      if (owner % 500 === 0) waiter.keepalive({ mark: owner });
    }
    expect(log.table.counts()).toMatchObject({ waiters: 100_000, searchesCut: 0 });
    // The same of a request that only looks: one visit is not enough for that.
    const busy = log.open("busy");
    busy.take(exclusive("other"));
    expect(busy.acquire(exclusive("k"), 1)).toMatchObject({ status: 20 });
    log.apply(waiter.acquiring(exclusive("other"), WAIT_FOREVER, { owner: 1 }));
    expect(log.table.counts().searchesCut).toBe(1);
    // Grants and cancels look at nothing either.
    holder.release(token);
    waiter.cancel(50_000);
    expect(log.table.counts()).toMatchObject({ waiters: 99_999, searchesCut: 1 });
  });

  test("behind many who wait for permits and nothing else finds a circle at the usual price", () => {
    const log = new ClusterLog({ detectionVisitsMax: 2_000 });
    const [a, b] = [log.open("a"), log.open("b")];
    const crowd = log.open("crowd");
    a.take(permits("s", 2, 2));
    b.take(exclusive("k"));
    for (let owner = 1; owner <= 500; owner += 1) {
      log.apply(crowd.acquiring(permits("s", 1), WAIT_FOREVER, { owner }));
    }
    expect(b.acquire(permits("s", 1))).toEqual(QUEUED);
    expect(a.acquire(exclusive("k"))).toMatchObject({ status: ERROR_NUMBERS.DEADLOCK });
    expect(log.table.counts()).toMatchObject({ searchesCut: 0, deadlocks: 1 });
  });
});

describe("a long queue of owners who hold something", () => {
  const kinds = [
    ["of a lock", () => exclusive("k")],
    ["of a semaphore", () => permits("k", 1, 1)],
  ] as const;

  test.each(kinds)("%s costs a search no more than its length", (_, items) => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take(items());
    const waiters = Array.from({ length: 300 }, (_none, at) => log.open(`w${at}`));
    for (const [at, one] of waiters.entries()) {
      one.take(exclusive(`${at}`));
      expect(one.acquire(items())).toEqual(QUEUED);
    }
    b.take(exclusive("m"));
    expect(b.acquire(items())).toEqual(QUEUED);
    const refusal = a.acquire(exclusive("m"));
    // Those between are not named: b waits for a as well.
    const cycle = refusal !== undefined && "cycle" in refusal ? (refusal.cycle ?? []) : [];
    expect(cycle.map(({ sessionName, key }) => `${sessionName}:${key}`)).toEqual(["a:m", "b:k"]);
    expect(log.table.counts()).toMatchObject({ searchesCut: 0, deadlocks: 1 });
  });
});

test("a search among very many who hold a semaphore comes to its end", () => {
  const log = new ClusterLog({ detectionVisitsMax: 200_000 });
  const crowd = log.open("crowd");
  for (let owner = 1; owner <= 20_000; owner += 1) {
    const asking = { owner, mark: crowd.sequence, acknowledged: [crowd.sequence] };
    log.apply(crowd.acquiring(permits("s", 1, 20_001), WAIT_FOREVER, asking));
  }
  const a = log.open("a");
  a.take(permits("s", 1));
  // Of 20,001 holders each could go on but the one who asks, and one more is too many.
  expect(a.acquire(permits("s", 1), 1)).toEqual(QUEUED);
  expect(log.table.counts()).toMatchObject({ searchesCut: 0, deadlocks: 0 });
  expect(a.acquire(permits("s", 20_001), 1, { owner: 2 })).toEqual(QUEUED);
});
