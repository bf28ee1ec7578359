/** Which answers are evidence for the lease, one by one. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Call } from "../../../src/client/calls/call.js";
import { Outgoing } from "../../../src/client/calls/outgoing.js";
import { Claims } from "../../../src/client/locks/claims.js";
import type { HeldLock } from "../../../src/client/locks/held-lock.js";
import { EndCall } from "../../../src/client/locks/hold-calls.js";
import { Locks } from "../../../src/client/locks/locks.js";
import { Answers } from "../../../src/client/session/answers.js";
import { SessionLease } from "../../../src/client/session-lease/session-lease.js";
import { ClientLog } from "../../../src/client/transport/client-log.js";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  END_REASON,
  MESSAGE,
  RECALL_STATE,
  type Reply,
  type Result,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";

const log = new ClientLog(undefined, {});
const SESSION = 7;
const RELEASED: Result = { status: STATUS.released };

let lease: SessionLease;
let outgoing: Outgoing;
let claims: Claims;
let locks: Locks;
let answers: Answers;
let nowMs: number;

beforeEach(() => {
  nowMs = 0;
  lease = new SessionLease(10_000);
  outgoing = new Outgoing(
    () => undefined,
    () => 0.5,
    log,
  );
  outgoing.frame.begin(1 << 20);
  const host = {
    sessionId: SESSION,
    isEnding: false,
    clusterId: "",
    endError: () => new Error("ended"),
    context: undefined,
    tracing: undefined,
    endpoint: "",
    log,
    capturesStacks: false,
    tryTimeoutMs: 1_000,
    now: () => nowMs,
    turnMs: () => nowMs,
    submit: (call: Call) => outgoing.window.enqueue(call),
    departWhenAttached: () => undefined,
    freshSecret: () => "0".repeat(32),
    onIdle: () => undefined,
    allowListeners: () => undefined,
  };
  claims = new Claims(host, lease, outgoing);
  locks = new Locks(host, claims);
  answers = new Answers(outgoing, claims, lease);
});

function tell(message: Parameters<Answers["onMessage"]>[0], atMs: number): void {
  answers.onMessage(message, atMs);
}

function reply(sequence: number, stamp: number, result: Result): Reply {
  return { kind: MESSAGE.reply, sequence, stamp, result };
}

/** Sends a command at `nowMs` as the next sequence. */
function send(nowMs: number): void {
  outgoing.window.enqueue(new EndCall({ sequence: 1 }));
  outgoing.write(nowMs);
}

/** Another connection has the session, in which that much was executed. */
function resume(nowMs: number, highestSequence: number): void {
  outgoing.disconnect();
  answers.disconnect();
  outgoing.frame.begin(1 << 20);
  outgoing.attached(nowMs, highestSequence, []);
}

describe("evidence", () => {
  it("is the time at which the command was sent over this connection", () => {
    send(100);
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

  it("is not an answer to what another connection sent, nor anything before that was recalled", () => {
    send(100);
    send(200);
    resume(300, 1);
    // The second was not executed, and is sent again under its number.
    outgoing.write(400);
    tell(reply(2, 60, RELEASED), 450);
    expect(lease.newestMs).toBe(Number.NEGATIVE_INFINITY);
    const told = { sequence: 1, state: RECALL_STATE.replied, stamp: 50, result: RELEASED } as const;
    tell({ kind: MESSAGE.recalled, number: 1, stamp: 55, sequences: [told] }, 460);
    expect(lease.newestMs).toBe(400);
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
    tell({ kind: MESSAGE.renewed, number: 1, stamp: 60 }, 250);
    expect(lease.newestMs).toBe(100);
    outgoing.disconnect();
    tell({ kind: MESSAGE.renewed, number: 2, stamp: 61 }, 260);
    expect(lease.newestMs).toBe(100);
    outgoing.frame.begin(1 << 20);
    outgoing.keepalive(300);
    tell({ kind: MESSAGE.renewed, number: 2, stamp: 62 }, 350);
    expect(lease.newestMs).toBe(100);
    tell({ kind: MESSAGE.renewed, number: 3, stamp: 62 }, 350);
    expect(lease.newestMs).toBe(300);
  });
});

/** Sends an acquire of `k` at `nowMs` as the next sequence, and says what becomes of it. */
function sendAcquire(nowMs: number): Promise<HeldLock | undefined> {
  const lock = locks.request({
    items: [{ key: "k", mode: "exclusive" }],
    task: locks.newTask(),
    waitMs: WAIT_FOREVER,
    isTry: false,
    isReentrant: false,
    signal: undefined,
    options: undefined,
  });
  outgoing.write(nowMs);
  return lock;
}

describe("a wait", () => {
  it("that was granted and lost meanwhile is never handed out as held", async () => {
    const waiting = sendAcquire(100);
    tell(reply(1, 60, { status: STATUS.queued }), 150);
    outgoing.disconnect();
    outgoing.frame.begin(1 << 20);
    outgoing.attached(200, 1, [1]);
    const reason = END_REASON.revoked;
    const ended = { sequence: 1, state: RECALL_STATE.ended, token: 41, reason } as const;
    tell({ kind: MESSAGE.recalled, number: 1, stamp: 80, sequences: [ended] }, 250);
    const lock = await waiting;
    expect(lock?.isHeld).toBe(false);
    expect(lock?.signal.reason).toMatchObject({ details: { reason: "revoked" } });
    expect(await lock?.release()).toEqual({ released: false, reason: "revoked" });
    expect(outgoing.window.takeAcknowledgements()).toEqual([1]);
  });

  it("ends by its grant, and not by another word that it is queued", async () => {
    const waiting = sendAcquire(100);
    const queued: Result = { status: STATUS.queued };
    tell(reply(1, 60, queued), 150);
    tell({ kind: MESSAGE.outcome, sequence: 1, stamp: 61, result: queued }, 160);
    const granted: Result = { status: STATUS.granted, token: 41 };
    tell({ kind: MESSAGE.outcome, sequence: 1, stamp: 62, result: granted }, 170);
    expect((await waiting)?.token).toBe(41);
    expect(outgoing.window.takeAcknowledgements()).toEqual([]);
  });
});

describe("a hold", () => {
  it("is known by its number, and by nothing once it was released", async () => {
    const waiting = sendAcquire(100);
    tell(reply(1, 60, { status: STATUS.granted, token: 41 }), 150);
    const lock = await waiting;
    tell({ kind: MESSAGE.contended, sequence: 1 }, 250);
    expect(lock?.isContended).toBe(true);
    void lock?.release();
    outgoing.write(300);
    tell(reply(2, 70, RELEASED), 350);
    expect(claims.isHolding).toBe(false);
  });
});
