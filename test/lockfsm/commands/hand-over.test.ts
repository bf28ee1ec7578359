/** A hold that one session hands over, to a bearer or to an owner, and that another one adopts. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  BLOCKED_BY,
  END_REASON,
  type EndReason,
  MESSAGE,
  OP,
  RECALL_STATE,
  STATUS,
} from "../../../src/protocol/index.js";
import { AccessLog } from "../plans/access-log.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  OTHER_OWNER,
  OWNER,
  permits,
  resultOf,
  shared,
  type Taken,
} from "../plans/cluster-log.js";
import { SECRET } from "../plans/everything.js";
import { copyOf } from "../plans/snapshots.js";

const { adopted, leased, queued, notReleased } = STATUS;
const OTHER_SECRET = "5f".repeat(16);
const notHeld = (reason: EndReason) => ({ status: ERROR_NUMBERS.NOT_HELD, reason });
const UNKNOWN = notHeld(END_REASON.unknown);
const SAME_OWNER = { status: ERROR_NUMBERS.LOCK_HELD, isSameOwner: true };

/** A bearer has what `a` had, and `b` waits for it. */
function left(ttlMs = 20_000): {
  log: ClusterLog;
  a: Client;
  b: Client;
  hold: Taken;
  token: number;
} {
  const log = new ClusterLog();
  const [a, b] = [log.open("a", 600_000), log.open("b", 600_000)];
  const hold = a.take();
  a.handOver(hold, SECRET, ttlMs);
  b.acquire();
  return { log, a, b, hold, token: hold.token + 1 };
}

describe("a hold that is handed over to a bearer", () => {
  test("has a new token at once, belongs to no session, and conflicts like any other", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 600_000), log.open("b", 600_000)];
    const hold = a.take();
    const token = hold.token + 1;
    expect(resultOf(a.handOver(hold, SECRET, 20_000))).toEqual({
      ...{ status: leased, tokens: [token], endsAt: 30_000, slots: [] },
    });
    expect(b.acquire()).toEqual({ status: queued });
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    const view = { token, session: 0, task: 0, holder: "bearer", leaseMs: 20_000, ttlMs: 20_000 };
    expect(log.table.inspect("k").holds).toMatchObject([
      {
        ...view,
        sessionName: "a",
        identity: "anonymous",
        leaseOwner: expect.stringMatching(/^[0-9a-f]{8}$/),
      },
    ]);
    expect(log.table.counts()).toMatchObject({ holds: 1, leases: 1 });
    expect([hold.token, token].map((one) => log.table.verify("k", one).isCurrent)).toEqual([
      ...[false, true],
    ]);
    const unknown = { status: notReleased, reason: END_REASON.unknown };
    expect(resultOf(a.end(hold))).toEqual(unknown);
    expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.forgotten });
  });

  test("outlives the session that had it", () => {
    const { log, a, b } = left();
    a.close();
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    expect(b.adopt("k", SECRET, 2)).toMatchObject({ status: adopted });
  });

  test("ends like an expired lease when nobody adopts it, and says nothing to anybody", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 600_000), log.open("b", 600_000)];
    const hold = a.take(exclusive("k"), { options: { lockDelayMs: 3_000 } });
    a.handOver(hold, SECRET, 20_000);
    b.acquire();
    expect(log.pass(19_999)).toEqual([]);
    expect(log.pass(1)).toEqual([]);
    expect(log.line("k")).toEqual(["|", "b"]);
    log.pass(3_000);
    expect(log.line("k")).toEqual(["b", "|"]);
    expect(b.adopt("k", SECRET)).toEqual(notHeld(END_REASON.expired));
  });

  test("keeps its cap, which may come before its end", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take(exclusive("k"), { options: { maxHoldMs: 2_000 } });
    expect(resultOf(a.handOver(hold, SECRET, 9_000))).toMatchObject({ endsAt: 12_000 });
    log.pass(1_999);
    expect(log.line("k")).toEqual(["a", "|"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["|"]);
    expect(a.adopt("k", SECRET)).toEqual(notHeld(END_REASON.maxHold));
  });

  test("ends an upgrade of it that waits, and lets those in who came after that", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take(shared("x", "k"));
    b.take(shared("k"));
    a.upgrade(hold, "x");
    a.upgrade(hold);
    c.acquire(shared("k"));
    expect(log.line("k")).toEqual(["b", "a", "|", "a", "c"]);
    expect(a.handOver(hold, SECRET)).toMatchObject([
      { kind: MESSAGE.outcome, sequence: 3, result: { status: ERROR_NUMBERS.NOT_HELD } },
      { kind: MESSAGE.reply, result: { status: leased } },
      { kind: MESSAGE.outcome, result: { status: STATUS.granted } },
    ]);
    expect(log.line("k")).toEqual(["b", "a", "c", "|"]);
    expect(b.adopt("x", SECRET)).toMatchObject({ status: adopted });
  });

  test("is nothing that sessions of its identity find: not extended, given back or repeated", () => {
    const { log, a, b } = left();
    expect(a.extend(["k"], 60_000, "atLeast", SECRET)).toEqual(UNKNOWN);
    expect(resultOf(a.giveBack(["k"], SECRET))).toMatchObject({ count: 0, waits: 0 });
    const again = a.lease(exclusive("k"), { owner: SECRET, request: SECRET });
    expect(again).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD, blockedBy: BLOCKED_BY.holds });
    expect(log.line("k")).toEqual(["a", "|", "b"]);
    expect(b.adopt("k", SECRET, 2)).toMatchObject({ status: adopted });
  });

  test("is refused to one that has a claim in one of its keys, of whatever identity", () => {
    const log = new AccessLog();
    const [a, b] = ["p", "q"].map((name) => {
      return log.openAs(log.identity(name, ["", true, "acquire"]), name);
    }) as [Client, Client];
    a.handOver(a.take(shared("x")), SECRET);
    const hold = b.take([...exclusive("y"), ...shared("x")]);
    expect(resultOf(b.handOver(hold, SECRET))).toEqual(SAME_OWNER);
    expect(b.recallOne(hold)).toMatchObject({ state: RECALL_STATE.held, token: hold.token });
    expect(resultOf(b.handOver(hold, OTHER_SECRET))).toMatchObject({ status: leased });
  });

  test("is announced as a change of its holder, before and after it changes hands", () => {
    const log = new ClusterLog();
    const told: unknown[] = [];
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    log.table.listen(({ type, token, session, reason }) => {
      told.push([type, token, session, reason]);
    });
    a.handOver(hold, SECRET);
    b.adopt("k", SECRET);
    const { moved, unknown } = END_REASON;
    expect(told).toEqual([
      ["moved", hold.token, a.session, moved],
      ["converted", hold.token + 1, 0, unknown],
      ["moved", hold.token + 1, 0, moved],
      ["converted", hold.token + 2, b.session, unknown],
    ]);
  });
});

describe("a hold that is handed over to an owner", () => {
  test("is one of its leases: any session of the identity extends it and gives it back", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const options = { value: "v", maxHoldMs: 9_000 };
    const hold = a.take([...exclusive("k"), ...permits("s", 2, 3)], { options });
    const token = hold.token + 1;
    expect(resultOf(a.handOver(hold, OWNER, 5_000, false))).toEqual({
      ...{ status: leased, tokens: [token], endsAt: 15_000, slots: [[0, 1]] },
    });
    a.close();
    const view = { token, holder: "owner", sessionName: "a", value: "v", ttlMs: 5_000 };
    expect(log.table.inspect("k").holds).toMatchObject([view]);
    expect(b.extend(["k"], 60_000)).toEqual({
      ...{ status: STATUS.extended, leases: [{ token, endsAt: 19_000 }] },
    });
    expect(resultOf(b.giveBack(["s"]))).toMatchObject({ count: 1 });
    expect([log.line("k"), log.line("s")]).toEqual([["|"], ["|"]]);
  });

  test("is found by that identity only, and is adopted by nobody", () => {
    const log = new AccessLog();
    const [a, b] = ["p", "q"].map((name) => {
      return log.openAs(log.identity(name, ["", true, "acquire"]), name);
    }) as [Client, Client];
    a.handOver(a.take(), OWNER, 60_000, false);
    expect(b.extend(["k"], 60_000)).toEqual(UNKNOWN);
    for (const client of [a, b]) expect(client.adopt("k", OWNER)).toEqual(UNKNOWN);
    expect(a.extend(["k"], 60_000)).toMatchObject({ status: STATUS.extended });
  });

  test("is repeated by no take, and not given back by a take that is left", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.handOver(a.take(), OWNER, 60_000, false);
    expect(a.lease()).toEqual(SAME_OWNER);
    expect(a.lease(exclusive("k"), { isSplit: true })).toEqual(SAME_OWNER);
    expect(resultOf(a.giveBack(["k"], OWNER, 2))).toMatchObject({ count: 0 });
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("is refused to one that has a lease in one of its keys, or waits for one", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(shared("x", "y"));
    b.lease(shared("x"));
    b.lease(exclusive("y"), { owner: OTHER_OWNER, waitMs: 60_000 });
    for (const owner of [OWNER, OTHER_OWNER]) {
      expect(resultOf(a.handOver(hold, owner, 60_000, false))).toEqual(SAME_OWNER);
    }
    // Bearers have a name space of their own.
    expect(resultOf(a.handOver(hold, OWNER))).toMatchObject({ status: leased });
  });

  test("lasts as long as a take may ask for, without end if that is allowed", () => {
    const log = new ClusterLog({ leaseTtlMsMax: 60_000 });
    const a = log.open("a");
    const hold = a.take();
    const invalid = { status: ERROR_NUMBERS.INVALID_ARGUMENT };
    expect(resultOf(a.handOver(hold, OWNER, 70_000, false))).toEqual({ ...invalid, limit: 60_000 });
    expect(resultOf(a.handOver(hold, OWNER, 0, false))).toEqual(invalid);
    a.changeSetting("endlessLeases", 1);
    // Never for a bearer.
    expect(resultOf(a.handOver(hold, OWNER, 0))).toEqual(invalid);
    expect(resultOf(a.handOver(hold, OWNER, 0, false))).toMatchObject({ endsAt: 0 });
    expect(log.table.counts()).toMatchObject({ leases: 1, endlessLeases: 1 });
  });

  test("replaces the memory of how the owner's last lease of the key ended", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.lease();
    a.giveBack(["k"]);
    expect(a.extend(["k"], 1_000)).toEqual(notHeld(END_REASON.released));
    a.handOver(a.take(), OWNER, 1_000, false);
    log.pass(1_000);
    expect(a.extend(["k"], 1_000)).toEqual(notHeld(END_REASON.expired));
  });
});

describe("a hold that is handed over while the end of its session is ordered", () => {
  test.each([
    ["a bearer", true, "bearer"],
    ["an owner", false, "owner"],
  ])("to %s ends when its session would have, and says who ordered that", (_, isBearer, holder) => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 20_000), log.open("b", 600_000)];
    const hold = a.take();
    b.endSession(a.session, { graceMs: 30_000, reason: "maintenance" });
    a.handOver(hold, SECRET, 600_000, isBearer);
    const ordered = { holder, endsInMs: 30_000, orderedBy: "anonymous", isRevoked: true };
    expect(log.table.inspect("k").holds).toMatchObject([ordered]);
    if (!isBearer) b.extend(["k"], 600_000, "exactly", SECRET);
    log.pass(29_999);
    expect(log.line("k")).toEqual(["a", "|"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["|"]);
    const revoked = notHeld(END_REASON.revoked);
    if (isBearer) expect(b.adopt("k", SECRET)).toEqual(revoked);
    else expect(b.extend(["k"], 1_000, "exactly", SECRET)).toEqual(revoked);
  });

  test("keeps that end when a session adopts it, and informs that session", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 20_000), log.open("b", 600_000)];
    const hold = a.take();
    b.endSession(a.session, { graceMs: 30_000, reason: "maintenance" });
    a.handOver(hold, SECRET, 600_000);
    expect(b.send(b.make(adopting(b)).command)).toMatchObject([
      { kind: MESSAGE.reply, result: { status: adopted, endsAt: 40_000 } },
      { kind: MESSAGE.revoking, endsAt: 40_000, reason: "maintenance" },
    ]);
    const lost = { kind: MESSAGE.lost, token: hold.token + 2, reason: END_REASON.revoked };
    expect(log.pass(30_000).at(-1)).toMatchObject(lost);
  });

  test("keeps a revoke of its own that ends it sooner", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 1_000), log.open("b", 600_000)];
    const hold = a.take();
    b.revokeToken(hold.token, { graceMs: 5_000, reason: "soon" });
    b.endSession(a.session, { graceMs: 30_000, reason: "later" });
    a.handOver(hold, SECRET, 600_000);
    expect(log.table.inspect("k").holds).toMatchObject([{ endsInMs: 5_000 }]);
  });
});

describe("a hold of an owner is larger than a hold of a session", () => {
  test("so a full table refuses to hand it over, and leaves it as it is", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    a.changeSetting("tableBytesMax", log.table.counts().tableBytes);
    expect(resultOf(a.handOver(hold, SECRET))).toEqual({ status: ERROR_NUMBERS.QUOTA });
    const held = { token: hold.token, sessionName: "a", holder: "session" };
    expect(log.table.inspect("k").holds).toMatchObject([held]);
    a.changeSetting("tableBytesMax", undefined);
    const before = log.table.counts().tableBytes;
    expect(resultOf(a.handOver(hold, SECRET))).toMatchObject({ status: leased });
    expect(log.table.counts().tableBytes).toBe(before + 64 + "a".length);
    a.adopt("k", SECRET);
    expect(log.table.counts().tableBytes).toBe(before);
  });
});

describe("who adopts a hold", () => {
  test("has it under a new token, with nobody getting in between", () => {
    const { log, token } = left();
    const c = log.open("c");
    expect(c.adopt("k", SECRET, 7)).toEqual({
      status: adopted,
      token: token + 1,
      items: [{ key: "k", mode: "exclusive", permits: 0, slots: [] }],
      value: "",
      grantedAt: 10_000,
      endsAt: 0,
    });
    expect(log.line("k")).toEqual(["c", "|", "b"]);
    const hold = { sequence: 1, token: token + 1, task: 7, holder: "session", heldMs: 0 };
    expect(log.table.inspect("k").holds).toMatchObject([{ ...hold, leaseOwner: "" }]);
    expect(resultOf(c.end(1))).toEqual({ status: STATUS.released });
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("keeps items, slots, value, grant time and cap, and names any of its keys", () => {
    for (const key of ["s", "x"]) {
      const log = new ClusterLog();
      const [a, b] = [log.open("a"), log.open("b")];
      a.take(permits("s", 1, 4));
      const items = [...permits("s", 2), ...shared("x")];
      const options = { value: "v", maxHoldMs: 9_000 };
      const hold = a.take(items, { task: 2, options });
      log.stamp += 1_000;
      a.handOver(hold, SECRET);
      log.stamp += 1_000;
      expect(b.adopt(key, SECRET)).toEqual({
        status: adopted,
        token: hold.token + 2,
        items: [
          { key: "s", mode: "permits", permits: 2, slots: [1, 2] },
          { key: "x", mode: "shared", permits: 0, slots: [] },
        ],
        value: "v",
        grantedAt: 10_000,
        endsAt: 19_000,
      });
      const held = { slots: [1, 2], value: "v", heldMs: 2_000, endsInMs: 7_000 };
      expect(log.table.inspect("s").holds[1]).toMatchObject(held);
      const lost = { token: hold.token + 2, reason: END_REASON.maxHold };
      expect(log.pass(7_000)).toMatchObject([lost]);
    }
  });

  test("has it by its own lease from then on, not for the time that the bearer had", () => {
    const { log, b } = left(5_000);
    b.adopt("k", SECRET, 2);
    log.pass(100_000);
    expect(log.table.inspect("k").holds).toMatchObject([{ sessionName: "b" }]);
  });

  test("with a wrong secret, or in another key, finds none and leaves it as it is", () => {
    const { b } = left();
    expect(b.adopt("k", "00".repeat(16))).toEqual(UNKNOWN);
    expect(b.adopt("other", SECRET)).toEqual(UNKNOWN);
    expect(b.adopt("k", SECRET, 2)).toMatchObject({ status: adopted });
  });

  test("is the first alone: any later one learns that it was adopted, for a minute", () => {
    const { log, a, b } = left();
    expect(b.adopt("k", SECRET, 2)).toMatchObject({ status: adopted });
    expect([a, b].map((later) => later.adopt("k", SECRET))).toEqual([
      ...[notHeld(END_REASON.moved), notHeld(END_REASON.moved)],
    ]);
    log.table.become(copyOf(log.table));
    log.pass(59_999);
    expect(a.adopt("k", SECRET)).toEqual(notHeld(END_REASON.moved));
    log.pass(1);
    expect(a.adopt("k", SECRET)).toEqual(UNKNOWN);
  });

  test("learns so in each of its keys, and no more once the bearer has another hold there", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 600_000), log.open("b", 600_000)];
    a.handOver(a.take(shared("x", "y")), SECRET);
    b.adopt("x", SECRET);
    expect(["x", "y"].map((key) => a.adopt(key, SECRET))).toEqual([
      ...[notHeld(END_REASON.moved), notHeld(END_REASON.moved)],
    ]);
    a.handOver(a.take(shared("x"), { task: 2 }), SECRET, 1_000);
    log.pass(1_000);
    expect(["x", "y"].map((key) => a.adopt(key, SECRET))).toEqual([
      ...[notHeld(END_REASON.expired), notHeld(END_REASON.moved)],
    ]);
  });

  test("finds none where nothing was handed over", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take();
    expect(b.adopt("k", SECRET)).toEqual(UNKNOWN);
    expect(b.adopt("free", SECRET)).toEqual(UNKNOWN);
  });

  test("comes too late for one that is due, swept or not", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    const [first, a] = [log.open("first", 1_000), log.open("a")];
    a.handOver(a.take(), SECRET, 1_000);
    log.stamp += 1_000;
    expect(a.adopt("k", SECRET)).toEqual(notHeld(END_REASON.expired));
    expect([first.session, log.table.counts().sessions]).toEqual([1, 1]);
    expect(log.line("k")).toEqual(["a", "|"]);
  });

  test("of one that was revoked finds none; of one that will be, learns so", () => {
    const { log, a, b, token } = left();
    a.revokeToken(token, { graceMs: 7_000, reason: "soon" });
    const said = b.send(b.make(adopting(b)).command);
    expect(said).toMatchObject([
      { kind: MESSAGE.reply, result: { status: adopted, token: token + 1, endsAt: 17_000 } },
      { kind: MESSAGE.revoking, sequence: 2, endsAt: 17_000, reason: "soon" },
      { kind: MESSAGE.contended, sequence: 2 },
    ]);
    b.handOver(2, SECRET);
    a.revokeToken(token + 2, { now: true });
    expect(a.adopt("k", SECRET)).toEqual(notHeld(END_REASON.revoked));
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("is notified that somebody waits, though the one before was notified as well", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take();
    expect(b.acquire()).toEqual({ status: queued });
    expect(log.said.at(-1)?.message).toEqual({ kind: MESSAGE.contended, sequence: 1 });
    a.handOver(hold, SECRET);
    c.adopt("k", SECRET);
    const contended = { kind: MESSAGE.contended, sequence: 1 };
    expect(log.said.at(-1)).toMatchObject({ session: c.session, message: contended });
  });

  test("has another hold: the session that handed it over may adopt it, too", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.handOver(a.take(), SECRET);
    expect(a.adopt("k", SECRET)).toMatchObject({ status: adopted });
    expect(a.recall(1, 3)).toMatchObject([
      { sequences: [{ state: RECALL_STATE.forgotten }, { state: RECALL_STATE.held }] },
    ]);
    expect(resultOf(a.end(3))).toEqual({ status: STATUS.released });
  });

  test("may not have as much as it may hold already", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    a.handOver(a.take(), SECRET);
    const other = b.take(exclusive("other"));
    expect(b.adopt("k", SECRET)).toEqual({ status: ERROR_NUMBERS.QUOTA });
    b.end(other);
    expect(b.adopt("k", SECRET)).toMatchObject({ status: adopted });
  });
});

function adopting(client: Client) {
  client.sequence += 1;
  const head = { sequence: client.sequence, mark: 1, acknowledged: [] };
  return { op: OP.adopt, ...head, key: "k", secret: SECRET, task: 2 } as const;
}
