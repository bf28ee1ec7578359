/**
 * What searches for cycles of waits cost, counted in steps, and what happens when they cost too
 * much.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { TableState } from "../../../src/lockfsm/records/state.js";
import { type Item, MESSAGE, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
} from "../plans/cluster-log.js";
import { draw, rest, restoredState } from "../plans/snapshots.js";

const QUEUED = { status: STATUS.queued };
const STEPS_MAX = 10_000;

/** A chain of tasks, each waiting for the next; the first holds "0", the last nothing but its own. */
function chain(log: ClusterLog, length: number): Client[] {
  const clients = Array.from({ length }, (_, at) => log.open(`c${at}`));
  for (const [at, client] of clients.entries()) client.take(exclusive(`${at}`));
  for (const [at, client] of clients.entries()) {
    if (at + 1 < length) expect(client.acquire(exclusive(`${at + 1}`))).toEqual(QUEUED);
  }
  return clients;
}

/** The status of the first answer to an acquire. */
function replyTo(log: ClusterLog, client: Client, items: readonly Item[]): number | undefined {
  const messages = log.apply(client.acquiring(items));
  return resultOf(messages.filter(({ kind }) => kind === MESSAGE.reply))?.status;
}

/** Sessions that learned after `from` that their wait was refused for a cycle. */
function refusedSince(log: ClusterLog, from: number): number[] {
  return log.said.slice(from).flatMap(({ session, message }) => {
    const isRefusal =
      (message.kind === MESSAGE.outcome || message.kind === MESSAGE.reply) &&
      message.result.status === ERROR_NUMBERS.DEADLOCK;
    return isRefusal ? [session] : [];
  });
}

function stepsOf({ searchSteps, searchStepsMax }: TableState): number {
  return searchStepsMax - searchSteps.left;
}

/** Empty entries until nothing is left to do; returns the steps of search of each. */
function finishCounting(log: ClusterLog): number[] {
  const steps: number[] = [];
  while (log.table.hasQueuedWork) {
    log.apply();
    steps.push(stepsOf(log.state));
    expect(steps.length).toBeLessThan(10_000);
  }
  return steps;
}

/** Readers of one key, each a task of its own, in twenty sessions. */
function crowd(log: ClusterLog, key: string, count: number): Client[] {
  const clients = Array.from({ length: 20 }, (_, at) => log.open(`${key} ${at}`, 600_000));
  for (let task = 1; task <= count; task += 1) {
    const client = clients[task % clients.length] as Client;
    const read = { mark: client.sequence, acknowledged: [client.sequence] };
    client.take(shared(key), { task, ...read });
  }
  return clients;
}

describe("many tasks that want a key with very many readers", () => {
  test("cost a few steps each: who waits for nothing is not looked at", { timeout: 60_000 }, () => {
    const log = new ClusterLog();
    crowd(log, "k", 5_000);
    const writer = log.open("writer");
    expect(writer.acquire(exclusive("k"))).toEqual(QUEUED);
    const tasks = Array.from({ length: 300 }, (_, at) => log.open(`t${at}`));
    for (const [at, task] of tasks.entries()) task.take(exclusive(`own ${at}`));
    log.finishWork();
    log.apply(...tasks.map((task) => task.acquiring(shared("k"))));
    expect(stepsOf(log.state)).toBeLessThan(300 * 8);
    expect(log.table.counts()).toMatchObject({ searchesDeferred: 0, deadlocks: 0, waiters: 301 });
    // A cycle among them is found at once all the same.
    const [first, second] = tasks as [Client, Client];
    const third = log.open("third");
    third.take(exclusive("third"));
    expect(first.acquire(exclusive("third"))).toEqual(QUEUED);
    expect(third.acquire(exclusive("own 1"))).toEqual(QUEUED);
    const before = log.said.length;
    expect(replyTo(log, second, exclusive("own 0"))).toBe(ERROR_NUMBERS.DEADLOCK);
    expect(stepsOf(log.state)).toBeLessThan(2_000);
    expect(refusedSince(log, before)).toEqual([second.session]);
  });

  test("of whom some are in cycles: all of these are found, nobody else is refused, and no entry \
takes more steps than it may", { timeout: 60_000 }, () => {
    const log = new ClusterLog();
    const readers = crowd(log, "k", 10_000);
    // Each reader of the first hundred waits for a task that is about to want the key.
    const tasks = Array.from({ length: 400 }, (_, at) => log.open(`t${at}`));
    for (const [at, task] of tasks.entries()) task.take(exclusive(`own ${at}`));
    for (let at = 1; at <= 100; at += 1) {
      const reader = readers[at % readers.length] as Client;
      log.apply(reader.acquiring(exclusive(`own ${at}`), WAIT_FOREVER, { task: at }));
    }
    log.finishWork();
    const before = log.said.length;
    log.apply(...tasks.map((task) => task.acquiring(exclusive("k"))));
    const steps = [stepsOf(log.state), ...finishCounting(log)];
    expect(Math.max(...steps)).toBeLessThanOrEqual(STEPS_MAX);
    const expected = tasks.slice(1, 101).map(({ session }) => session);
    expect(refusedSince(log, before)).toEqual(expected);
    expect(log.table.counts()).toMatchObject({ searchesGivenUp: 0, deadlocks: 100, waiters: 400 });
  });
});

describe("a frame of acquires by tasks that wait for one another", () => {
  /** Everybody holds the key shared, and everybody but the last waits for what the next one has. */
  function tangle(log: ClusterLog, count: number): Client[] {
    const clients = Array.from({ length: count }, (_, at) => log.open(`c${at}`));
    for (const [at, client] of clients.entries()) {
      client.take(shared("k"));
      client.take(exclusive(`${at}`));
    }
    log.apply(
      ...clients.slice(1).map((client, at) => {
        return client.acquiring(exclusive(`${at}`), WAIT_FOREVER);
      }),
    );
    finishCounting(log);
    return clients;
  }

  test("takes later entries, each within its steps, until all cycles are found", () => {
    const log = new ClusterLog();
    log.state.searchStepsMax = 1_000;
    const clients = tangle(log, 200);
    const before = log.said.length;
    // Everybody waits for somebody that holds the key, and the last of a chain for nobody.
    log.apply(
      ...clients.map((client) => {
        return client.acquiring(exclusive("k"), WAIT_FOREVER, { task: 1 });
      }),
    );
    const steps = [stepsOf(log.state), ...finishCounting(log)];
    expect(Math.max(...steps)).toBeLessThanOrEqual(1_000);
    // Each would wait for its own hold, besides the holds of others.
    expect(refusedSince(log, before)).toEqual(clients.map(({ session }) => session));
    expect(log.table.counts()).toMatchObject({ searchesGivenUp: 0, deadlocks: 200 });
  });
});

describe("a search for which the steps of an entry are used up", () => {
  /** `closer` is about to close a cycle of 31 tasks. */
  function beforeCycle(log: ClusterLog): Client {
    const clients = chain(log, 30);
    const closer = log.open("closer");
    closer.take(exclusive("end"));
    expect(clients.at(-1)?.acquire(exclusive("end"))).toEqual(QUEUED);
    return closer;
  }

  test("leaves the request waiting, is counted, and finds the cycle in a later entry", () => {
    const log = new ClusterLog();
    const closer = beforeCycle(log);
    log.state.searchStepsMax = 0;
    expect(replyTo(log, closer, exclusive("0"))).toBe(STATUS.queued);
    expect(log.table.counts()).toMatchObject({ searchesDeferred: 1, deadlocks: 0 });
    expect(log.table.hasQueuedWork).toBe(true);
    log.apply();
    expect(log.table.hasQueuedWork).toBe(true);
    log.state.searchStepsMax = STEPS_MAX;
    const before = log.said.length;
    log.finishWork();
    expect(refusedSince(log, before)).toEqual([closer.session]);
    expect(log.table.counts()).toMatchObject({ searchesDeferred: 1, deadlocks: 1, waiters: 30 });
  });

  test("refuses, of several requests that waited for it, those that came last", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take(exclusive("a"));
    b.take(exclusive("b"));
    c.take(exclusive("c"));
    log.state.searchStepsMax = 0;
    for (const [client, key] of [
      [a, "b"],
      [b, "c"],
      [c, "a"],
    ] as const) {
      expect(client.acquire(exclusive(key))).toEqual(QUEUED);
    }
    expect(b.acquire(exclusive("a"), WAIT_FOREVER)).toEqual(QUEUED);
    log.state.searchStepsMax = STEPS_MAX;
    const before = log.said.length;
    log.finishWork();
    expect(refusedSince(log, before)).toEqual([c.session, b.session]);
  });

  test("gives up a head start that closes the cycle, and refuses nobody", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take(exclusive("k"));
    b.take(exclusive("m"));
    expect(b.acquire(exclusive("k", "l"))).toEqual(QUEUED);
    log.state.searchStepsMax = 0;
    const asking = { options: { priority: 9 } };
    expect(c.acquire(exclusive("l", "m"), WAIT_FOREVER, asking)).toEqual(QUEUED);
    expect(log.line("l")).toEqual(["|", "c", "b"]);
    log.state.searchStepsMax = STEPS_MAX;
    log.finishWork();
    expect(log.line("l")).toEqual(["|", "b", "c"]);
    expect(log.table.counts().deadlocks).toBe(0);
  });

  test("looks at what else its task waits for when the request has gone by its turn", () => {
    const log = new ClusterLog();
    const [a, b, z] = [log.open("a"), log.open("b"), log.open("z")];
    z.take(exclusive("z"));
    a.take(exclusive("a"));
    b.take(exclusive("b"));
    expect(b.acquire(exclusive("a"))).toEqual(QUEUED);
    log.state.searchStepsMax = 0;
    expect(a.acquire(exclusive("z"))).toEqual(QUEUED);
    const going = a.sequence;
    expect(a.acquire(exclusive("b"))).toEqual(QUEUED);
    a.end(going);
    log.state.searchStepsMax = STEPS_MAX;
    log.finishWork();
    expect(log.table.counts()).toMatchObject({ deadlocks: 1, waiters: 1 });
  });

  test("goes on where a snapshot was taken in between, and says the same", () => {
    const log = new ClusterLog();
    const closer = beforeCycle(log);
    log.state.searchStepsMax = 0;
    expect(replyTo(log, closer, exclusive("0"))).toBe(STATUS.queued);
    const before = log.table.hash();
    const snapshot = log.table.snapshot(1);
    const chunks = draw(snapshot, 1);
    log.state.searchStepsMax = STEPS_MAX;
    // The search changes its request while the snapshot is written.
    log.finishWork();
    expect(log.table.counts().deadlocks).toBe(1);
    const { table } = restoredState([...chunks, ...rest(snapshot)]);
    expect(table.hash()).toBe(before);
    const outbox = { toSession: () => {}, attached: () => {} };
    for (let index = log.index; table.hasQueuedWork; index += 1) {
      table.apply({ index, stamp: log.stamp, wallMs: log.wallMs, commands: [] }, outbox);
    }
    expect(table.counts().deadlocks).toBe(1);
    expect(table.inspect("0")).toEqual(log.table.inspect("0"));
  });

  test("is given up, and counted, where all the steps of an entry are too few", () => {
    const log = new ClusterLog();
    const closer = beforeCycle(log);
    log.state.searchStepsMax = 30;
    expect(replyTo(log, closer, exclusive("0"))).toBe(STATUS.queued);
    log.finishWork();
    expect(log.table.counts()).toMatchObject({ searchesGivenUp: 1, deadlocks: 0, waiters: 31 });
    expect(log.table.hasQueuedWork).toBe(false);
  });
});

describe("a task that has nothing else and nobody behind it", () => {
  test("costs no step at all, be there a hundred thousand before it", { timeout: 60_000 }, () => {
    const log = new ClusterLog();
    const holder = log.open("holder", 600_000);
    const waiter = log.open("waiter", 600_000);
    const hold = holder.take();
    let steps = 0;
    for (let task = 1; task <= 100_000; task += 1) {
      log.apply(waiter.acquiring(exclusive("k"), WAIT_FOREVER, { task }));
      steps += stepsOf(log.state);
      if (task % 500 === 0) waiter.keepalive({ mark: task });
    }
    // Grants and cancels look at nothing either.
    holder.end(hold);
    steps += stepsOf(log.state);
    waiter.end(50_000);
    expect(steps + stepsOf(log.state)).toBe(0);
    expect(log.table.counts()).toMatchObject({ waiters: 99_998, deadlocks: 0 });
  });

  test("stands in nobody's way in a search that goes through its queue", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const many = log.open("many");
    a.take(permits("s", 2, 2));
    b.take(exclusive("k"));
    for (let task = 1; task <= 500; task += 1) {
      log.apply(many.acquiring(permits("s", 1), WAIT_FOREVER, { task }));
    }
    expect(b.acquire(permits("s", 1))).toEqual(QUEUED);
    expect(a.acquire(exclusive("k"))).toMatchObject({ status: ERROR_NUMBERS.DEADLOCK });
    expect(stepsOf(log.state)).toBeLessThan(2_000);
    expect(log.table.counts().deadlocks).toBe(1);
  });
});

describe("a long queue of tasks that hold something", () => {
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
      expect(stepsOf(log.state)).toBeLessThan(8);
    }
    b.take(exclusive("m"));
    expect(b.acquire(items())).toEqual(QUEUED);
    const refusal = a.acquire(exclusive("m"));
    expect(stepsOf(log.state)).toBeLessThan(300 * 8);
    // Those between are not named: b waits for a as well.
    const cycle = refusal !== undefined && "cycle" in refusal ? (refusal.cycle ?? []) : [];
    expect(cycle.map(({ sessionName, key }) => `${sessionName}:${key}`)).toEqual(["a:m", "b:k"]);
    expect(log.table.counts().deadlocks).toBe(1);
  });
});

test("a task with very many holds begins to wait as fast as any other", () => {
  const log = new ClusterLog();
  const [a, b] = [log.open("a"), log.open("b")];
  for (let at = 0; at < 200; at += 1) {
    const read = { mark: a.sequence, acknowledged: [a.sequence] };
    a.take(shared(`${at}`), read);
  }
  // More than a few of its holds are listed whether it waits or not.
  const key = log.state.keys.get("199");
  expect(typeof key === "object" && key.heldByWaiters.length).toBe(1);
  b.take(exclusive("k"));
  expect(b.acquire(exclusive("7"))).toEqual(QUEUED);
  expect(a.acquire(exclusive("k"))).toMatchObject({ status: ERROR_NUMBERS.DEADLOCK });
});
