/** Nothing is revealed of what may not be observed: by views, and by refusals that name others. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { LockTable } from "../../../src/lockfsm/index.js";
import { Identity } from "../../../src/lockfsm/records/identity.js";
import { whoAmI } from "../../../src/lockfsm/views/access-views.js";
import {
  ACCESS_LEVEL,
  type AccessLevel,
  LOCAL_CREDENTIAL,
  OP,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { AccessLog, type GivenGrant } from "../plans/access-log.js";
import { exclusive, shared } from "../plans/cluster-log.js";

const NAMES = [
  "",
  "a",
  "b",
  "a/",
  "a/b",
  "a/b/c",
  "ab",
  "a\uffff",
  "\u{10000}",
  "\ue000",
  "é",
  "~locks/a",
];
const anyKey = fc.oneof(
  fc.constantFrom(...NAMES.slice(1)),
  fc.string({
    unit: fc.constantFrom("a", "b", "/", "\uffff", "\u{1f512}", "é"),
    minLength: 1,
    maxLength: 5,
  }),
);
const anyPrefix = fc.oneof(anyKey, fc.constant(""));
const level = fc.constantFrom<AccessLevel[]>("observe", "acquire", "operate");
const anyGrants: fc.Arbitrary<readonly GivenGrant[]> = fc.uniqueArray(
  fc.oneof(
    fc.tuple(anyKey, fc.constant(false), level),
    fc.tuple(anyPrefix, fc.constant(true), level),
  ),
  { maxLength: 8, selector: ([key, isPrefix]) => `${key} ${isPrefix}` },
);

/** As the grants are written down: the highest of those that cover the key. */
function highest(grants: readonly GivenGrant[], key: string): number {
  const covering = grants.filter(([of, isPrefix]) => (isPrefix ? key.startsWith(of) : key === of));
  return Math.max(0, ...covering.map(([, , granted]) => ACCESS_LEVEL[granted]));
}

test("the level of a key is the highest of its own grant and of all prefixes of it", () => {
  fc.assert(
    fc.property(anyGrants, fc.array(anyKey, { maxLength: 30 }), (grants, keys) => {
      const identity = new Identity(2, "ci");
      identity.setGrants(
        grants.map(([key, isPrefix, granted]) => ({ key, isPrefix, level: ACCESS_LEVEL[granted] })),
      );
      const around = grants.flatMap(([key]) => [key, `${key}x`, `${key}\0`, key.slice(0, -1)]);
      for (const key of [...keys, ...around].filter((one) => one !== "")) {
        expect(identity.levelOf(key), key).toBe(highest(grants, key));
      }
    }),
    { numRuns: 2_000 },
  );
});

function pagesOf(table: LockTable, prefix: string, limit: number, viewer?: Identity): string[] {
  const found: string[] = [];
  for (let after: string | undefined; ; ) {
    const { keys, next } = table.query(prefix, after, limit, viewer);
    expect(keys.length).toBeLessThanOrEqual(limit);
    found.push(...keys.map(({ key }) => key));
    if (next === null) return found;
    expect(next).toBe(keys.at(-1)?.key);
    after = next;
  }
}

test("pages of keys list all keys that the viewer may observe, in the order of the list", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(anyKey, { minLength: 1, maxLength: 16 }),
      anyGrants,
      anyPrefix,
      fc.integer({ min: 1, max: 4 }),
      (keys, grants, prefix, limit) => {
        const log = new AccessLog();
        const viewer = log.table.findCredential(log.identity("ci", ...grants))?.identity;
        const holder = log.openAs(LOCAL_CREDENTIAL, "holder");
        for (const key of keys) holder.take(exclusive(key));
        const all = pagesOf(log.table, prefix, limit);
        const seen = pagesOf(log.table, prefix, limit, viewer);
        expect(seen).toEqual(all.filter((key) => highest(grants, key) > 0));
      },
    ),
    { numRuns: 500 },
  );
});

/** `a` waits in `open` and `shut` for `b`, who waits for `a` or holds. */
function tangled() {
  const log = new AccessLog();
  const credential = log.identity("ci", ["", true, "acquire"]);
  const [a, b] = [log.openAs(credential, "a"), log.openAs(LOCAL_CREDENTIAL, "b")];
  const viewer = log.table.findCredential(credential)?.identity;
  b.take(exclusive("open", "shut"));
  a.acquire(exclusive("open", "shut"));
  log.grant("ci", ["", true, "none"], ["open", false, "acquire"]);
  return { log, a, b, viewer };
}

describe("what concerns a key that may not be observed", () => {
  test("is left out of explanations and graphs of waits", () => {
    const { log, a, viewer } = tangled();
    const of = { session: a.session, sequence: 1 };
    const { keys } = log.table.explain("open", of, () => undefined, viewer);
    expect(keys).toMatchObject([{ key: "open", blockers: [{ sessionName: "b", key: "open" }] }]);
    expect(log.table.explain("open", of, () => undefined).keys).toHaveLength(2);
    const { edges, tasks } = log.table.waitGraph(99, viewer);
    expect(edges.map(({ key }) => key)).toEqual(["open"]);
    expect(tasks).toHaveLength(2);
    log.grant("ci", ["open", false, "none"]);
    expect(log.table.waitGraph(99, viewer)).toMatchObject({ edges: [], tasks: [] });
  });

  test("is blank in the cycle of a deadlock, but for its mode", () => {
    const log = new AccessLog();
    const credential = log.identity("ci", ["", true, "acquire"]);
    const [a, b] = [log.openAs(credential, "a"), log.openAs(LOCAL_CREDENTIAL, "b")];
    a.take(shared("shut"));
    b.take(exclusive("open"));
    b.acquire(exclusive("shut"));
    log.grant("ci", ["", true, "none"], ["open", false, "acquire"]);
    expect(a.acquire(exclusive("open"))).toEqual({
      status: ERROR_NUMBERS.DEADLOCK,
      cycle: [
        {
          ...{ session: a.session, sessionName: "a", identity: "ci", task: 1 },
          ...{ key: "open", mode: "exclusive" },
        },
        {
          ...{ session: 0, sessionName: "", identity: "", task: 0 },
          ...{ key: "", mode: "exclusive" },
        },
      ],
    });
  });

  test("is blank in refused deadlocks, which are left out if all of them is", () => {
    const log = new AccessLog();
    const credential = log.identity("ci", ["open", false, "observe"]);
    const viewer = log.table.findCredential(credential)?.identity;
    const [a, b] = [log.openAs(LOCAL_CREDENTIAL, "a"), log.openAs(LOCAL_CREDENTIAL, "b")];
    for (const [first, second, task] of [
      ["shut", "open", 1],
      ["hidden", "closed", 2],
    ] as const) {
      a.take(exclusive(first), { task });
      b.take(exclusive(second), { task });
      b.acquire(exclusive(first), WAIT_FOREVER, { task });
      a.acquire(exclusive(second), WAIT_FOREVER, { task });
    }
    const { refused } = log.table.waitGraph(99, viewer);
    const [seen, ...others] = refused;
    expect(others).toEqual([]);
    expect(seen?.cycle).toEqual([
      {
        ...{ session: a.session, sessionName: "a", identity: "local", task: 1 },
        ...{ key: "open", mode: "exclusive" },
      },
      {
        ...{ session: 0, sessionName: "", identity: "", task: 0 },
        ...{ key: "", mode: "exclusive" },
      },
    ]);
    const all = log.table.waitGraph(99).refused.map(({ cycle }) => cycle.map(({ key }) => key));
    expect(all).toEqual([
      ["closed", "hidden"],
      ["open", "shut"],
    ]);
  });

  test("is not looked at: a refused try names no blockers, whether it is held or not", () => {
    const { a } = tangled();
    for (const key of ["shut", "free"]) {
      expect(a.acquire(exclusive(key), 0)).toEqual({ status: ERROR_NUMBERS.FORBIDDEN });
      expect(a.acquire(exclusive(key, "open"), WAIT_FOREVER)).toEqual({
        status: ERROR_NUMBERS.FORBIDDEN,
      });
    }
  });
});

test("changes name the identity of the session, also of the one that handed a hold over", () => {
  const log = new AccessLog();
  const told: string[] = [];
  log.table.listen(({ type, key, sessionName, identity }) => {
    told.push(`${type} ${key} ${sessionName} ${identity}`);
  });
  const a = log.openAs(log.identity("ci", ["", true, "acquire"]), "a");
  const held = a.take(shared("k", "l"));
  a.end(a.take(exclusive("m"), { task: 2 }));
  a.handOver(held, "5e".repeat(16), 1_000);
  log.pass(1_000);
  expect(told).toEqual([
    ...["granted k a ci", "granted l a ci", "granted m a ci", "ended m a ci"],
    ...["moved k a ci", "moved l a ci", "converted k a ci", "converted l a ci"],
    ...["ended k a ci", "ended l a ci"],
  ]);
});

test("views name the identity of each session, also when its credential is gone", () => {
  const log = new AccessLog();
  const a = log.openAs(log.identity("ci", ["", true, "acquire"]), "a");
  const b = log.openAs(LOCAL_CREDENTIAL, "b");
  a.take(exclusive("k"));
  b.acquire(exclusive("k"));
  const { table } = log;
  const [hold] = table.inspect("k").holds;
  expect(hold).toMatchObject({ sessionName: "a", identity: "ci" });
  expect(table.inspect("k").waiters).toMatchObject([{ sessionName: "b", identity: "local" }]);
  expect(table.listSessions(0, 9).sessions).toMatchObject([
    { identity: "ci" },
    { identity: "local" },
  ]);
  expect(table.waitGraph(9).tasks).toMatchObject([{ identity: "local" }, { identity: "ci" }]);
  const explained = table.explain("k", undefined, () => undefined).keys[0]?.blockers ?? [];
  expect(explained[0]).toEqual({
    ...{ sessionName: "a", key: "k", mode: "exclusive", token: hold?.token, identity: "ci" },
    ...{ session: 1, holder: "session" },
  });
  const refused = log.openAs(LOCAL_CREDENTIAL, "c").acquire(exclusive("k"), 0);
  expect(refused).toMatchObject({ blockers: [{ identity: "ci" }, { identity: "local" }] });
  a.handOver(a.take(exclusive("l"), { task: 2 }), "5e".repeat(16), 1_000);
  const ofBearer = { sessionName: "a", session: 0, holder: "bearer", identity: "ci" };
  expect(table.inspect("l").holds).toMatchObject([ofBearer]);
  expect(table.explain("l", undefined, () => undefined).keys).toMatchObject([
    { blockers: [ofBearer] },
  ]);
});

test("questions about rights answer from the highest grant that covers what is asked", () => {
  const log = new AccessLog();
  log.identity("ci", ["orders/", true, "acquire"], ["orders/1", false, "operate"]);
  const { table } = log;
  const orders = { key: "orders/", isPrefix: true, level: "acquire" };
  expect(table.checkAccess("ci", "acquire", "orders/2", false)).toEqual({
    ...{ isKnown: true, isAllowed: true, grant: orders },
  });
  expect(table.checkAccess("ci", "operate", "orders/1", false)).toMatchObject({ isAllowed: true });
  expect(table.checkAccess("ci", "operate", "orders/1", true)).toEqual({
    ...{ isKnown: true, isAllowed: false, grant: orders },
  });
  expect(table.checkAccess("ci", "observe", "orders", false)).toMatchObject({ grant: null });
  expect(table.checkAccess("local", "admin", "", true)).toMatchObject({ isAllowed: true });
  const viewer = table.findCredential(1)?.identity;
  expect(viewer && whoAmI(viewer)).toEqual({
    name: "ci",
    grants: [orders, { key: "orders/1", isPrefix: false, level: "operate" }],
  });
  expect(table.checkAccess("who", "none", "k", false)).toMatchObject({
    isKnown: false,
    isAllowed: false,
  });
  log.change({ op: OP.removeIdentity, name: "ci" });
  const { identities, next } = table.listIdentities(undefined, 1);
  expect([identities.map(({ name }) => name), next]).toEqual([["anonymous"], "anonymous"]);
  expect(table.listIdentities("anonymous", 1)).toMatchObject({
    ...{ identities: [{ name: "local", credentials: [] }], next: null },
  });
});
