/** The laws of locks complain about words that break them, and about no others. */
import { beforeEach, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireOptions,
  END_REASON,
  type Item,
  MESSAGE,
  OP,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { LockLaws } from "./checks/lock-laws.js";

const TTL_MS = 2_000;
const exclusive = (key: string): Item => ({ key, mode: "exclusive" });
const shared = (key: string): Item => ({ key, mode: "shared" });
const permits = (key: string, count: number, limit: number): Item => {
  return { key, mode: "permits", permits: count, limit };
};

/** A log in which somebody says what is to be judged. */
class Words {
  readonly laws = new LockLaws();
  #stamp = 0;
  #lastSequence = 0;

  constructor(sessions: readonly number[]) {
    this.at(1);
    for (const session of sessions) this.#attach(session, 1);
  }

  /** By another process, which has not asked for the new tokens yet. */
  takeOver(session: number): void {
    const command = { op: OP.takeOver, session, nonce: "", attempt: 2 } as const;
    this.laws.begin(this.#stamp, [{ session, epoch: 2, command }]);
    this.#attach(session, 2);
  }

  #attach(session: number, epoch: number): void {
    this.laws.attached({
      kind: MESSAGE.attached,
      nonce: "",
      attempt: epoch,
      status: STATUS.ok,
      session,
      epoch,
      highestSequence: 0,
      stamp: this.#stamp,
      ttlMs: TTL_MS,
    });
  }

  at(stamp: number): void {
    this.#stamp = stamp;
    this.laws.begin(stamp, []);
  }

  /** The sequence of a command that was executed with that result. */
  ask(session: number, wish: Wish, result: Result): number {
    this.#lastSequence += 1;
    const sequence = this.#lastSequence;
    const command = { sequence, mark: 1, acknowledged: [], ...wish } as SequencedCommand;
    this.laws.begin(this.#stamp, [{ session, epoch: 1, command }]);
    this.say(session, { kind: MESSAGE.reply, sequence, stamp: this.#stamp, result });
    return sequence;
  }

  acquire(
    session: number,
    items: readonly Item[],
    result: Result,
    options: Partial<AcquireOptions> = {},
  ): number {
    const wish = { op: OP.acquire, owner: session, items, waitMs: -1 };
    return this.ask(session, { ...wish, options: { ...ACQUIRE_DEFAULTS, ...options } }, result);
  }

  /** Asks what became of a lock that is held once. */
  recall(session: number, token: number, current: number): void {
    const how = { count: 1, endsAt: 0, isRevoked: false, isContended: false };
    const tokens = [{ token, held: true, current, ...how } as const];
    const stamp = this.#stamp;
    this.say(session, { kind: MESSAGE.recalled, number: 1, stamp, sequences: [], tokens });
  }

  outcome(session: number, sequence: number, result: Result): void {
    this.say(session, { kind: MESSAGE.outcome, sequence, stamp: this.#stamp, result });
  }

  lose(session: number, token: number, reason: (typeof END_REASON)[keyof typeof END_REASON]): void {
    this.say(session, { kind: MESSAGE.lost, token, stamp: this.#stamp, reason });
  }

  say(session: number, message: SessionMessage): void {
    this.laws.hear(session, message);
  }
}

type Wish = Readonly<Record<string, unknown>> & { readonly op: number };

const granted = (token: number, slots?: readonly (readonly number[])[]): Result => {
  return slots === undefined
    ? { status: STATUS.granted, token }
    : { status: STATUS.granted, token, slots };
};
const upgraded = (token: number): Result => ({ status: STATUS.upgraded, token, key: "k" });
const claimed = (token: number, endsAt = 0): Result => {
  const items = [{ key: "k", mode: "exclusive", permits: 0, slots: [] }] as const;
  return { status: STATUS.claimed, token, items, value: "", grantedAt: 1, endsAt };
};
const OK: Result = { status: STATUS.ok };
const QUEUED: Result = { status: STATUS.queued };
const RELEASED: Result = { status: STATUS.released };

let words: Words;
beforeEach(() => {
  words = new Words([1, 2, 3]);
});

describe("nothing is said against", () => {
  test("the refusal of an upgrade that names a token from before its session was taken over", () => {
    words.acquire(1, [shared("k")], granted(10));
    words.acquire(2, [shared("k")], granted(11));
    words.ask(2, { op: OP.upgrade, token: 11, key: "k", waitMs: -1, detect: true }, QUEUED);
    words.takeOver(1);
    const cycle = [1, 2].map((session) => {
      return { session, sessionName: "", owner: session, key: "k", mode: "exclusive" } as const;
    });
    const refused: Result = { status: ERROR_NUMBERS.DEADLOCK, cycle };
    words.ask(1, { op: OP.upgrade, token: 10, key: "k", waitMs: -1, detect: true }, refused);
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a wait that has less time than what an older attachment sent in vain", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    const sent = { op: OP.acquire, sequence: 1, mark: 1, acknowledged: [], owner: 2 } as const;
    const command = { ...sent, items: [exclusive("k")], waitMs: 118, options: undefined };
    words.laws.begin(1, [{ session: 2, epoch: 1, command }]);
    words.at(100);
    words.laws.begin(100, [{ session: 2, epoch: 2, command: { ...command, waitMs: 1 } }]);
    words.say(2, { kind: MESSAGE.reply, sequence: 1, stamp: 100, result: QUEUED });
    words.at(101);
    words.outcome(2, 1, { status: ERROR_NUMBERS.LOCK_TIMEOUT });
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a lock that was counted down under a token that nobody knew", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.acquire(1, [exclusive("k")], { status: STATUS.granted, token: 10, count: 2 });
    words.takeOver(1);
    words.ask(1, { op: OP.release, token: 10 }, { status: STATUS.released, remaining: 1 });
    words.recall(1, 10, 11);
    words.ask(1, { op: OP.release, token: 11 }, RELEASED);
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a lock that is recalled, behind a takeover, by its token of before an upgrade", () => {
    words.acquire(1, [shared("k")], granted(10));
    words.ask(1, { op: OP.upgrade, token: 10, key: "k" }, upgraded(11));
    words.takeOver(1);
    words.recall(1, 10, 12);
    words.acquire(2, [exclusive("k")], QUEUED);
    words.say(1, { kind: MESSAGE.contended, token: 12 });
    words.ask(1, { op: OP.detach, token: 12, secret: "a", ticketTtlMs: 1_000 }, OK);
    words.ask(3, { op: OP.claim, token: 12, secret: "a", owner: 1 }, claimed(13));
    words.say(3, { kind: MESSAGE.contended, token: 13 });
    words.laws.finish();
    expect(words.laws.complaint).toBeUndefined();
  });

  test("readers beside a lock that was made shared before anybody knew its new token", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.takeOver(1);
    words.ask(1, { op: OP.downgrade, token: 10 }, OK);
    words.recall(1, 10, 11);
    words.acquire(2, [shared("k")], granted(12));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a lock that was upgraded behind a takeover, left and claimed, and nobody recalled", () => {
    words.acquire(1, [shared("k")], granted(10));
    words.takeOver(1);
    words.ask(1, { op: OP.upgrade, token: 10, key: "k" }, upgraded(12));
    words.say(1, { kind: MESSAGE.revoking, token: 12, stamp: 1, endsAt: 2_500, reason: "" });
    words.at(1_000);
    words.ask(1, { op: OP.detach, token: 12, secret: "a", ticketTtlMs: 1_000 }, OK);
    words.ask(2, { op: OP.claim, token: 12, secret: "a", owner: 1 }, claimed(13, 2_500));
    words.say(2, { kind: MESSAGE.revoking, token: 13, stamp: 1_000, endsAt: 2_500, reason: "" });
    words.acquire(3, [exclusive("k")], QUEUED);
    words.say(2, { kind: MESSAGE.contended, token: 13 });
    words.ask(2, { op: OP.release, token: 13 }, RELEASED);
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a lock that passes from hand to hand, with its policies kept", () => {
    words.acquire(1, [exclusive("k")], granted(10), { minHoldMs: 500 });
    const waiting = words.acquire(2, [exclusive("k")], QUEUED);
    words.say(1, { kind: MESSAGE.contended, token: 10 });
    words.at(100);
    words.ask(1, { op: OP.release, token: 10 }, RELEASED);
    words.at(501);
    words.outcome(2, waiting, granted(11));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a cap, a revoke with grace, and a theft", () => {
    words.acquire(1, [exclusive("k")], granted(10), { maxHoldMs: 1_000 });
    words.at(1_001);
    words.lose(1, 10, END_REASON.maxHold);
    words.acquire(1, [exclusive("k")], granted(11));
    words.say(1, { kind: MESSAGE.revoking, token: 11, stamp: 1_001, endsAt: 4_000, reason: "" });
    words.at(4_000);
    words.lose(1, 11, END_REASON.revoked);
    words.acquire(2, [exclusive("k")], granted(12));
    words.lose(2, 12, END_REASON.stolen);
    words.acquire(3, [exclusive("k")], granted(13), { steal: true });
    expect(words.laws.complaint).toBeUndefined();
    expect([11, 12].map((token) => words.laws.isTorn(2, token))).toEqual([false, true]);
  });
});

describe("the laws are broken by", () => {
  test("a writer beside a reader", () => {
    words.acquire(1, [shared("k")], granted(10));
    words.acquire(2, [exclusive("k")], granted(11));
    expect(words.laws.complaint).toContain("k is shared by 10");
  });

  test("a slot that two have", () => {
    words.acquire(1, [permits("s", 1, 3)], granted(10, [[0]]));
    words.acquire(2, [permits("s", 1, 3)], granted(11, [[0]]));
    expect(words.laws.complaint).toContain("slot 0 of s is 10's");
  });

  test("more permits than there are", () => {
    words.acquire(1, [permits("s", 2, 2)], granted(10, [[0, 1]]));
    words.acquire(2, [permits("s", 1, 2)], granted(11, [[2]]));
    expect(words.laws.complaint).toContain("3 permits of s are held, of 2");
  });

  test("a token that does not rise", () => {
    words.acquire(1, [exclusive("a")], granted(10));
    words.acquire(2, [exclusive("b")], granted(10));
    expect(words.laws.complaint).toBeDefined();
  });

  test("a grant before somebody who came first, be it with a head start that is over", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.acquire(2, [exclusive("k")], QUEUED);
    words.at(1_500);
    const late = words.acquire(3, [exclusive("k")], QUEUED, { priority: 1 });
    words.ask(1, { op: OP.release, token: 10 }, RELEASED);
    words.outcome(3, late, granted(11));
    expect(words.laws.complaint).toContain("overtakes 2/2");
  });

  test("a grant while the key is closed", () => {
    words.acquire(1, [exclusive("k")], granted(10), { lockDelayMs: 300 });
    words.lose(1, 10, END_REASON.stolen);
    words.acquire(2, [exclusive("k")], granted(11), { lockDelayMs: 300, maxHoldMs: 1_000 });
    words.at(1_100);
    words.lose(2, 11, END_REASON.maxHold);
    words.at(1_399);
    words.acquire(3, [exclusive("k")], granted(12));
    expect(words.laws.complaint).toContain("k is exclusive by 11");
  });

  test("a revoke that is due before the lease of its holder", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.say(1, { kind: MESSAGE.revoking, token: 10, stamp: 1, endsAt: 1_999, reason: "" });
    expect(words.laws.complaint).toContain("its lease ends at 2001");
  });

  test("the loss of a hold that nobody revoked at once", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.lose(1, 10, END_REASON.revoked);
    expect(words.laws.complaint).toContain("revoked before its time");
  });

  test("a wait that ends before its deadline, or twice", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    const waiting = words.acquire(2, [exclusive("k")], QUEUED);
    words.outcome(2, waiting, { status: 17 });
    expect(words.laws.complaint).toContain("timed out before 0");
    const other = new Words([1]);
    other.outcome(1, 7, granted(11));
    expect(other.laws.complaint).toContain("does not wait");
  });

  test("a holder that is told twice that somebody waits, or of nobody", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.say(1, { kind: MESSAGE.contended, token: 10 });
    words.laws.finish();
    expect(words.laws.complaint).toContain("contended by nobody");
    const other = new Words([1, 2]);
    other.acquire(1, [exclusive("k")], granted(10));
    other.acquire(2, [exclusive("k")], QUEUED);
    other.say(1, { kind: MESSAGE.contended, token: 10 });
    other.say(1, { kind: MESSAGE.contended, token: 10 });
    expect(other.laws.complaint).toContain("contended twice");
  });

  test("a circle in which the one that is refused has no part", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    const cycle = [{ session: 2, sessionName: "", owner: 2, key: "k", mode: "exclusive" as const }];
    words.acquire(3, [exclusive("k")], { status: 19, cycle });
    expect(words.laws.complaint).toContain("no member of the circle");
  });

  test("a release of what somebody else holds", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.ask(2, { op: OP.release, token: 10 }, RELEASED);
    expect(words.laws.complaint).toContain("session 2 releases 10");
  });

  test("a ticket that is claimed with another secret", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.ask(1, { op: OP.detach, token: 10, secret: "a", ticketTtlMs: 1_000 }, OK);
    words.ask(2, { op: OP.claim, token: 10, secret: "b", owner: 1 }, claimed(11));
    expect(words.laws.complaint).toContain("another secret");
  });

  test("a reader beside a lock that was upgraded, taken over and recalled by its first token", () => {
    words.acquire(1, [shared("k")], granted(10));
    words.ask(1, { op: OP.upgrade, token: 10, key: "k" }, upgraded(11));
    words.takeOver(1);
    words.recall(1, 10, 12);
    words.acquire(2, [shared("k")], granted(13));
    expect(words.laws.complaint).toContain("k is exclusive by 12");
  });

  test("a reader beside a lock that was upgraded before anybody knew its new token", () => {
    words.acquire(1, [shared("k")], granted(10));
    words.takeOver(1);
    words.ask(1, { op: OP.upgrade, token: 10, key: "k" }, upgraded(12));
    words.recall(1, 10, 12);
    words.acquire(2, [shared("k")], granted(13));
    expect(words.laws.complaint).toContain("k is exclusive by 12");
  });
});
