/** What counts as evidence of the lease, told answer by answer. */
import { beforeEach, describe, expect, it } from "vitest";
import { Answers } from "../../src/client/answers.js";
import type { HeldLock } from "../../src/client/held-lock.js";
import { ReleaseCall } from "../../src/client/hold-calls.js";
import { Lease } from "../../src/client/lease.js";
import { Locks } from "../../src/client/locks.js";
import { Outgoing } from "../../src/client/outgoing.js";
import { ERROR_NUMBERS } from "../../src/errors.js";
import {
  END_REASON,
  MESSAGE,
  RECALL_STATE,
  type Result,
  type SessionMessage,
  STATUS,
  WAIT_FOREVER,
} from "../../src/protocol/index.js";

const SESSION = 7;
const RELEASED: Result = { status: STATUS.released };

let lease: Lease;
let outgoing: Outgoing;
let locks: Locks;
let answers: Answers;
let nowMs: number;

beforeEach(() => {
  nowMs = 0;
  lease = new Lease(10_000);
  outgoing = new Outgoing(
    () => undefined,
    () => 0.5,
  );
  outgoing.frame.begin(1 << 20);
  locks = new Locks(
    {
      sessionId: SESSION,
      isEnding: false,
      endError: () => new Error("ended"),
      context: undefined,
      capturesStacks: false,
      tryTimeoutMs: 1_000,
      now: () => nowMs,
      turnMs: () => nowMs,
      submit: (call) => outgoing.window.enqueue(call),
      freshSecret: () => "0".repeat(32),
      onIdle: () => undefined,
    },
    lease,
    outgoing,
  );
  answers = new Answers(outgoing, locks, lease);
});

function tell(message: SessionMessage, atMs: number) {
  return answers.onMessage(message, SESSION, atMs);
}

function reply(sequence: number, stamp: number, result: Result): SessionMessage {
  return { kind: MESSAGE.reply, sequence, stamp, result };
}

/** Sends a release at `nowMs` as the next sequence. */
function send(nowMs: number): void {
  outgoing.window.enqueue(new ReleaseCall(locks, { token: 1 }, undefined));
  outgoing.write(nowMs);
}

describe("evidence", () => {
  it("is the time before the first transmission, however often it was repeated", () => {
    send(100);
    outgoing.repeat(5_000, 0, [], []);
    tell(reply(1, 55, RELEASED), 5_100);
    expect(lease.newestMs).toBe(100);
  });

  it("is only ever replaced by newer one", () => {
    send(100);
    send(200);
    tell(reply(2, 60, RELEASED), 300);
    tell(reply(1, 61, RELEASED), 400);
    expect(lease.newestMs).toBe(200);
  });

  it("is given once for each answer", () => {
    send(100);
    tell(reply(1, 60, RELEASED), 300);
    tell(reply(1, 60, RELEASED), 400);
    tell(reply(2, 60, RELEASED), 400);
    expect(lease.newestMs).toBe(100);
  });

  it("is not a refusal by a node, which executed nothing", () => {
    send(100);
    tell(reply(1, 0, { status: ERROR_NUMBERS.BUSY }), 200);
    expect(lease.newestMs).toBe(Number.NEGATIVE_INFINITY);
    expect(outgoing.window.unanswered).toBe(1);
  });

  it("is not the word that the session is gone, though an entry gave it", () => {
    send(100);
    const loss = tell(reply(1, 60, { status: ERROR_NUMBERS.SESSION_EXPIRED }), 200);
    expect(loss).toBe("expired");
    expect(lease.newestMs).toBe(Number.NEGATIVE_INFINITY);
  });

  it("is not an outcome that is pushed", () => {
    send(100);
    const result: Result = { status: ERROR_NUMBERS.LOCK_TIMEOUT };
    tell({ kind: MESSAGE.outcome, sequence: 1, stamp: 60, result }, 200);
    expect(lease.newestMs).toBe(Number.NEGATIVE_INFINITY);
  });

  it("of a keepalive is matched by its number, once, and never across connections", () => {
    outgoing.keepalive(100);
    outgoing.keepalive(200);
    tell({ kind: MESSAGE.pulse, number: 1, stamp: 60 }, 250);
    expect(lease.newestMs).toBe(100);
    outgoing.disconnect();
    tell({ kind: MESSAGE.pulse, number: 2, stamp: 61 }, 260);
    expect(lease.newestMs).toBe(100);
    outgoing.frame.begin(1 << 20);
    outgoing.keepalive(300);
    tell({ kind: MESSAGE.pulse, number: 2, stamp: 62 }, 350);
    expect(lease.newestMs).toBe(100);
    tell({ kind: MESSAGE.pulse, number: 3, stamp: 62 }, 350);
    expect(lease.newestMs).toBe(300);
  });
});

/** Sends an acquire of `key` at `nowMs` as the next sequence, and says what becomes of it. */
function sendAcquire(nowMs: number): Promise<HeldLock | undefined> {
  const waitMs = WAIT_FOREVER;
  const signal = undefined;
  const items = [{ key: "k", mode: "exclusive" }] as const;
  const owner = locks.newOwner();
  const wish = { items, owner, waitMs, isTry: false, signal, options: undefined } as const;
  const lock = locks.request(wish);
  outgoing.write(nowMs);
  return lock;
}

describe("a grant", () => {
  it("that was kept aside and is told to have ended is never handed out as held", async () => {
    const waiting = sendAcquire(100);
    tell(reply(1, 60, { status: STATUS.queued }), 150);
    outgoing.repeat(200, 1, [1], []);
    const granted: Result = { status: STATUS.granted, token: 41 };
    // As after a long pause: not even the newest evidence is of use any more.
    const done = { sequence: 1, state: RECALL_STATE.done, stamp: 70, result: granted } as const;
    const ended = { token: 41, held: false, reason: END_REASON.revoked } as const;
    nowMs = 50_000;
    tell(
      { kind: MESSAGE.recalled, number: 1, stamp: 80, sequences: [done], tokens: [ended] },
      nowMs,
    );
    answers.renew(49_000, 90);
    const lock = await waiting;
    expect(lock?.isHeld).toBe(false);
    expect(lock?.signal.reason).toMatchObject({ details: { reason: "revoked" } });
    expect(await lock?.release()).toEqual({ released: false, reason: "revoked" });
  });

  it("is what a wait ends by, and not another word that it is queued", async () => {
    const waiting = sendAcquire(100);
    const queued: Result = { status: STATUS.queued };
    tell(reply(1, 60, queued), 150);
    tell({ kind: MESSAGE.outcome, sequence: 1, stamp: 61, result: queued }, 160);
    const granted: Result = { status: STATUS.granted, token: 41 };
    tell({ kind: MESSAGE.outcome, sequence: 1, stamp: 62, result: granted }, 170);
    expect((await waiting)?.token).toBe(41);
  });
});

describe("a token", () => {
  it("that an upgrade replaced still names the hold, and nothing once that was released", async () => {
    const waiting = sendAcquire(100);
    tell(reply(1, 60, { status: STATUS.granted, token: 41 }), 150);
    const lock = await waiting;
    if (lock === undefined) throw new Error("it was granted");
    const hold = locks.holds.find(41);
    if (hold === undefined) throw new Error("it is held");
    locks.onToken(hold, 42);
    expect(lock.token).toBe(42);
    tell({ kind: MESSAGE.contended, token: 41 }, 250);
    expect(lock.isContended).toBe(true);
    void lock.release();
    outgoing.write(300);
    tell(reply(2, 70, RELEASED), 350);
    expect([locks.holds.find(41), locks.holds.find(42), locks.holds.size]).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });
});

describe("the tokens of a lock that is upgraded again and again", () => {
  it("are forgotten but for the last ones, and all at its end", async () => {
    const waiting = sendAcquire(100);
    tell(reply(1, 60, { status: STATUS.granted, token: 1_000 }), 150);
    const lock = await waiting;
    const hold = locks.holds.find(1_000);
    if (hold === undefined) throw new Error("it is held");
    for (let token = 1_001; token <= 2_000; token += 1) locks.onToken(hold, token);
    const known = Array.from({ length: 1_001 }, (_, at) => 1_000 + at).filter((token) => {
      return locks.holds.find(token) === hold;
    });
    expect(known[0]).toBeGreaterThan(1_900);
    expect(known.at(-1)).toBe(2_000);
    tell({ kind: MESSAGE.contended, token: 1_999 }, 250);
    expect(lock?.isContended).toBe(true);
    locks.onLost(1_999, "stolen");
    expect([lock?.isHeld, locks.holds.size]).toEqual([false, 0]);
    expect(known.filter((token) => locks.holds.find(token) !== undefined)).toEqual([]);
  });
});

describe("a grant that is counted up", () => {
  it("while the lease is not proven is recalled by the newest token of its hold", async () => {
    const first = sendAcquire(100);
    tell(reply(1, 60, { status: STATUS.granted, token: 41 }), 150);
    const lock = await first;
    if (lock === undefined) throw new Error("it was granted");
    let isHandedOut = false;
    const second = sendAcquire(200);
    void second.then(() => {
      isHandedOut = true;
    });
    // Nobody looked at the clock yet when the answer is read.
    nowMs = 50_000;
    tell(
      {
        kind: MESSAGE.reply,
        sequence: 2,
        stamp: 0,
        result: { status: STATUS.granted, token: 41, count: 2 },
      },
      50_000,
    );
    const hold = locks.holds.find(41);
    if (hold === undefined) throw new Error("it is held");
    locks.onToken(hold, 42);
    expect(locks.holds.asideTokens).toEqual([42]);
    outgoing.recallTokens(50_000, locks.holds.asideTokens);
    const held = {
      token: 42,
      held: true,
      current: 42,
      count: 2,
      endsAt: 0,
      isRevoked: false,
      isContended: false,
    } as const;
    tell(
      { kind: MESSAGE.recalled, number: 1, stamp: 40_000, sequences: [], tokens: [held] },
      50_010,
    );
    expect((await second)?.token).toBe(42);
    expect(isHandedOut).toBe(true);
    expect(lock.token).toBe(42);
  });
});

describe("an acknowledgement", () => {
  it("that a command carried goes with another one when that command is given up", () => {
    const wish = {
      items: [{ key: "k", mode: "exclusive" }],
      owner: locks.newOwner(),
      options: undefined,
      waitMs: 0,
      isTry: true,
      signal: undefined,
    } as const;
    outgoing.window.acknowledge(41);
    void locks.request(wish).catch(() => undefined);
    outgoing.write(0);
    expect(outgoing.window.get(1)?.acknowledged).toEqual([41]);
    for (const nowMs of [1_000, 12_000]) {
      tell(reply(1, 0, { status: ERROR_NUMBERS.BUSY }), nowMs);
      outgoing.write(nowMs + 5_000);
    }
    expect(outgoing.window.unanswered).toBe(0);
    send(20_000);
    expect(outgoing.window.get(2)?.acknowledged).toEqual([41]);
  });
});

describe("the end of a session", () => {
  it("is only believed of the session that one has", () => {
    expect(tell({ kind: MESSAGE.ended, session: SESSION + 1, reason: 2 }, 1)).toBeUndefined();
    expect(tell({ kind: MESSAGE.ended, session: SESSION, reason: 2 }, 1)).toBe("expired");
    expect(tell({ kind: MESSAGE.ended, session: SESSION, reason: 6 }, 1)).toBe("revoked");
  });
});
