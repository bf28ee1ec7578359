/** The smaller data structures of the table, each compared with a plain one. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AccessState } from "../../../src/lockfsm/records/access-state.js";
import { CopyOnWrite } from "../../../src/lockfsm/records/copy-on-write.js";
import type { KeyEntry } from "../../../src/lockfsm/records/key.js";
import { KeyIndex } from "../../../src/lockfsm/records/key-index.js";
import { ReplyWindow, Slot } from "../../../src/lockfsm/records/reply-window.js";
import { Session } from "../../../src/lockfsm/records/session.js";
import { CANCELLED } from "../../../src/lockfsm/results.js";
import { compareByteOrder } from "../../../src/lockfsm/structures/byte-order.js";
import { DueHeap, NOT_IN_HEAP } from "../../../src/lockfsm/structures/due-heap.js";
import { hashNumber, ShardedMap } from "../../../src/lockfsm/structures/sharded-map.js";
import { sortByNumber } from "../../../src/lockfsm/structures/sort.js";
import { WAIT_FOREVER } from "../../../src/protocol/index.js";
import { runsOf } from "../../runs.js";
import { ClusterLog, exclusive } from "../plans/cluster-log.js";

const { noCredential } = new AccessState();

const wellFormed = fc.string({ unit: "binary" });
const encoder = new TextEncoder();

test("keys are ordered as their UTF-8 bytes are", () => {
  const tricky = fc.oneof(
    wellFormed,
    fc.constantFrom("\u{ffff}", "\u{e000}", "\u{10000}", "\u{d7ff}"),
  );
  const key = fc.array(tricky, { maxLength: 3 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(key, key, (left, right) => {
      const bytes = Buffer.compare(encoder.encode(left), encoder.encode(right));
      expect(Math.sign(compareByteOrder(left, right))).toBe(bytes);
    }),
    { numRuns: runsOf(500) },
  );
});

test("due times come out by time, then number, however they were put in, moved and removed", () => {
  const change = fc.record({ at: fc.nat(20), kind: fc.constantFrom("add", "move", "remove") });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200, size: "max" }), (changes) => {
      const heap = new DueHeap();
      const items: { dueAt: number; number: number; heapIndex: number }[] = [];
      for (const [number, { at, kind }] of changes.entries()) {
        const target = items[at % Math.max(1, items.length)];
        if (kind === "add" || target === undefined) {
          const item = { dueAt: at, number, heapIndex: NOT_IN_HEAP };
          items.push(item);
          heap.add(item);
        } else if (kind === "move") {
          const before = target.dueAt;
          target.dueAt += at;
          heap.postponed(target, before);
        } else {
          heap.remove(target);
          items.splice(items.indexOf(target), 1);
        }
      }
      items.sort((left, right) => left.dueAt - right.dueAt || left.number - right.number);
      for (const item of items) {
        expect(heap.first).toBe(item);
        heap.remove(item);
      }
      expect(heap.size).toBe(0);
    }),
    { numRuns: runsOf(60) },
  );
});

test("stored replies are what a list of them would be, however many gaps there are", () => {
  const change = fc.record({
    kind: fc.constantFrom(
      ...["reply", "reply", "reply", "outcome", "wait", "nothing"],
      ...["settle", "forget", "acknowledge", "mark"],
    ),
    pick: fc.nat(200),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400, size: "max" }), (changes) => {
      const session = sessionOf();
      const window = new ReplyWindow(session);
      let expected: { readonly sequence: number; readonly state: string }[] = [];
      let [highest, mark] = [0, 1];
      const without = (sequence: number) => expected.filter((one) => one.sequence !== sequence);
      for (const [stamp, { kind, pick }] of changes.entries()) {
        const picked = expected[pick % Math.max(1, expected.length)];
        const slot = picked && window.find(picked.sequence);
        if (kind === "mark") {
          mark = Math.max(mark, 1 + (pick % (highest + 1)));
          window.raiseMark(mark);
          expected = expected.filter(
            ({ sequence, state }) => state !== "reply" || sequence >= mark,
          );
        } else if (kind === "acknowledge") {
          window.acknowledge(picked?.sequence ?? pick);
          if (picked?.state === "outcome") expected = without(picked.sequence);
        } else if (kind === "forget") {
          if (slot === undefined) continue;
          window.forget(slot);
          expected = without(slot.sequence);
        } else if (kind === "settle") {
          if (slot === undefined || picked?.state !== "waiting") continue;
          window.settle(slot, stamp, CANCELLED);
          expected = expected.map((one) => (one === picked ? { ...one, state: "outcome" } : one));
        } else {
          highest += 1;
          if (kind === "nothing") continue;
          const state = kind === "wait" ? "waiting" : (kind as "reply" | "outcome");
          window.add(new Slot(highest, stamp, state, CANCELLED, 0));
          expected.push({ sequence: highest, state });
        }
        const slots: unknown[] = [];
        window.forEach(({ sequence, state }) => {
          slots.push({ sequence, state });
        });
        expect(slots).toEqual(expected);
        expect(window.mark).toBe(mark);
        expect(window.unacknowledged).toBe(
          expected.filter(({ state }) => state === "outcome").length,
        );
        expect(window.find(pick)?.sequence).toBe(
          expected.find(({ sequence }) => sequence === pick)?.sequence,
        );
      }
    }),
    { numRuns: runsOf(40) },
  );
});

test("a slot that is not after all others stops the process", () => {
  const window = new ReplyWindow(sessionOf());
  window.add(new Slot(2, 0, "reply", CANCELLED, 0));
  expect(() => window.add(new Slot(2, 0, "reply", CANCELLED, 0))).toThrow("2 after 2");
});

function sessionOf(): Session {
  return new Session(new CopyOnWrite(), 1, "nonce", "name", "", 1_000, 0, 1, noCredential);
}

test("a sort that pauses puts equal numbers and rows of any length in order", () => {
  const numbers = fc.oneof(
    fc.array(fc.nat(50), { maxLength: 40 }),
    fc
      .tuple(fc.integer({ min: 2_000, max: 9_000 }), fc.nat(), fc.constantFrom(3, 2 ** 40))
      .map(([length, seed, range]) =>
        Array.from({ length }, (_, at) => (((at + seed) * 7_368_787) % 10_007) * range),
      ),
    fc.constantFrom(2_048, 2_049, 70_000).map((length) => Array.from({ length }, (_, at) => at)),
  );
  fc.assert(
    fc.property(numbers, (wanted) => {
      const items = wanted.map((number, at) => ({ number, at }));
      const sorting = sortByNumber(items, ({ number }) => number);
      let next = sorting.next();
      for (; next.done !== true; next = sorting.next());
      const found = next.value.map(({ number, at }) => [number, at]);
      const expected = wanted.map((number, at) => [number, at] as const);
      expect(found).toEqual(expected.sort(([a, i], [b, j]) => a - b || i - j));
    }),
    { numRuns: runsOf(10) },
  );
});

describe("a map of many entries", () => {
  test("finds, replaces and forgets across its change to shards and back", () => {
    const map = new ShardedMap<number, number>(hashNumber);
    const count = 40_000;
    const start = 2 ** 50;
    for (let at = 0; at < count; at += 1) map.set(start + at, at);
    map.set(start, -1);
    expect(map.size).toBe(count);
    expect([map.get(start), map.get(start + 39_999), map.get(start + count)]).toEqual([
      -1,
      39_999,
      undefined,
    ]);
    let sum = 0;
    map.forEach(() => {
      sum += 1;
    });
    expect(sum).toBe(count);
    for (let at = 0; at < count; at += 1) expect(map.delete(start + at)).toBe(true);
    expect([map.size, map.delete(start), map.get(start)]).toEqual([0, false, undefined]);
  });
});

describe("the index of keys", () => {
  test("gives pages in byte order while it splits into blocks and shrinks again", () => {
    const index = new KeyIndex();
    const names = Array.from({ length: 20_000 }, (_, at) => `k/${(at * 7_919) % 20_000}`);
    for (const [at, name] of names.entries()) {
      if (at % 2 === 0) index.addRow(name, at + 1);
      else expect(index.add(name).name).toBe(name);
    }
    expect(index.size).toBe(names.length);
    const [first, second] = names as [string, string];
    expect(index.get(first)).toBe(1);
    expect(index.add(first), "instead of the row").toBe(index.get(first));
    expect(index.get(second)).toMatchObject({ name: second });
    expect(index.size).toBe(names.length);
    const sorted = [...names].sort(compareByteOrder);
    const paged: string[] = [];
    for (;;) {
      const page = index.page("k/", paged.at(-1), 777);
      if (page.length === 0) break;
      for (const { name } of page) paged.push(name);
    }
    expect(paged).toEqual(sorted);
    const drop = (name: string) => {
      const entry = index.get(name) as KeyEntry;
      if (typeof entry === "number") index.dropRow(name);
      else index.drop(entry);
    };
    for (const name of sorted.slice(0, 19_990)) drop(name);
    expect(index.size).toBe(10);
    expect(index.page("", undefined, 100).map(({ name }) => name)).toEqual(sorted.slice(19_990));
    for (const name of sorted.slice(19_990)) drop(name);
    expect(index.add("a").name).toBe("a");
    expect(index.page("", undefined, 100)).toHaveLength(1);
  });

  test("tells prefixes apart", () => {
    const index = new KeyIndex();
    for (const name of ["a", "a/", "a/b", "a0", "b", "a/\u{1f512}", "a/\u{ffff}"]) index.add(name);
    const names = (prefix: string, after?: string) =>
      index.page(prefix, after, 10).map(({ name }) => name);
    expect(names("a/")).toEqual(["a/", "a/b", "a/\u{ffff}", "a/\u{1f512}"]);
    expect(names("a/", "a/b")).toEqual(["a/\u{ffff}", "a/\u{1f512}"]);
    expect(names("c")).toEqual([]);
  });
});

describe("seeing", () => {
  test("a page says where the next one begins, and the last one that it is the last", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    for (const key of ["x/3", "x/1", "y", "x/2"]) a.take(exclusive(key));
    const first = log.table.query("x/", undefined, 2);
    expect(first.keys.map(({ key }) => key)).toEqual(["x/1", "x/2"]);
    expect(first.next).toBe("x/2");
    const second = log.table.query("x/", "x/2", 2);
    expect(second.keys.map(({ key }) => key)).toEqual(["x/3"]);
    expect(second.next).toBeNull();
    expect(log.table.query("", undefined, Number.NaN).keys).toHaveLength(4);
  });

  test("ages and leases are in cluster time", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 4_000), log.open("b")];
    const hold = a.take(exclusive("k"), { options: { maxHoldMs: 10_000, value: "here" } });
    log.stamp += 500;
    b.acquire(exclusive("k"), 1_200, { options: { priority: 3 } });
    log.pass(500);
    expect(log.table.inspect("k")).toEqual({
      key: "k",
      kind: "lock",
      limit: 0,
      holds: [
        {
          token: hold.token,
          mode: "exclusive",
          session: a.session,
          sessionName: "a",
          identity: "anonymous",
          task: 1,
          sequence: 1,
          heldMs: 1_000,
          waitedMs: 0,
          leaseMs: 3_000,
          ttlMs: 4_000,
          endsInMs: 9_000,
          isRevoked: false,
          orderedBy: "",
          holder: "session",
          leaseOwner: "",
          permits: 0,
          slots: [],
          value: "here",
        },
      ],
      waiters: [
        {
          mode: "exclusive",
          session: b.session,
          sessionName: "b",
          identity: "anonymous",
          task: 1,
          sequence: 1,
          arrival: expect.any(Number),
          waitingMs: 500,
          endsInMs: 700,
          priority: 3,
          permits: 0,
          isUpgrade: false,
          isEligible: false,
        },
      ],
      cooldowns: [],
    });
  });

  test("a crowd is cut short, and its true size told", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    log.apply(
      ...Array.from({ length: 1_500 }, (_, task) => {
        return b.acquiring(exclusive("k"), WAIT_FOREVER, { task });
      }),
    );
    const view = log.table.inspect("k");
    expect([view.holds.length, view.waiters.length]).toEqual([1, 1_000]);
    expect(view.truncated).toEqual({ holds: 1, waiters: 1_500, cooldowns: 0 });
  });
});
