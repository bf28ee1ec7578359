/** Identities, credentials and grants: how changes of them are answered, and what becomes of sessions. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { IDENTITIES_MAX } from "../../../src/lockfsm/commands/access.js";
import {
  CREDENTIALS_PER_IDENTITY_MAX,
  GRANTS_PER_IDENTITY_MAX,
} from "../../../src/lockfsm/records/identity.js";
import {
  type AccessLevel,
  ANONYMOUS,
  END_REASON,
  LOCAL,
  LOCAL_CREDENTIAL,
  MESSAGE,
  OP,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { AccessLog } from "../plans/access-log.js";
import { type Client, exclusive, OWNER, permits, shared } from "../plans/cluster-log.js";
import type { AccessWish } from "../plans/plans.js";
import { copyOf } from "../plans/snapshots.js";

const SECRET = "5e".repeat(16);
const OK = { status: STATUS.ok };
const error = (code: keyof typeof ERROR_NUMBERS) => ({ status: ERROR_NUMBERS[code] });

const put = (name: string): AccessWish => ({ op: OP.putIdentity, name });
const remove = (name: string): AccessWish => ({ op: OP.removeIdentity, name });
const token = (name: string, label: string, digits: string, expiresWallMs = 0): AccessWish => {
  const digest = digits.repeat(32);
  return { op: OP.putCredential, name, label, kind: "token", digest, expiresWallMs };
};
const certificate = (name: string, label: string, expiresWallMs = 0): AccessWish => {
  const kind = "certificate" as const;
  return { op: OP.putCredential, name, label, kind, digest: undefined, expiresWallMs };
};
const drop = (name: string, label: string): AccessWish => ({
  ...{ op: OP.removeCredential, name, label },
});
const grant = (name: string, key: string, isPrefix: boolean, level: AccessLevel): AccessWish => {
  return { op: OP.setGrant, name, key, isPrefix, level };
};

describe("a change of access", () => {
  test("is ok where it is so already, and then changes nothing", () => {
    const log = new AccessLog();
    const wishes = [
      put("ci"),
      token("ci", "a", "0a"),
      certificate("ci", "b"),
      grant("ci", "k", false, "acquire"),
    ];
    for (const wish of wishes) expect(log.change(wish)).toEqual(OK);
    const { accessRevision } = log.table;
    for (const wish of wishes) expect(log.change(wish)).toEqual(OK);
    expect(log.table.findCredential(3)).toBeUndefined();
    expect(log.table.accessRevision).toBe(accessRevision);
    expect(accessRevision).toBe(wishes.length);
  });

  test("is ok where what is to go is not there", () => {
    const log = new AccessLog();
    expect(log.change(remove("ci"))).toEqual(OK);
    expect(log.change(drop("ci", "a"))).toEqual(OK);
    expect(log.change(grant("ci", "k", false, "none"))).toEqual(OK);
    log.change(put("ci"));
    expect(log.change(drop("ci", "a"))).toEqual(OK);
    expect(log.change(grant("ci", "k", false, "none"))).toEqual(OK);
    expect(log.table.accessRevision).toBe(4);
  });

  test("of an identity that is unknown says so", () => {
    const log = new AccessLog();
    expect(log.change(token("ci", "a", "0a"))).toEqual(error("UNKNOWN_IDENTITY"));
    expect(log.change(grant("ci", "k", false, "acquire"))).toEqual(error("UNKNOWN_IDENTITY"));
  });

  test("of a reserved name, a digest that another has or admin of some keys is invalid", () => {
    const log = new AccessLog();
    for (const name of [ANONYMOUS, LOCAL]) {
      for (const wish of [put(name), remove(name), token(name, "a", "0a"), drop(name, "a")]) {
        expect(log.change(wish)).toEqual(error("INVALID_ARGUMENT"));
      }
    }
    expect(log.change(grant(LOCAL, "", true, "none"))).toEqual(error("INVALID_ARGUMENT"));
    for (const name of ["ci", "other"]) log.change(put(name));
    log.change(token("ci", "a", "0a"));
    expect(log.change(token("ci", "b", "0a"))).toEqual(error("INVALID_ARGUMENT"));
    expect(log.change(token("other", "a", "0a"))).toEqual(error("INVALID_ARGUMENT"));
    expect(log.change(grant("ci", "k", true, "admin"))).toEqual(error("INVALID_ARGUMENT"));
    expect(log.change(grant("ci", "k", false, "admin"))).toEqual(error("INVALID_ARGUMENT"));
    expect(log.table.listIdentities("anonymous", 9).identities).toMatchObject([
      { name: "ci", grants: [], credentials: [{ label: "a" }] },
      { name: "local" },
      { name: "other", credentials: [] },
    ]);
  });

  test("with the label of another credential replaces that under a new number", () => {
    const log = new AccessLog();
    log.change(put("ci"));
    log.change(token("ci", "a", "0a"));
    log.wallMs = 7_000;
    expect(log.change(token("ci", "a", "0b"))).toEqual(OK);
    expect(log.table.findToken("0a".repeat(32))).toBeUndefined();
    expect(log.table.findToken("0b".repeat(32))).toMatchObject({ number: 2, createdWallMs: 7_000 });
    expect(log.change(token("ci", "a", "0b", 9_000))).toEqual(OK);
    expect(log.table.findCredential(2)).toBeUndefined();
    expect(log.table.findToken("0b".repeat(32))).toMatchObject({ number: 3, expiresWallMs: 9_000 });
    expect(log.change(certificate("ci", "a"))).toEqual(OK);
    expect(log.table.findToken("0b".repeat(32))).toBeUndefined();
    expect(log.table.findCertificate("ci")).toMatchObject({ number: 4 });
    log.change(certificate("ci", "older", 8_000));
    expect(log.table.findCertificate("ci")).toMatchObject({ number: 4 });
    expect(log.table.findCertificate("other")).toBeUndefined();
  });

  test("that would leave nobody who can be admin for good is refused", () => {
    const log = new AccessLog();
    const close = grant(ANONYMOUS, "", true, "none");
    expect(log.change(close)).toEqual(error("LAST_ADMIN"));
    log.change(put("root"));
    log.change(token("root", "a", "0a", 9_000));
    log.change(grant("root", "", true, "admin"));
    expect(log.change(close)).toEqual(error("LAST_ADMIN"));
    log.change(token("root", "b", "0b"));
    expect(log.change(close)).toEqual(OK);
    const last = [
      remove("root"),
      drop("root", "b"),
      token("root", "b", "0c", 9_000),
      grant("root", "", true, "operate"),
    ];
    for (const wish of last) expect(log.change(wish)).toEqual(error("LAST_ADMIN"));
    expect(log.change(token("root", "b", "0c"))).toEqual(OK);
    expect(log.change(grant(ANONYMOUS, "", true, "admin"))).toEqual(OK);
    for (const wish of last.reverse()) expect(log.change(wish)).toEqual(OK);
  });

  test("is refused beyond the bounds, and what replaces or removes something is not", () => {
    const log = new AccessLog();
    log.change(put("ci"));
    for (let at = 0; at < CREDENTIALS_PER_IDENTITY_MAX; at += 1) {
      expect(log.change(certificate("ci", `c${at}`))).toEqual(OK);
    }
    expect(log.change(certificate("ci", "one more"))).toEqual(error("QUOTA"));
    expect(log.change(certificate("ci", "c0", 9_000))).toEqual(OK);
    for (let at = 0; at < GRANTS_PER_IDENTITY_MAX; at += 1) {
      expect(log.change(grant("ci", `k${at}`, true, "observe"))).toEqual(OK);
    }
    expect(log.change(grant("ci", "one more", true, "observe"))).toEqual(error("QUOTA"));
    expect(log.change(grant("ci", "k0", true, "acquire"))).toEqual(OK);
    expect(log.change(grant("ci", "k0", true, "none"))).toEqual(OK);
    expect(log.change(grant("ci", "k0", true, "acquire"))).toEqual(OK);
    for (let at = 1; at < IDENTITIES_MAX; at += 1) log.change(put(`i${at}`));
    expect(log.table.accessCounts().identities).toBe(IDENTITIES_MAX);
    expect(log.change(put("one more"))).toEqual(error("QUOTA"));
    log.change(remove("i1"));
    expect(log.change(put("one more"))).toEqual(OK);
  });

  test("counts the bytes of names, labels and keys, and gives all of them back", () => {
    const log = new AccessLog({ tableBytesMax: 300 });
    const { tableBytes } = log.table.counts();
    log.change(put("ci"));
    log.change(certificate("ci", "a"));
    log.change(grant("ci", "k", true, "observe"));
    expect(log.table.counts().tableBytes).toBe(3 * 64 + 4);
    log.change(grant("ci", "l", true, "observe"));
    log.change(put("c"));
    for (const wish of [put("d"), certificate("c", "a"), grant("c", "k", true, "observe")]) {
      expect(log.change(wish)).toEqual(error("QUOTA"));
    }
    log.change(grant("ci", "l", true, "none"));
    log.change(remove("ci"));
    log.change(remove("c"));
    expect(log.table.counts().tableBytes).toBe(tableBytes);
  });

  test("gives a name that is used again another identity, with nothing of the one before", () => {
    const log = new AccessLog({ unitsPerEntryMax: 1, grantsPerStepMax: 1 });
    const first = log.identity("ci", ["", true, "acquire"]);
    const [a, b] = [log.openAs(first, "a"), log.openAs(first, "b")];
    log.change(remove("ci"));
    const second = log.identity("ci", ["", true, "acquire"]);
    expect(log.resumeAs(second, a, 2)).toBe(ERROR_NUMBERS.SESSION_EXPIRED);
    expect(log.openAs(second, "c").session).toBeGreaterThan(b.session);
    log.finishWork();
    expect(log.table.listSessions(0, 9).sessions).toMatchObject([{ name: "c" }]);
  });
});

describe("a session", () => {
  test("is opened by who may acquire something", () => {
    const log = new AccessLog();
    const [watcher, worker] = [
      log.identity("watcher", ["", true, "observe"]),
      log.identity("worker", ["k", false, "acquire"]),
    ];
    log.openAs(watcher, "a");
    expect(log.attached.at(-1)).toMatchObject(error("FORBIDDEN"));
    log.openAs(worker, "b");
    expect(log.attached.at(-1)).toMatchObject(OK);
    log.openAs(99, "c");
    expect(log.attached.at(-1)).toMatchObject(error("UNAUTHENTICATED"));
    log.openAs(LOCAL_CREDENTIAL, "d");
    expect(log.attached.at(-1)).toMatchObject(OK);
    log.identity("root", ["", true, "admin"]);
    log.grant(ANONYMOUS, ["", true, "observe"]);
    log.openAs(0, "e");
    expect(log.attached.at(-1)).toMatchObject(error("UNAUTHENTICATED"));
  });

  test("is resumed by its own identity, whatever that may do by then", () => {
    const log = new AccessLog();
    const [one, two] = [
      log.identity("one", ["", true, "acquire"]),
      log.identity("two", ["", true, "acquire"]),
    ];
    const again = log.credential("one", "again");
    const a = log.openAs(one, "a");
    const hold = a.take(exclusive("k"));
    expect(log.resumeAs(two, a, 2)).toBe(ERROR_NUMBERS.FORBIDDEN);
    expect(log.resumeAs(0, a, 3)).toBe(ERROR_NUMBERS.FORBIDDEN);
    expect(log.resumeAs(LOCAL_CREDENTIAL, a, 4)).toBe(ERROR_NUMBERS.FORBIDDEN);
    expect(log.resumeAs(77, a, 5)).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
    expect(a.keepalive()).toHaveLength(1);
    log.grant("one", ["", true, "none"]);
    expect(log.resumeAs(again, a, 6)).toBe(STATUS.ok);
    expect(a.keepalive()).toEqual([]);
    a.epoch = log.attached.at(-1)?.epoch ?? 0;
    expect(a.end(hold)).toMatchObject([{ result: { status: STATUS.released } }]);
  });

  test("of anonymous is adopted by the first identity that knows its secret, and by no other", () => {
    const log = new AccessLog();
    const [one, two] = [
      log.identity("one", ["", true, "acquire"]),
      log.identity("two", ["", true, "acquire"]),
    ];
    const a = log.openAs(0, "a");
    expect(log.resumeAs(one, { ...a, nonce: "f".repeat(32) } as typeof a, 2)).toBe(
      ERROR_NUMBERS.FORBIDDEN,
    );
    expect(log.resumeAs(one, a, 2)).toBe(STATUS.ok);
    expect(log.resumeAs(two, a, 3)).toBe(ERROR_NUMBERS.FORBIDDEN);
    expect(log.resumeAs(0, a, 3)).toBe(ERROR_NUMBERS.FORBIDDEN);
    expect(log.resumeAs(one, a, 3)).toBe(STATUS.ok);
  });

  test("is not attached once more by another credential that repeats an attempt", () => {
    const log = new AccessLog();
    const [main, stolen] = [log.identity("ci", ["", true, "acquire"]), log.credential("ci", "old")];
    const a = log.openAs(main, "a");
    log.resumeAs(main, a, 5);
    const answers = log.attached.length;
    log.resumeAs(stolen, a, 5);
    expect(log.attached).toHaveLength(answers);
    log.resumeAs(main, a, 5);
    expect(log.attached).toHaveLength(answers + 1);
    const b = log.openAs(0, "b");
    const adopted = log.attached.length;
    // It would have a session of anonymous that is not its own.
    log.resumeAs(main, b, 1);
    expect(log.attached).toHaveLength(adopted);
    expect(log.resumeAs(main, b, 2)).toBe(STATUS.ok);
  });

  test("whose credential is gone is attached to nobody, and lives until its lease ends", () => {
    const log = new AccessLog();
    const main = log.identity("ci", ["", true, "acquire"]);
    const spare = log.credential("ci", "spare");
    const a = log.openAs(main, "a", 5_000);
    const b = log.openAs(spare, "b", 5_000);
    a.take(exclusive("k"));
    log.change(drop("ci", "main"));
    expect(a.keepalive()).toEqual([]);
    expect(a.acquire(exclusive("l"))).toBeUndefined();
    expect(a.recall(1)).toEqual([]);
    expect(log.line("k")).toEqual(["a", "|"]);
    expect(b.keepalive()).toHaveLength(1);
    expect(log.resumeAs(main, a, 2)).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
    expect(log.resumeAs(spare, a, 2)).toBe(STATUS.ok);
    a.epoch = 2;
    a.sequence = 1;
    expect(a.acquire(exclusive("l"))).toMatchObject({ status: STATUS.granted });
    log.change(drop("ci", "spare"));
    expect(log.pass(5_000)).toMatchObject([
      { kind: MESSAGE.ended, reason: END_REASON.expired },
      { kind: MESSAGE.ended, reason: END_REASON.expired },
    ]);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("of an identity that is removed is dead at that position, and swept in bounded steps", () => {
    const log = new AccessLog({ unitsPerEntryMax: 4, grantsPerStepMax: 2 });
    const credential = log.identity("ci", ["", true, "acquire"]);
    const clients = Array.from({ length: 9 }, (_, at) => log.openAs(credential, `c${at}`));
    for (const client of clients)
      client.take(exclusive(`k${client.session}`, `l${client.session}`));
    const first = clients[0]?.session;
    const waiting = log.openAs(LOCAL_CREDENTIAL, "waiting", 600_000);
    waiting.acquire(exclusive(`k${first}`));
    clients[1]?.acquire(exclusive(`k${first}`));
    expect(log.change(remove("ci"))).toEqual(OK);
    expect(log.table.listSessions(0, 99).sessions).toHaveLength(1);
    const said = clients[2]?.keepalive() ?? [];
    expect(said.some(({ kind }) => kind === MESSAGE.renewed)).toBe(false);
    const before = log.said.length;
    const entries = log.finishWork();
    expect(entries).toBeGreaterThan(3);
    expect(entries).toBeLessThan(30);
    expect(log.table.counts()).toMatchObject({ sessions: 1, holds: 1, waiters: 0 });
    const ended = log.said
      .slice(before)
      .map(({ message }) => message)
      .filter(({ kind }) => kind === MESSAGE.ended);
    for (const message of ended) expect(message).toMatchObject({ reason: END_REASON.revoked });
    expect(log.line(`k${first}`)).toEqual(["waiting", "|"]);
  });
});

describe("of an identity that was removed", () => {
  const anyone = ["", true, "acquire"] as const;
  /** Each entry sweeps one session. */
  const slowly = { unitsPerEntryMax: 1, grantsPerStepMax: 1 };

  test("no session is resumed, by whatever credential", () => {
    const log = new AccessLog(slowly);
    const credential = log.identity("ci", anyone);
    const clients = Array.from({ length: 40 }, (_, at) => log.openAs(credential, `c${at}`));
    for (const client of clients) client.take(exclusive(`k${client.session}`));
    const last = clients.at(-1) as Client;
    const key = `k${last.session}`;
    log.change(remove("ci"));
    const next = log.identity("ci", anyone);
    const tried = () => [credential, next, LOCAL_CREDENTIAL].map((by) => log.resumeAs(by, last, 2));
    const { UNAUTHENTICATED, SESSION_EXPIRED } = ERROR_NUMBERS;
    const refused = [UNAUTHENTICATED, SESSION_EXPIRED, SESSION_EXPIRED];
    // While it waits to be swept, and after that.
    expect(tried()).toEqual(refused);
    expect([log.table.hasQueuedWork, log.line(key)]).toEqual([true, ["c39", "|"]]);
    log.finishWork();
    expect(tried()).toEqual(refused);
    expect(log.line(key)).toEqual(["|"]);
  });

  /** What `ci`, which is removed, has handed over, and a client that may acquire its keys. */
  function orphaned(): { log: AccessLog; adopter: Client } {
    const log = new AccessLog(slowly);
    const [ci, other] = [log.identity("ci", anyone), log.identity("other", anyone)];
    const adopter = log.openAs(other, "adopter", 600_000);
    const a = log.openAs(ci, "a");
    a.handOver(a.take(exclusive("left")), SECRET, 20_000);
    a.handOver(a.take(exclusive("given")), OWNER, 20_000, false);
    a.take(exclusive("k"), { task: 2 });
    log.change(remove("ci"));
    return { log, adopter };
  }
  const holdsOf = (log: AccessLog, name: string) =>
    log.table.listIdentities(undefined, 9).identities.find((one) => one.name === name)?.usage.holds;

  test.each([
    ["at once", false, false],
    ["when its sessions are swept", true, false],
    ["in a copy, at once", false, true],
    ["in a copy, when its sessions are swept", true, true],
  ])(
    "what a bearer has stays, and is adopted by who may acquire its keys: %s",
    (_, isSwept, isCopied) => {
      const [{ log, adopter }, other] = [orphaned(), orphaned()];
      for (const each of [log, other.log]) {
        if (isSwept) each.finishWork();
        expect(each.line("left")).toEqual(["a", "|"]);
      }
      if (isCopied) log.table.become(copyOf(log.table));
      for (const by of [adopter, other.adopter])
        expect(by.adopt("left", SECRET)).toMatchObject({ status: STATUS.adopted });
      expect(log.table.hash()).toBe(other.log.table.hash());
      log.finishWork();
      expect([holdsOf(log, "other"), log.line("left"), log.line("k")]).toEqual([
        ...[1, ["adopter", "|"], ["|"]],
      ]);
    },
  );

  test("what was handed over ends by itself, and is nothing of a later identity of that name", () => {
    const { log } = orphaned();
    const next = log.openAs(log.identity("ci", ["k", false, "acquire"]), "next", 600_000);
    expect(holdsOf(log, "ci")).toBe(0);
    expect(next.adopt("left", SECRET)).toEqual(error("FORBIDDEN"));
    expect(next.extend(["given"], 60_000)).toMatchObject(error("NOT_HELD"));
    log.pass(19_999);
    expect([log.line("left"), log.line("given")]).toEqual(Array(2).fill(["a", "|"]));
    log.pass(1);
    log.finishWork();
    log.pass(0);
    expect([log.line("left"), log.line("given")]).toEqual(Array(2).fill(["|"]));
    expect(holdsOf(log, "ci")).toBe(0);
  });
});

test("a removed identity leaves the same table after a restore at every position of its sweep", () => {
  const limits = { unitsPerEntryMax: 2, grantsPerStepMax: 1 };
  const log = new AccessLog(limits);
  const credential = log.identity("ci", ["", true, "acquire"]);
  const other = log.identity("other", ["", true, "acquire"]);
  // The leases of the last ones end meanwhile.
  const leases = [60_000, 60_000, 60_000, 1_000, 1_000];
  for (const [at, ttlMs] of leases.entries())
    log.openAs(credential, `c${at}`, ttlMs).take(exclusive(`k${at}`, `l${at}`));
  log.openAs(other, "waiting", 600_000).acquire(exclusive("k0", "k1", "k3"));
  log.stamp += 999;
  log.change(remove("ci"));
  log.change(drop("other", "main"));
  const copies = [copyOf(log.table)];
  for (let at = 0; at < 40; at += 1) {
    log.pass(at === 1 ? 1 : 0);
    for (const copy of copies) {
      const { index, stamp, wallMs } = log;
      copy.apply(
        { index, stamp, wallMs, commands: [] },
        { toSession: () => {}, attached: () => {} },
      );
      expect(copy.hash()).toBe(log.table.hash());
    }
    const copy = copyOf(log.table);
    expect(copy.hash()).toBe(log.table.hash());
    copies.push(copy);
  }
  expect(log.table.hasQueuedWork).toBe(false);
  expect(log.line("k0")).toEqual(["waiting", "|"]);
});

describe("lost rights", () => {
  test("leave holds as they are, to be released, downgraded and kept alive", () => {
    const log = new AccessLog();
    const a = log.openAs(log.identity("ci", ["", true, "acquire"]), "a");
    const [one, two] = [a.take(exclusive("k")), a.take(exclusive("l"))];
    log.grant("ci", ["", true, "none"]);
    expect(a.keepalive()).toHaveLength(1);
    expect(a.downgrade(one)).toMatchObject([{ result: OK }]);
    expect(a.end(two)).toMatchObject([{ result: { status: STATUS.released } }]);
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("end a wait with FORBIDDEN when it would be granted, and those after it go on", () => {
    const log = new AccessLog();
    const credential = log.identity("ci", ["", true, "acquire"]);
    const holder = log.openAs(LOCAL_CREDENTIAL, "holder");
    const [a, b] = [log.openAs(credential, "a"), log.openAs(LOCAL_CREDENTIAL, "b")];
    const held = holder.take(exclusive("k", "m"));
    const semaphore = holder.take(permits("s", 1, 1), { task: 2 });
    a.acquire([...exclusive("k", "m"), ...permits("s", 1, 1)]);
    b.acquire(exclusive("k"));
    b.acquire(exclusive("m"), WAIT_FOREVER, { task: 2 });
    b.acquire(permits("s", 1, 1), WAIT_FOREVER, { task: 3 });
    log.grant("ci", ["m", false, "acquire"], ["", true, "none"]);
    holder.end(held);
    expect(log.line("k")).toEqual(["|", "a", "b"]);
    const said = holder.end(semaphore);
    expect(said.map((message) => ("result" in message ? message.result.status : 0))).toEqual([
      STATUS.released,
      ERROR_NUMBERS.FORBIDDEN,
      STATUS.granted,
      STATUS.granted,
      STATUS.granted,
    ]);
    for (const key of ["k", "m", "s"]) expect(log.line(key)).toEqual(["b", "|"]);
    expect(a.recallOne(1)).toMatchObject({ result: error("FORBIDDEN") });
    expect(log.table.accessCounts().refused.acquire).toBe(1);
  });

  test("that come back in time leave no trace in a wait", () => {
    const log = new AccessLog();
    const credential = log.identity("ci", ["", true, "acquire"]);
    const [holder, a] = [log.openAs(LOCAL_CREDENTIAL, "holder"), log.openAs(credential, "a")];
    const held = holder.take(exclusive("k"));
    a.acquire(exclusive("k"));
    log.grant("ci", ["", true, "none"], ["k", false, "acquire"]);
    holder.end(held);
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("of an adopted session belong to its new identity", () => {
    const log = new AccessLog();
    const credential = log.identity("ci", ["orders", false, "acquire"]);
    const [holder, a] = [log.openAs(LOCAL_CREDENTIAL, "holder"), log.openAs(0, "a")];
    const held = holder.take(exclusive("k"));
    a.acquire(exclusive("k"));
    expect(log.resumeAs(credential, a, 2)).toBe(STATUS.ok);
    expect(holder.end(held)).toMatchObject([{}, { result: error("FORBIDDEN") }]);
  });

  test("end a waiting upgrade with FORBIDDEN, and its hold stays", () => {
    const log = new AccessLog();
    const credential = log.identity("ci", ["", true, "acquire"]);
    const [holder, a] = [log.openAs(LOCAL_CREDENTIAL, "holder"), log.openAs(credential, "a")];
    const [held, own] = [holder.take(shared("k")), a.take(shared("k"))];
    a.upgrade(own);
    log.grant("ci", ["", true, "observe"]);
    expect(holder.end(held)).toMatchObject([{}, { result: error("FORBIDDEN") }]);
    expect(log.line("k")).toEqual(["a", "|"]);
    expect(a.end(own)).toMatchObject([{ result: { status: STATUS.released } }]);
  });
});

test("what a bearer has is adopted across identities by who may acquire all its keys", () => {
  const log = new AccessLog();
  const [one, two] = [
    log.identity("one", ["k", false, "acquire"]),
    log.identity("two", ["", true, "acquire"]),
  ];
  const [a, b, c] = [log.openAs(one, "a"), log.openAs(two, "b"), log.openAs(LOCAL_CREDENTIAL, "c")];
  c.handOver(c.take(shared("k", "l")), SECRET);
  expect(a.adopt("l", SECRET)).toEqual(error("FORBIDDEN"));
  // Without a reason: it has not ended.
  expect(a.adopt("k", SECRET)).toEqual(error("NOT_HELD"));
  expect(b.adopt("l", SECRET)).toMatchObject({ status: STATUS.adopted });
});

test("a table that is founded again keeps identities and grants, and no credential", () => {
  const log = new AccessLog();
  log.identity("root", ["", true, "admin"]);
  log.identity("ci", ["orders/", true, "acquire"]);
  log.grant(ANONYMOUS, ["", true, "none"], ["public/", true, "observe"]);
  const founded = log.table.refounded({ index: 50, tokenFloor: 0, savedWallMs: 1, quietMs: 0 });
  const withoutCredentials = log.table
    .listIdentities(undefined, 9)
    .identities.map((identity) => ({ ...identity, credentials: [] }));
  expect(founded.listIdentities(undefined, 9).identities).toEqual(withoutCredentials);
  expect(founded.findCredential(1)).toBeUndefined();
  const said: unknown[] = [];
  const mark = log.state.adminOrderCount;
  const head = { sequence: 1, mark, acknowledged: [] };
  const orders = [
    { epoch: 0, command: { ...head, ...put("x") } },
    { epoch: 1, command: { ...head, ...put("x") } },
    { epoch: LOCAL_CREDENTIAL, command: { ...head, ...certificate("root", "new") } },
  ];
  founded.apply(
    {
      index: founded.index + 1,
      stamp: founded.stamp,
      wallMs: 0,
      commands: orders.map((one) => ({ session: 0, ...one })),
    },
    { toSession: (_, __, message) => said.push(message), attached: () => {} },
  );
  expect(said).toMatchObject([
    { result: error("UNAUTHENTICATED") },
    { result: error("UNAUTHENTICATED") },
    { result: OK },
  ]);
  expect(founded.findCertificate("root")).toMatchObject({ number: 3 });
});
