/** The order of grants: arrival, less the head start of a priority. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MESSAGE, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, permits, shared } from "../plans/cluster-log.js";

const QUEUED = { status: STATUS.queued };

/** Sessions and sequences in the order in which they were granted, each released at once. */
function serve(log: ClusterLog, clients: readonly Client[], key: string): string[] {
  const served: string[] = [];
  for (;;) {
    const [hold] = log.table.inspect(key).holds;
    if (hold === undefined) return served;
    const client = clients.find(({ session }) => session === hold.session) as Client;
    served.push(`${hold.sessionName}/${hold.task}`);
    client.end(hold.sequence);
  }
}

describe("a key is given in the order of arrival", () => {
  test("to requests of one priority, no matter who asks or gives up in between", () => {
    const arrival = fc.record({
      client: fc.nat(4),
      elapsedMs: fc.constantFrom(0, 0, 1, 100),
      givesUp: fc.nat(5).map((roll) => roll === 0),
    });
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 40 }), fc.nat(60), (arrivals, priority) => {
        const log = new ClusterLog();
        const clients = Array.from({ length: 5 }, (_, at) => log.open(`${at}`));
        const first = clients[0] as Client;
        const hold = first.take();
        const expected: string[] = [];
        for (const [at, { client: which, elapsedMs, givesUp }] of arrivals.entries()) {
          log.stamp += elapsedMs;
          const client = clients[which] as Client;
          const task = at + 2;
          const asking = { task, options: { priority } };
          expect(client.acquire(exclusive("k"), WAIT_FOREVER, asking)).toEqual(QUEUED);
          if (givesUp) client.end(client.sequence);
          else expected.push(`${which}/${task}`);
        }
        first.end(hold);
        expect(serve(log, clients, "k")).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  test("less the head start of each, a step of the setting for every degree of priority", () => {
    const arrival = fc.record({
      elapsedMs: fc.integer({ min: 0, max: 300 }),
      priority: fc.integer({ min: 0, max: 10 }),
    });
    const stepMs = fc.constantFrom(0, 1, 50, 1_000);
    fc.assert(
      fc.property(fc.array(arrival, { maxLength: 40 }), stepMs, (arrivals, priorityStepMs) => {
        const log = new ClusterLog({ priorityStepMs });
        const client = log.open("c", 600_000);
        const hold = client.take();
        const expected: { readonly name: string; readonly rank: number }[] = [];
        for (const [at, { elapsedMs, priority }] of arrivals.entries()) {
          log.stamp += elapsedMs;
          const task = at + 2;
          client.acquire(exclusive("k"), WAIT_FOREVER, { task, options: { priority } });
          expected.push({ name: `c/${task}`, rank: log.stamp - priority * priorityStepMs });
        }
        client.end(hold);
        // Equal ranks stay in the order of arrival: the sort is stable.
        expected.sort((left, right) => left.rank - right.rank);
        expect(serve(log, [client], "k")).toEqual(expected.map(({ name }) => name));
      }),
      { numRuns: 150 },
    );
  });

  test("also when a setting changes while they wait: each keeps what it got at its arrival", () => {
    const log = new ClusterLog({ priorityStepMs: 1_000 });
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take();
    b.acquire(exclusive("k"), WAIT_FOREVER, { options: { priority: 2 } });
    a.changeSetting("priorityStepMs", 10_000);
    c.acquire(exclusive("k"), WAIT_FOREVER, { options: { priority: 1 } });
    expect(log.line("k")).toEqual(["a", "|", "c", "b"]);
    a.changeSetting("priorityStepMs", 0);
    a.end(hold);
    expect(log.line("k")).toEqual(["c", "|", "b"]);
  });

  test("in which shared ones go together only up to the first that wants it alone", () => {
    const log = new ClusterLog();
    const names = ["a", "b", "c", "d", "e"];
    const clients = names.map((name) => log.open(name));
    const [a, b, c, d, e] = clients as [Client, Client, Client, Client, Client];
    const hold = a.take();
    b.acquire(shared("k"));
    c.acquire(shared("k"));
    d.acquire(exclusive("k"));
    e.acquire(shared("k"));
    a.end(hold);
    expect(log.line("k")).toEqual(["b", "c", "|", "d", "e"]);
    // A head start brings a shared one before those who wait, to those who share.
    a.acquire(shared("k"), WAIT_FOREVER, { options: { priority: 1 } });
    expect(log.line("k")).toEqual(["b", "c", "a", "|", "d", "e"]);
  });
});

describe("a request of several keys", () => {
  test("holds its place in each of them while another keeps it back", () => {
    const log = new ClusterLog();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => log.open(name)) as [
      Client,
      Client,
      Client,
      Client,
    ];
    const hold = a.take(exclusive("k"));
    expect(b.acquire([...exclusive("k", "l"), ...permits("s", 1, 3)])).toEqual(QUEUED);
    // l and s are free, and b is first there.
    expect(c.acquire(exclusive("l"))).toEqual(QUEUED);
    expect(d.acquire(permits("s", 1))).toEqual(QUEUED);
    expect(log.table.inspect("l").waiters.map(({ isEligible }) => isEligible)).toEqual([
      true,
      false,
    ]);
    a.end(hold);
    expect([log.line("k"), log.line("l"), log.line("s")]).toEqual([
      ["b", "|"],
      ["b", "|", "c"],
      ["b", "d", "|"],
    ]);
  });

  test("and others like it are served in one order everywhere, so that all of them are", () => {
    const items = fc.uniqueArray(fc.constantFrom("k", "l", "m", "n"), {
      minLength: 1,
      maxLength: 4,
    });
    const priority = fc.constantFrom(0, 0, 0, 1, 3);
    const asks = fc.array(fc.record({ items, priority, elapsedMs: fc.nat(900) }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(asks, (all) => {
        const log = new ClusterLog();
        const client = log.open("c", 600_000);
        const hold = client.take(exclusive("k", "l", "m", "n"));
        const ranks = new Map<number, number>();
        for (const [at, ask] of all.entries()) {
          log.stamp += ask.elapsedMs;
          const asking = { task: at + 2, options: { priority: ask.priority } };
          client.acquire(exclusive(...ask.items), WAIT_FOREVER, asking);
          ranks.set(client.sequence, log.stamp - ask.priority * 1_000 + at / 1_000);
        }
        client.end(hold);
        const granted = (): number[] =>
          log.said.flatMap(({ message }) => {
            const isGrant =
              message.kind === MESSAGE.outcome && message.result.status === STATUS.granted;
            return isGrant ? [message.sequence] : [];
          });
        for (let served = 0; served < all.length; served += 1) {
          const sequence = granted()[served];
          expect(sequence, "nobody moves on").not.toBe(undefined);
          client.end(sequence as number);
        }
        // In each key by itself those who want it come in the one order.
        for (const key of ["k", "l", "m", "n"] as const) {
          const ofKey = granted().filter((sequence) => {
            return all[sequence - 2]?.items.includes(key);
          });
          const sorted = [...ofKey].sort((left, right) => {
            return (ranks.get(left) ?? 0) - (ranks.get(right) ?? 0);
          });
          expect(ofKey).toEqual(sorted);
        }
      }),
      { numRuns: 100 },
    );
  });
});
