/** Which request is refused because of a cycle of waits, and which is not. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  type CycleMember,
  type Item,
  MESSAGE,
  OP,
  type Result,
  type SessionMessage,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import {
  type Asking,
  type Client,
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
} from "../plans/cluster-log.js";

const QUEUED = { status: STATUS.queued };
const SECRET = "5ec2e7".padStart(32, "0");

/** Session names and keys of a cycle that was refused: `["a:k", "b:l"]`. */
function cycleOf(result: Result | undefined): string[] | undefined {
  if (result?.status !== ERROR_NUMBERS.DEADLOCK || !("cycle" in result)) return undefined;
  const cycle: readonly CycleMember[] = result.cycle ?? [];
  return cycle.map(({ sessionName, key }) => `${sessionName}:${key}`);
}

/** The waits that were ended, in order. */
function cyclesIn(messages: readonly SessionMessage[]): string[][] {
  return messages.flatMap((message) => {
    const cycle = message.kind === MESSAGE.outcome ? cycleOf(message.result) : undefined;
    return cycle === undefined ? [] : [cycle];
  });
}

function start(...names: string[]): [ClusterLog, ...Client[]] {
  const log = new ClusterLog();
  return [log, ...names.map((name) => log.open(name))];
}

function wait(client: Client, items: readonly Item[] = exclusive("k"), asking: Asking = {}) {
  return client.acquire(items, WAIT_FOREVER, asking);
}

describe("the request that closes a cycle is refused", () => {
  test("between two tasks, with the cycle named from itself on", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    a.take(exclusive("k"));
    b.take(exclusive("l"));
    expect(wait(a, exclusive("l"))).toEqual(QUEUED);
    const refusal = wait(b, exclusive("k"));
    expect(cycleOf(refusal)).toEqual(["b:k", "a:l"]);
    expect(log.line("k")).toEqual(["a", "|"]);
    expect(log.table.counts()).toMatchObject({ waiters: 1, deadlocks: 1, searchesDeferred: 0 });
  });

  test("of five tasks, whatever stands next to them", () => {
    const log = new ClusterLog();
    const clients = ["a", "b", "c", "d", "e", "x"].map((name) => log.open(name));
    const keys = ["1", "2", "3", "4", "5"];
    for (const [at, key] of keys.entries()) clients[at]?.take(exclusive(key));
    clients[5]?.take(exclusive("x"));
    expect(wait(clients[5] as Client, exclusive("1"))).toEqual(QUEUED);
    for (const at of [0, 1, 2, 3]) {
      expect(wait(clients[at] as Client, exclusive(keys[at + 1] as string))).toEqual(QUEUED);
    }
    expect(cycleOf(wait(clients[4] as Client, exclusive("1")))).toEqual([
      "e:1",
      "a:2",
      "b:3",
      "c:4",
      "d:5",
    ]);
  });

  test("of one task that asks for what it holds, and not of another one of its session", () => {
    const [, a] = start("a") as [ClusterLog, Client];
    a.take(exclusive("k"));
    expect(cycleOf(wait(a))).toEqual(["a:k"]);
    expect(wait(a, exclusive("k"), { task: 2 })).toEqual(QUEUED);
  });

  test("of one task that waits for the same key already", () => {
    const [, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    a.take();
    expect(wait(b)).toEqual(QUEUED);
    expect(cycleOf(wait(b))).toEqual(["b:k"]);
  });

  test("through a place that somebody holds in a queue because of another key", () => {
    const [, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    a.take(exclusive("k"));
    c.take(exclusive("m"));
    expect(wait(b, exclusive("k", "l"))).toEqual(QUEUED);
    expect(wait(c, exclusive("l"))).toEqual(QUEUED);
    expect(cycleOf(wait(a, exclusive("m")))).toEqual(["a:m", "c:l", "b:k"]);
  });

  test("of several requests of one task, for each of which the task waits", () => {
    const [, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    b.take(exclusive("x"));
    const free = start("z")[1] as Client;
    free.take(exclusive("y"));
    a.take(exclusive("k"));
    expect(wait(a, exclusive("x"))).toEqual(QUEUED);
    expect(cycleOf(wait(b, exclusive("k")))).toEqual(["b:k", "a:x"]);
  });

  test("behind somebody who waits for more permits than it does, and for nothing else", () => {
    const [log, a, b, big, z] = start("a", "b", "big", "z") as [
      ClusterLog,
      Client,
      Client,
      Client,
      Client,
    ];
    a.take(permits("s", 1, 3));
    z.take(permits("s", 2));
    b.take(exclusive("k"));
    expect(wait(big, permits("s", 3))).toEqual(QUEUED);
    // One permit would be enough for b, but big comes first and needs a's as well.
    expect(wait(b, permits("s", 1))).toEqual(QUEUED);
    expect(cycleOf(wait(a, exclusive("k")))).toEqual(["a:k", "b:s"]);
    expect(log.line("s")).toEqual(["a", "z", "|", "big", "b"]);
  });

  test("when two holders of one key want to be its only one: the second learns it", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    const first = a.take(shared("k"));
    const second = b.take(shared("k"));
    expect(a.upgrade(first)).toEqual(QUEUED);
    expect(cycleOf(b.upgrade(second))).toEqual(["b:k", "a:k"]);
    expect(log.line("k")).toEqual(["a", "b", "|", "a"]);
    expect(resultOf(b.end(second).slice(1))).toMatchObject({ status: STATUS.upgraded });
  });
});

describe("nobody is refused", () => {
  test("for waiting behind a cycle of others that do not look", () => {
    const [, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    a.take(exclusive("k"));
    b.take(exclusive("l"));
    c.take(exclusive("m"));
    const blind = { options: { detect: false } };
    expect(wait(a, exclusive("l"), blind)).toEqual(QUEUED);
    expect(wait(b, exclusive("k"), blind)).toEqual(QUEUED);
    expect(wait(c, exclusive("k"))).toEqual(QUEUED);
  });

  test("for permits, while somebody who could go on has enough of them", () => {
    const [, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    a.take([...permits("s", 1, 2), ...exclusive("k")]);
    b.take(permits("s", 1, 2));
    c.take(exclusive("m"));
    expect(wait(a, exclusive("m"))).toEqual(QUEUED);
    // It waits for a's permit or b's, and b does not wait for anybody.
    expect(wait(c, permits("s", 1))).toEqual(QUEUED);
    // Now nobody who could go on has a permit that c waits for.
    expect(cycleOf(wait(b, exclusive("k")))).toEqual(["b:k", "a:m", "c:s"]);
  });

  test("for a permit that it would get if only it stood behind nobody else", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => log.open(name)) as [
      Client,
      Client,
      Client,
      Client,
    ];
    a.take(permits("s", 1, 3));
    b.take(exclusive("c"));
    d.take(exclusive("a"));
    expect(wait(c, [...permits("s", 1), ...exclusive("c")])).toEqual(QUEUED);
    expect(wait(a, exclusive("c", "a"))).toEqual(QUEUED);
    // There are two permits left: what a holds is not what b waits for.
    expect(cycleOf(wait(b, permits("s", 1)))).toEqual(["b:s", "c:c"]);
  });

  test("because of a hold with an end of its own: a bearer's, or what keeps a key closed", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    const token = a.take(exclusive("k"));
    a.handOver(token, SECRET);
    b.take(exclusive("l"));
    expect(wait(a, exclusive("l"))).toEqual(QUEUED);
    expect(wait(b, exclusive("k"))).toEqual(QUEUED);
    expect(log.table.counts().deadlocks).toBe(0);
  });

  test("while what it waits for is only not handed out yet", () => {
    const log = new ClusterLog({ grantsPerStepMax: 1 });
    const [a, b, c] = ["a", "b", "c"].map((name) => log.open(name)) as [Client, Client, Client];
    const hold = a.take(exclusive("k"));
    c.take(exclusive("x"));
    expect(wait(b, shared("k"))).toEqual(QUEUED);
    expect(wait(c, shared("k"))).toEqual(QUEUED);
    a.sequence += 1;
    const head = { sequence: a.sequence, mark: 1, acknowledged: [] };
    const release = a.make({ op: OP.end, ...head, target: hold.sequence });
    // The grant to c is left over by the release, and comes with the next entry.
    const messages = log.apply(release, b.acquiring(exclusive("x")));
    expect(log.table.hasQueuedWork).toBe(true);
    const results = messages.flatMap((message) => ("result" in message ? [message.result] : []));
    const statuses = results.map(({ status }) => status);
    expect(statuses).toEqual([STATUS.released, STATUS.granted, STATUS.queued]);
    log.finishWork();
    expect(log.line("k")).toEqual(["b", "c", "|"]);
  });

  test("because of a wait whose time is over and that was only not swept yet", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    const [a, b, z] = ["a", "b", "z"].map((name) => log.open(name)) as [Client, Client, Client];
    a.take(exclusive("k"));
    b.take(exclusive("l"));
    z.take(exclusive("z"));
    expect(z.acquire(exclusive("k"), 10)).toEqual(QUEUED);
    expect(a.acquire(exclusive("l"), 10)).toEqual(QUEUED);
    log.stamp += 10;
    // This entry sweeps the first of the two waits that are over.
    wait(b, exclusive("k"));
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    expect(log.line("l")).toEqual(["b", "|", "a"]);
    log.apply();
    expect(log.line("l")).toEqual(["b", "|"]);
  });
});

describe("a head start that would close a cycle", () => {
  test("is given up, and the request waits behind", () => {
    const [log, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    a.take(exclusive("k"));
    b.take(exclusive("m"));
    expect(wait(b, exclusive("k", "l"))).toEqual(QUEUED);
    // Before b in l it would wait for b's m, and b for it.
    const asking = { options: { priority: 9 } };
    expect(wait(c, exclusive("l", "m"), asking)).toEqual(QUEUED);
    expect(log.line("l")).toEqual(["|", "b", "c"]);
    expect(log.line("m")).toEqual(["b", "|", "c"]);
    expect(log.table.counts().deadlocks).toBe(0);
  });

  test("is given up even if the request's task has nothing else", () => {
    const [log, a, b, z] = start("a", "b", "z") as [ClusterLog, Client, Client, Client];
    a.take(shared("k"));
    z.take(exclusive("l"));
    expect(wait(a, [...shared("k"), ...exclusive("l")])).toEqual(QUEUED);
    log.stamp += 1;
    expect(wait(b, exclusive("k"), { options: { priority: 5 } })).toEqual(QUEUED);
    expect(log.line("k")).toEqual(["a", "|", "a", "b"]);
    expect(log.table.counts().deadlocks).toBe(0);
  });

  test("does not help where the cycle closes without it", () => {
    const [log, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    a.take(exclusive("k"));
    b.take(exclusive("l"));
    expect(wait(a, exclusive("l"))).toEqual(QUEUED);
    expect(wait(c, exclusive("k"))).toEqual(QUEUED);
    const refusal = wait(b, exclusive("k"), { options: { priority: 5 } });
    expect(cycleOf(refusal)).toEqual(["b:k", "a:l"]);
    expect(log.line("k")).toEqual(["a", "|", "c"]);
  });
});

describe("where no request closes the cycle, the last of those that may be refused gives way", () => {
  test("when somebody who still waits is granted something", () => {
    const [log, a, b, z] = start("a", "b", "z") as [ClusterLog, Client, Client, Client];
    const first = z.take(exclusive("x"));
    b.take(exclusive("y"));
    expect(wait(a, exclusive("x"))).toEqual(QUEUED);
    expect(wait(a, exclusive("y"))).toEqual(QUEUED);
    // x will be a's in any case, so this closes the cycle at once: b stands behind a.
    expect(cycleOf(wait(b, exclusive("x")))).toEqual(["b:x", "a:y"]);
    z.end(first);
    expect(log.line("x")).toEqual(["a", "|"]);
  });

  test("when a hold is adopted by one who waits", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    const hold = a.take(exclusive("k"));
    a.handOver(hold, SECRET);
    b.take(exclusive("l"));
    expect(wait(a, exclusive("l"))).toEqual(QUEUED);
    expect(wait(b, exclusive("k"))).toEqual(QUEUED);
    a.adopt("k", SECRET);
    expect(cyclesIn(log.said.map(({ message }) => message))).toEqual([["b:k", "a:l"]]);
    expect(log.table.counts()).toMatchObject({ waiters: 1, deadlocks: 1 });
  });

  test("and nobody gives way who does not want to, nor before the others", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    const hold = a.take(exclusive("k"));
    a.handOver(hold, SECRET);
    b.take(exclusive("l"));
    expect(wait(a, exclusive("l"))).toEqual(QUEUED);
    expect(wait(b, exclusive("k"), { options: { detect: false } })).toEqual(QUEUED);
    a.adopt("k", SECRET);
    expect(cyclesIn(log.said.map(({ message }) => message))).toEqual([["a:l", "b:k"]]);
  });

  test("when a limit falls", () => {
    const [log, a, b, op] = start("a", "b", "op") as [ClusterLog, Client, Client, Client];
    op.setLimit("s", 3);
    a.take(permits("s", 1));
    op.take(permits("s", 2));
    b.take(exclusive("k"));
    expect(wait(b, permits("s", 2))).toEqual(QUEUED);
    expect(wait(a, exclusive("k"))).toEqual(QUEUED);
    expect(cyclesIn(op.setLimit("s", 2))).toEqual([["a:k", "b:s"]]);
    expect(log.line("s")).toEqual(["a", "op", "|", "b"]);
  });

  test("when a limit falls far from the head of a long queue, by later entries", () => {
    const log = new ClusterLog({ grantsPerStepMax: 4 });
    const [a, b, op] = ["a", "b", "op"].map((name) => log.open(name)) as [Client, Client, Client];
    op.setLimit("s", 3);
    a.take(permits("s", 1));
    op.take(permits("s", 2));
    for (let at = 0; at < 100; at += 1) {
      const one = log.open(`w${at}`);
      one.take(exclusive(`own ${at}`));
      expect(wait(one, permits("s", 1))).toEqual(QUEUED);
    }
    b.take(exclusive("k"));
    expect(wait(b, permits("s", 2))).toEqual(QUEUED);
    expect(wait(a, exclusive("k"))).toEqual(QUEUED);
    expect(cyclesIn(op.setLimit("s", 2))).toEqual([]);
    const before = log.said.length;
    log.finishWork();
    const later = log.said.slice(before).map(({ message }) => message);
    expect(cyclesIn(later)).toEqual([["a:k", "b:s"]]);
    expect(log.table.counts()).toMatchObject({ waiters: 101, deadlocks: 1 });
  });

  test("in every one of many cycles that one grant closed", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    const hold = a.take(exclusive("k"));
    a.handOver(hold, SECRET);
    const others = Array.from({ length: 40 }, (_, at) => log.open(`b${at}`));
    for (const other of others) other.take(shared("l"));
    expect(wait(a, exclusive("l"))).toEqual(QUEUED);
    for (const other of others) expect(wait(other, shared("k"))).toEqual(QUEUED);
    a.adopt("k", SECRET);
    expect(log.table.counts()).toMatchObject({ deadlocks: 40, waiters: 1 });
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("and a cycle in which nobody may be refused hides no other", () => {
    const [log, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    const hold = a.take(exclusive("k"));
    a.handOver(hold, SECRET);
    b.take(exclusive("l"));
    c.take(exclusive("m"));
    const blind = { options: { detect: false } };
    expect(wait(a, exclusive("l"), blind)).toEqual(QUEUED);
    expect(wait(a, exclusive("m"))).toEqual(QUEUED);
    expect(wait(b, shared("k"), blind)).toEqual(QUEUED);
    expect(wait(c, shared("k"))).toEqual(QUEUED);
    a.adopt("k", SECRET);
    expect(cyclesIn(log.said.map(({ message }) => message))).toEqual([["c:k", "a:m"]]);
  });
});

describe("the thief of a key", () => {
  test("comes before those who were reached there and wait for another key", () => {
    const [log, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    a.take(exclusive("l"));
    expect(wait(b, exclusive("k", "l"))).toEqual(QUEUED);
    c.take(exclusive("k"), { options: { steal: true } });
    expect(log.line("k")).toEqual(["c", "|", "b"]);
  });
});

describe("refused deadlocks are remembered", () => {
  test("the newest first, each from the refused request on, and sixteen of them", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    for (let task = 1; task <= 20; task += 1) {
      a.take(exclusive(`k${task}`), { task });
      b.take(exclusive(`l${task}`), { task });
      wait(a, exclusive(`l${task}`), { task });
      wait(b, exclusive(`k${task}`), { task });
    }
    const cycles = log.table.waitGraph(99).refused.map(({ cycle }) => {
      return cycle.map(({ sessionName, key }) => `${sessionName}:${key}`);
    });
    const tasks = Array.from({ length: 16 }, (_, at) => 20 - at);
    expect(cycles).toEqual(tasks.map((task) => [`b:k${task}`, `a:l${task}`]));
  });

  test("also when it arose from an adopted hold, and the outcome of a wait reports it", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    const hold = a.take(exclusive("k"));
    a.handOver(hold, SECRET);
    b.take(exclusive("l"));
    wait(a, exclusive("l"));
    wait(b, exclusive("k"));
    expect(log.table.waitGraph(99).refused).toEqual([]);
    a.adopt("k", SECRET);
    const [refused] = log.table.waitGraph(99).refused;
    expect(refused?.cycle.map(({ sessionName, key }) => [sessionName, key])).toEqual([
      ["b", "k"],
      ["a", "l"],
    ]);
  });
});
