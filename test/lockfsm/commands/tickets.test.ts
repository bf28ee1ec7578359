/** A hold that one process leaves as a ticket and another one claims. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors.js";
import { END_REASON, MESSAGE, OP, RECALL_STATE, STATUS } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
  type Taken,
} from "../plans/cluster-log.js";
import { SECRET } from "../plans/everything.js";

const { ok, claimed, queued, notReleased } = STATUS;
const notHeld = { status: ERROR_NUMBERS.NOT_HELD };

/** A ticket of `a`, for which `b` waits. */
function left(ticketTtlMs = 20_000): {
  log: ClusterLog;
  a: Client;
  b: Client;
  hold: Taken;
  token: number;
} {
  const log = new ClusterLog();
  const [a, b] = [log.open("a", 600_000), log.open("b", 600_000)];
  const hold = a.take();
  a.detach(hold, SECRET, ticketTtlMs);
  b.acquire();
  return { log, a, b, hold, token: hold.token };
}

describe("a hold that is left as a ticket", () => {
  test("belongs to no session and conflicts like any other", () => {
    const { log, a, hold, token } = left();
    expect(log.line("k")).toEqual(["", "|", "b"]);
    const ticket = { token, session: 0, owner: 0, isTicket: true, leaseMs: 20_000 };
    expect(log.table.inspect("k").holds).toMatchObject([ticket]);
    const unknown = { status: notReleased, reason: END_REASON.unknown };
    expect(resultOf(a.end(hold))).toEqual(unknown);
    expect(a.recallOne(hold)).toMatchObject({ state: RECALL_STATE.forgotten });
  });

  test("outlives the session that left it", () => {
    const { log, a, b, token } = left();
    a.close();
    expect(log.line("k")).toEqual(["", "|", "b"]);
    expect(b.claim(token, SECRET, 2)).toMatchObject({ status: claimed });
  });

  test("ends like an expired lease when nobody claims it, and says nothing to anybody", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 600_000), log.open("b", 600_000)];
    const hold = a.take(exclusive("k"), { options: { lockDelayMs: 3_000 } });
    a.detach(hold, SECRET, 20_000);
    b.acquire();
    expect(log.pass(19_999)).toEqual([]);
    expect(log.pass(1)).toEqual([]);
    expect(log.line("k")).toEqual(["|", "b"]);
    log.pass(3_000);
    expect(log.line("k")).toEqual(["b", "|"]);
    expect(b.claim(hold.token, SECRET)).toEqual(notHeld);
  });

  test("keeps its cap, which may come before the end of the ticket", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take(exclusive("k"), { options: { maxHoldMs: 2_000 } });
    a.detach(hold, SECRET, 9_000);
    log.pass(1_999);
    expect(log.line("k")).toEqual(["", "|"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["|"]);
  });

  test("ends an upgrade of it that waits, and is known by its newest token", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(shared("x", "k"));
    const other = b.take(shared("k"));
    a.upgrade(hold, "x");
    a.upgrade(hold);
    expect(a.detach(hold, SECRET)).toMatchObject([
      { kind: MESSAGE.reply, result: { status: ok } },
      { kind: MESSAGE.outcome, sequence: 3, result: notHeld },
    ]);
    expect(b.claim(hold.token, SECRET)).toEqual(notHeld);
    expect(b.claim(other.token + 1, SECRET)).toMatchObject({ status: claimed });
  });
});

describe("a hold that is left while the end of its session is ordered", () => {
  test("ends when its session would have, and says who ordered that", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 20_000), log.open("b", 600_000)];
    const hold = a.take();
    b.endSession(a.session, { graceMs: 30_000, reason: "maintenance" });
    a.detach(hold, SECRET, 600_000);
    const ordered = { isTicket: true, endsInMs: 30_000, orderedBy: "anonymous" };
    expect(log.table.inspect("k").holds).toMatchObject([ordered]);
    log.pass(29_999);
    expect(log.line("k")).toEqual(["", "|"]);
    log.pass(1);
    expect(log.line("k")).toEqual(["|"]);
    expect(b.claim(hold.token, SECRET)).toEqual(notHeld);
  });

  test("takes that end along to the session that claims it, which is told", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 20_000), log.open("b", 600_000)];
    const hold = a.take();
    b.endSession(a.session, { graceMs: 30_000, reason: "maintenance" });
    a.detach(hold, SECRET, 600_000);
    expect(b.send(b.make(claiming(b, hold.token)).command)).toMatchObject([
      { kind: MESSAGE.reply, result: { status: claimed, endsAt: 40_000 } },
      { kind: MESSAGE.revoking, endsAt: 40_000, reason: "maintenance" },
    ]);
    const lost = { kind: MESSAGE.lost, token: hold.token + 1, reason: END_REASON.revoked };
    expect(log.pass(30_000).at(-1)).toMatchObject(lost);
  });

  test("keeps a revoke of its own that ends it sooner", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a", 1_000), log.open("b", 600_000)];
    const hold = a.take();
    b.revokeToken(hold.token, { graceMs: 5_000, reason: "soon" });
    b.endSession(a.session, { graceMs: 30_000, reason: "later" });
    a.detach(hold, SECRET, 600_000);
    expect(log.table.inspect("k").holds).toMatchObject([{ endsInMs: 5_000 }]);
  });
});

describe("a ticket is larger than its hold", () => {
  test("so a full table refuses to make one, and leaves the hold as it is", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    a.changeSetting("tableBytesMax", log.table.counts().tableBytes);
    expect(resultOf(a.detach(hold, SECRET))).toEqual({ status: ERROR_NUMBERS.QUOTA });
    expect(log.table.inspect("k").holds).toMatchObject([{ sessionName: "a", isTicket: false }]);
    a.changeSetting("tableBytesMax", undefined);
    const before = log.table.counts().tableBytes;
    expect(resultOf(a.detach(hold, SECRET))).toEqual({ status: ok });
    expect(log.table.counts().tableBytes).toBe(before + 64);
    a.claim(hold.token, SECRET);
    expect(log.table.counts().tableBytes).toBe(before);
  });
});

describe("a claim", () => {
  test("makes it a hold of the claimer under a new token, with nobody getting in between", () => {
    const { log, token } = left();
    const c = log.open("c");
    expect(c.claim(token, SECRET, 7)).toEqual({
      status: claimed,
      token: token + 1,
      items: [{ key: "k", mode: "exclusive", permits: 0, slots: [] }],
      value: "",
      grantedAt: 10_000,
      endsAt: 0,
    });
    expect(log.line("k")).toEqual(["c", "|", "b"]);
    const hold = { sequence: 1, token: token + 1, owner: 7, isTicket: false, heldMs: 0 };
    expect(log.table.inspect("k").holds).toMatchObject([hold]);
    expect(resultOf(c.end(1))).toEqual({ status: STATUS.released });
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("keeps items, slots, value, grant time and cap", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    a.take(permits("s", 1, 4));
    const items = [...permits("s", 2), ...shared("x")];
    const options = { value: "v", maxHoldMs: 9_000 };
    const hold = a.take(items, { owner: 2, options });
    log.stamp += 1_000;
    a.detach(hold, SECRET);
    log.stamp += 1_000;
    expect(b.claim(hold.token, SECRET)).toEqual({
      status: claimed,
      token: hold.token + 1,
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
    expect(log.pass(7_000)).toMatchObject([{ token: hold.token + 1, reason: END_REASON.maxHold }]);
  });

  test("has the lease of the claimer from then on, not that of the ticket", () => {
    const { log, b, token } = left(5_000);
    b.claim(token, SECRET, 2);
    log.pass(100_000);
    expect(log.table.inspect("k").holds).toMatchObject([{ sessionName: "b" }]);
  });

  test("with a wrong secret finds none, as if the ticket were not there, and leaves it as it is", () => {
    const { b, token } = left();
    expect(b.claim(token, "00".repeat(16))).toEqual(notHeld);
    expect(b.claim(token, SECRET, 2)).toMatchObject({ status: claimed });
  });

  test("is of use once: the token of a ticket is no ticket's any more", () => {
    const { a, b, token } = left();
    b.claim(token, SECRET, 2);
    expect(a.claim(token, SECRET)).toEqual(notHeld);
    expect(a.claim(token + 1, SECRET)).toEqual(notHeld);
  });

  test("of a hold that was never left, or that never was, finds none", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    expect(b.claim(hold.token, SECRET)).toEqual(notHeld);
    expect(b.claim(hold.token + 1, SECRET)).toEqual(notHeld);
  });

  test("comes too late for a ticket that is due, swept or not", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    const [first, a] = [log.open("first", 1_000), log.open("a")];
    const hold = a.take();
    a.detach(hold, SECRET, 1_000);
    log.stamp += 1_000;
    expect(a.claim(hold.token, SECRET)).toEqual(notHeld);
    expect([first.session, log.table.counts().sessions]).toEqual([1, 1]);
    expect(log.line("k")).toEqual(["", "|"]);
  });

  test("of a ticket that was revoked finds none; of one that will be, is told so", () => {
    const { log, a, b, token } = left();
    a.revokeToken(token, { graceMs: 7_000, reason: "soon" });
    const said = b.send(b.make(claiming(b, token)).command);
    expect(said).toMatchObject([
      { kind: MESSAGE.reply, result: { status: claimed, token: token + 1, endsAt: 17_000 } },
      { kind: MESSAGE.revoking, sequence: 2, endsAt: 17_000, reason: "soon" },
      { kind: MESSAGE.contended, sequence: 2 },
    ]);
    b.detach(2, SECRET);
    a.revokeToken(token + 1, { now: true });
    expect(a.claim(token + 1, SECRET)).toEqual(notHeld);
    expect(log.line("k")).toEqual(["b", "|"]);
  });

  test("tells the claimer that somebody waits, though the one before it was told as well", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    const hold = a.take();
    expect(b.acquire()).toEqual({ status: queued });
    expect(log.said.at(-1)?.message).toEqual({ kind: MESSAGE.contended, sequence: 1 });
    a.detach(hold, SECRET);
    c.claim(hold.token, SECRET);
    const contended = { kind: MESSAGE.contended, sequence: 1 };
    expect(log.said.at(-1)).toMatchObject({ session: c.session, message: contended });
  });

  test("brings another hold: the session that left the ticket may claim it, too", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take();
    a.detach(hold, SECRET);
    expect(a.claim(hold.token, SECRET)).toMatchObject({ status: claimed });
    expect(a.recall(1, 3)).toMatchObject([
      { sequences: [{ state: RECALL_STATE.forgotten }, { state: RECALL_STATE.held }] },
    ]);
    expect(resultOf(a.end(3))).toEqual({ status: STATUS.released });
  });

  test("is refused to a session that holds as much as it may", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take();
    a.detach(hold, SECRET);
    const other = b.take(exclusive("other"));
    expect(b.claim(hold.token, SECRET)).toEqual({ status: ERROR_NUMBERS.QUOTA });
    b.end(other);
    expect(b.claim(hold.token, SECRET)).toMatchObject({ status: claimed });
  });
});

function claiming(client: Client, token: number) {
  client.sequence += 1;
  const head = { sequence: client.sequence, mark: 1, acknowledged: [] };
  return { op: OP.claim, ...head, token, secret: SECRET, owner: 2 } as const;
}
