/**
 * The limits on what counts against one identity: which command reaches which of them, what never
 * does, and where the counts go. That the counts are right after every entry is shown by the naive
 * model.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { type IdentityLimit, LockTable, type TableSettings } from "../../../src/lockfsm/index.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  ANONYMOUS,
  OP,
  type Result,
  STATUS,
  type UsageView,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { AccessLog } from "../plans/access-log.js";
import {
  type Client,
  exclusive,
  OTHER_OWNER,
  resultOf,
  shared,
  type Taken,
  unattached,
} from "../plans/cluster-log.js";
import { copyOf } from "../plans/snapshots.js";

const SECRET = "5e".repeat(16);
const QUOTA = ERROR_NUMBERS.QUOTA;
const EVERYWHERE = ["", true, "acquire"] as const;
const LIMITS: Readonly<Record<IdentityLimit, keyof TableSettings>> = {
  sessions: "sessionsPerIdentityMax",
  claims: "claimsPerIdentityMax",
  bytes: "bytesPerIdentityMax",
  waiters: "waitersPerIdentityMax",
};

function usageOf(table: LockTable, name: string): UsageView {
  const found = table.listIdentities(undefined, 200).identities.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no identity ${name}`);
  return found.usage;
}

function set(log: AccessLog, name: keyof TableSettings, value: number | undefined): void {
  const head = { sequence: 1, mark: 1, acknowledged: [] };
  expect(log.order({ op: OP.changeSetting, ...head, name, value })?.status).toBe(STATUS.ok);
}

/** Sets a limit of identities to what this one has. */
function fill(log: AccessLog, name: string, limit: IdentityLimit): void {
  const { sessions, holds, waits, bytes } = usageOf(log.table, name);
  // It has one request in the queue of `held`.
  set(log, LIMITS[limit], { sessions, claims: holds + waits, bytes, waiters: waits }[limit]);
}

/** A table in which there is something for every command, of identity `p`. */
interface Scene {
  readonly log: AccessLog;
  /** Credentials of `p`. */
  readonly credential: number;
  readonly asker: Client;
  /** Holds of the asker: `own` alone, and `both` shared with another one. */
  readonly own: Taken;
  readonly both: Taken;
  /** A session that nobody has adopted. */
  readonly nobodys: Client;
}

function sceneOf(): Scene {
  const log = new AccessLog();
  const credential = log.identity("p", ["", true, "operate"]);
  const other = log.identity("q", EVERYWHERE);
  const asker = log.openAs(credential, "a");
  const rival = log.openAs(other, "b");
  const own = asker.take(shared("own"), { options: { value: "v" } });
  const both = asker.take(shared("both"), { task: 2 });
  asker.handOver(asker.take(exclusive("left"), { task: 3 }), SECRET);
  asker.lease(exclusive("leased"), { owner: OTHER_OWNER });
  rival.take(shared("both"));
  rival.take(exclusive("held"), { task: 2 });
  asker.acquire(exclusive("held"), WAIT_FOREVER, { task: 4 });
  rival.handOver(rival.take(exclusive("left by another"), { task: 3 }), SECRET);
  log.grant(ANONYMOUS, ["", true, "acquire"]);
  const nobodys = log.openAs(0, "n");
  nobodys.take(exclusive("nobodys"));
  return { log, credential, asker, own, both, nobodys };
}

const stealing = { options: { steal: true } };
const acquiring = (key: string, waitMs = WAIT_FOREVER, options: Partial<AcquireTerms> = {}) => {
  return ({ asker }: Scene) =>
    asker.acquire(exclusive(key), waitMs, {
      ...{ task: 9, options: { ...ACQUIRE_DEFAULTS, ...options } },
    });
};

type Status = Pick<Result, "status"> | undefined;

/** Each with the limits that it reaches, and returns its answer. */
const COMMANDS: Readonly<
  Record<string, readonly [readonly IdentityLimit[], (scene: Scene) => Status]>
> = {
  open: [
    ["sessions", "bytes"],
    ({ log, credential }) => {
      log.openAs(credential, "new");
      return log.attached.at(-1);
    },
  ],
  "acquire of a free key": [["claims", "bytes"], acquiring("free")],
  "try of a free key": [["claims", "bytes"], acquiring("free", 0)],
  "acquire of several keys": [
    ["claims", "bytes"],
    ({ asker }) => asker.acquire(shared("free", "more"), 0, { task: 9 }),
  ],
  "acquire that waits": [["claims", "bytes", "waiters"], acquiring("held")],
  "acquire that waits in another key": [["claims", "bytes"], acquiring("both")],
  "take of a free key": [["claims", "bytes"], ({ asker }) => asker.lease(exclusive("free"))],
  "take that waits": [
    ["claims", "bytes", "waiters"],
    ({ asker }) => asker.lease(exclusive("held"), { waitMs: WAIT_FOREVER }),
  ],
  "split take": [
    ["claims", "bytes"],
    ({ asker }) => asker.lease(exclusive("free", "more"), { isSplit: true }),
  ],
  "take that repeats a lease": [
    [],
    ({ asker }) => asker.lease(exclusive("leased"), { owner: OTHER_OWNER }),
  ],
  extend: [[], ({ asker }) => asker.extend(["leased"], 9_000, "add", OTHER_OWNER)],
  giveBack: [[], ({ asker }) => resultOf(asker.giveBack(["leased"], OTHER_OWNER))],
  steal: [["claims", "bytes"], acquiring("held", 0, stealing.options)],
  "upgrade that waits": [["claims", "bytes"], ({ asker, both }) => asker.upgrade(both, "both")],
  "upgrade of what nobody else holds": [[], ({ asker, own }) => asker.upgrade(own, "own")],
  "longer value": [["bytes"], ({ asker, own }) => resultOf(asker.update(own, "longer"))],
  "shorter value": [[], ({ asker, own }) => resultOf(asker.update(own, ""))],
  adopt: [["claims", "bytes"], ({ asker }) => asker.adopt("left by another", SECRET, 9)],
  "adopt of what one's own identity left": [[], ({ asker }) => asker.adopt("left", SECRET, 9)],
  "resume of a session that is nobody's": [
    ["sessions", "claims", "bytes"],
    ({ log, credential, nobodys }) => ({ status: log.resumeAs(credential, nobodys, 2) as never }),
  ],
  "second open of a session that is nobody's": [
    ["sessions", "claims", "bytes"],
    ({ log, credential, nobodys: { nonce } }) => {
      const opening = { op: OP.open, nonce, attempt: 2, ttlMs: 9_000, name: "", metadata: "" };
      log.apply(unattached(opening as never, credential));
      return log.attached.at(-1);
    },
  ],
  "resume of one's own session": [
    [],
    ({ log, credential, asker }) => ({ status: log.resumeAs(credential, asker, 2) as never }),
  ],
  release: [[], ({ asker, own }) => resultOf(asker.end(own))],
  downgrade: [[], ({ asker, both }) => resultOf(asker.downgrade(both))],
  handOver: [["bytes"], ({ asker, own }) => resultOf(asker.handOver(own, SECRET))],
  "handOver to an owner": [
    ["bytes"],
    ({ asker, own }) => resultOf(asker.handOver(own, SECRET, 9_000, false)),
  ],
  close: [[], ({ asker }) => resultOf(asker.close())],
  keepalive: [[], ({ asker }) => statusOf(asker.keepalive())],
  recall: [[], ({ asker }) => statusOf(asker.recall(1))],
  revoke: [[], ({ asker }) => resultOf(asker.revokeKey("held", { now: true }))],
  endSession: [[], ({ asker }) => resultOf(asker.endSession(asker.session, { now: true }))],
  setLimit: [[], ({ asker }) => resultOf(asker.setLimit("semaphore", 2))],
};

/** For a message that is not an answer to a numbered command. */
function statusOf(messages: readonly unknown[]): Status {
  return messages.length > 0 ? { status: STATUS.ok } : undefined;
}

const CASES = Object.keys(LIMITS).flatMap((limit) =>
  Object.keys(COMMANDS).map((command) => [command, limit as IdentityLimit] as const),
);

describe("at a limit of its identity", () => {
  test.each(CASES)(
    "%s at the limit of %s is refused if it would add to it, and counted",
    (name, limit) => {
      const [limits, give] = COMMANDS[name] ?? [[], () => undefined];
      const scene = sceneOf();
      fill(scene.log, "p", limit);
      const before = usageOf(scene.log.table, "p");
      const { status } = give(scene) ?? {};
      const { limited } = scene.log.table.counts();
      if (limits.includes(limit)) {
        expect(status).toBe(QUOTA);
        expect(usageOf(scene.log.table, "p")).toEqual(before);
      } else {
        expect(status).toBeLessThan(ERROR_NUMBERS.LOCK_HELD);
      }
      const none = { sessions: 0, claims: 0, bytes: 0, waiters: 0 };
      expect(limited).toEqual({ ...none, [limit]: limits.includes(limit) ? 1 : 0 });
    },
  );

  test.each(CASES)(
    "%s at the limit of %s is only counted while limits are not enforced",
    (name, limit) => {
      const [limits, give] = COMMANDS[name] ?? [[], () => undefined];
      const scene = sceneOf();
      fill(scene.log, "p", limit);
      set(scene.log, "identityLimitsEnforced", 0);
      expect(give(scene)?.status).toBeLessThan(ERROR_NUMBERS.LOCK_HELD);
      const { limited } = scene.log.table.counts();
      expect(limited[limit]).toBe(limits.includes(limit) ? 1 : 0);
    },
  );

  test.each(CASES)("%s at the limit of %s is done for an admin", (name, limit) => {
    const [, give] = COMMANDS[name] ?? [[], () => undefined];
    const scene = sceneOf();
    scene.log.grant("p", ["", true, "admin"]);
    fill(scene.log, "p", limit);
    expect(give(scene)?.status).toBeLessThan(ERROR_NUMBERS.LOCK_HELD);
    expect(scene.log.table.counts().limited[limit]).toBe(0);
  });

  test("other identities, and everybody in an open cluster, go on", () => {
    const log = new AccessLog({ sessionsPerIdentityMax: 1, claimsPerIdentityMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    for (let task = 1; task < 5; task += 1) {
      expect(a.take(exclusive(`a${task}`), { task }).token).toBeGreaterThan(0);
      expect(b.take(exclusive(`b${task}`), { task }).token).toBeGreaterThan(0);
    }
    const [p, q] = ["p", "q"].map((name) => log.openAs(log.identity(name, EVERYWHERE), name));
    p?.take(exclusive("p"));
    expect(p?.acquire(exclusive("p2"), 0, { task: 2 })).toEqual({ status: QUOTA });
    expect(q?.take(exclusive("q")).token).toBeGreaterThan(0);
  });

  test("two of them cannot fill the table, nor one a queue, by the limits of a new cluster", () => {
    const settings = new LockTable().settings();
    const defaultOf = (name: keyof TableSettings) =>
      settings.find((setting) => setting.name === name)?.defaultValue ?? 0;
    expect(2 * defaultOf("sessionsPerIdentityMax")).toBeLessThan(defaultOf("sessionsMax") / 2);
    expect(2 * defaultOf("bytesPerIdentityMax")).toBeLessThan(defaultOf("tableBytesMax") / 2);
    // The smallest hold counts 65 bytes.
    expect(2 * 65 * defaultOf("claimsPerIdentityMax")).toBeLessThan(defaultOf("tableBytesMax") / 2);
    expect(defaultOf("waitersPerIdentityMax")).toBeLessThan(defaultOf("waitersMax") / 10);
  });

  test("a queue limits the requests of one identity, and takes others' after them", () => {
    const log = new AccessLog({ waitersPerIdentityMax: 3 });
    const [p, q] = ["p", "q"].map((name) => log.identity(name, EVERYWHERE)) as [number, number];
    const [holder, other] = [log.openAs(q, "holder"), log.openAs(q, "other")];
    const many = Array.from({ length: 5 }, (_, at) => log.openAs(p, `p${at}`));
    holder.take();
    const asked = many.map((client) => client.acquire()?.status);
    expect(asked).toEqual([...Array(3).fill(STATUS.queued), QUOTA, QUOTA]);
    expect(other.acquire()).toEqual({ status: STATUS.queued });
    // In a copy of the table they are counted alike.
    log.table.become(copyOf(log.table));
    expect(many[4]?.acquire()?.status).toBe(QUOTA);
    many[0]?.close();
    expect(many[4]?.acquire()?.status).toBe(STATUS.queued);
  });

  test("holds and waits count together, and one given back makes room for one", () => {
    const log = new AccessLog({ claimsPerIdentityMax: 2 });
    const credential = log.identity("p", EVERYWHERE);
    const [a, b] = [log.openAs(credential, "a"), log.openAs(credential, "b")];
    const hold = a.take();
    expect(b.acquire()).toEqual({ status: STATUS.queued });
    expect(a.acquire(exclusive("free"), 0, { task: 2 })).toEqual({ status: QUOTA });
    // Its waiter gets it, which changes nothing in the sum.
    a.end(hold);
    expect(usageOf(log.table, "p")).toMatchObject({ sessions: 2, holds: 1, waits: 0 });
    expect(a.take(exclusive("free"), { task: 2 }).token).toBeGreaterThan(0);
    expect(b.acquire(exclusive("more"), 0, { task: 2 })).toEqual({ status: QUOTA });
  });

  test("a limit that is lowered takes nothing away", () => {
    const log = new AccessLog();
    const credential = log.identity("p", EVERYWHERE);
    const clients = ["a", "b", "c"].map((name) => log.openAs(credential, name));
    const holds = clients.map((client, at) => client.take(exclusive(`k${at}`)));
    clients[1]?.acquire(exclusive("k0"), WAIT_FOREVER, { task: 2 });
    for (const name of Object.values(LIMITS)) set(log, name, 1);
    expect(usageOf(log.table, "p")).toMatchObject({ sessions: 3, holds: 3, waits: 1 });
    for (const client of clients) expect(client.keepalive()).not.toEqual([]);
    // What waits already is granted.
    clients[0]?.end(holds[0] as Taken);
    expect(log.line("k0")).toEqual(["b", "|"]);
    clients[2]?.close();
    log.openAs(credential, "d");
    expect(log.attached.at(-1)?.status).toBe(QUOTA);
  });
});

describe("what counts against an identity", () => {
  const nothing = { sessions: 0, holds: 0, waits: 0, bytes: 0 };
  /** 64 for each session and key, and the names. */
  const usage = (sessions: number, holds: number, waits: number, names: string) => {
    return { sessions, holds, waits, bytes: 64 * (sessions + holds + waits) + names.length };
  };

  test("is everything that its sessions have, and nothing when they have ended", () => {
    const log = new AccessLog();
    const credential = log.identity("p", EVERYWHERE);
    const [a, b] = [log.openAs(credential, "a"), log.openAs(credential, "b", 1_000)];
    const hold = a.take(exclusive("k"));
    b.acquire(exclusive("k"));
    b.take(exclusive("kk"), { task: 2 });
    expect(usageOf(log.table, "p")).toEqual(usage(2, 2, 1, "abkkkk"));
    log.pass(1_000);
    expect(usageOf(log.table, "p")).toEqual(usage(1, 1, 0, "ak"));
    a.end(hold);
    a.close();
    expect(usageOf(log.table, "p")).toEqual(nothing);
  });

  test("goes to the identity that adopts the session, but for what it left closed", () => {
    const log = new AccessLog();
    const credential = log.identity("p", EVERYWHERE);
    log.grant(ANONYMOUS, EVERYWHERE);
    const [a, rival] = [log.open("a"), log.openAs(credential, "r")];
    const closed = a.take(exclusive("cc"), { options: { minHoldMs: 5_000 } });
    a.end(closed);
    a.take(exclusive("k"), { task: 2 });
    rival.take(exclusive("w"));
    a.acquire(exclusive("w"), WAIT_FOREVER, { task: 3 });
    expect(usageOf(log.table, ANONYMOUS)).toEqual(usage(1, 2, 1, "acckw"));
    expect(log.resumeAs(credential, a, 2)).toBe(STATUS.ok);
    expect(usageOf(log.table, ANONYMOUS)).toEqual(usage(0, 1, 0, "cc"));
    expect(usageOf(log.table, "p")).toEqual(usage(2, 2, 1, "arkww"));
    log.pass(5_000);
    expect(usageOf(log.table, ANONYMOUS)).toEqual(nothing);
  });

  test("is what it handed over, until another one adopts it", () => {
    const log = new AccessLog();
    const [p, q] = ["p", "q"].map((name) => log.openAs(log.identity(name, EVERYWHERE), name));
    p?.handOver(p.take(exclusive("left"), { options: { value: "value" } }), SECRET);
    p?.close();
    const left = usage(0, 1, 0, `leftvaluep${"d".repeat(64)}`);
    expect(usageOf(log.table, "p")).toEqual(left);
    expect(usageOf(copyOf(log.table), "p")).toEqual(left);
    expect(q?.adopt("left", SECRET)?.status).toBe(STATUS.adopted);
    expect(usageOf(log.table, "p")).toEqual(nothing);
    expect(usageOf(log.table, "q")).toEqual(usage(1, 1, 0, "qleftvalue"));
  });

  test("is what ended holds keep closed, also after their session and in a snapshot", () => {
    const log = new AccessLog();
    const a = log.openAs(log.identity("p", EVERYWHERE), "a");
    a.take(exclusive("one", "two"), { options: { minHoldMs: 5_000 } });
    a.close();
    const closed = { sessions: 0, holds: 1, waits: 0, bytes: 2 * 64 + 6 };
    expect(usageOf(log.table, "p")).toEqual(closed);
    const copy = copyOf(log.table);
    expect(usageOf(copy, "p")).toEqual(closed);
    expect(copy.hash()).toBe(log.table.hash());
    const operator = log.openAs(log.identity("o", ["", true, "operate"]), "o");
    operator.revokeKey("one");
    expect(usageOf(log.table, "p")).toEqual(usage(0, 1, 0, "two"));
    log.pass(5_000);
    expect(usageOf(log.table, "p")).toEqual(nothing);
  });

  test("is not what one of the same name had that was removed", () => {
    const log = new AccessLog({ unitsPerEntryMax: 1 });
    const a = log.openAs(log.identity("p", EVERYWHERE), "a");
    a.take(exclusive("k"), { options: { minHoldMs: 5_000 } });
    a.handOver(a.take(exclusive("t"), { task: 2 }), SECRET);
    a.take(exclusive("l"), { task: 3 });
    log.change({ op: OP.removeIdentity, name: "p" });
    const credential = log.identity("p", EVERYWHERE);
    expect(usageOf(log.table, "p")).toEqual(nothing);
    for (let entry = 0; entry < 20; entry += 1) {
      const copy = copyOf(log.table);
      expect(copy.hash()).toBe(log.table.hash());
      expect(usageOf(copy, "p")).toEqual(nothing);
      log.pass(entry < 10 ? 0 : 2_000);
    }
    expect(log.table.counts()).toMatchObject({ sessions: 0, holds: 0, cooldowns: 0 });
    log.openAs(credential, "b");
    expect(usageOf(log.table, "p")).toEqual(usage(1, 0, 0, "b"));
  });

  test("is nothing in a cluster that was restored, whatever it keeps closed", () => {
    const log = new AccessLog();
    const a = log.openAs(log.identity("p", EVERYWHERE), "a");
    a.take(exclusive("k"), { options: { minHoldMs: 5_000 } });
    const founded = log.table.refounded({
      ...{ index: log.index, quietMs: 0, tokenFloor: 0, savedWallMs: log.wallMs },
    });
    expect(founded.counts().cooldowns).toBe(1);
    expect(usageOf(founded, "p")).toEqual(nothing);
    expect(copyOf(founded).hash()).toBe(founded.hash());
  });
});
