/** The laws of locks complain about messages that break them, and about no others. */
import { beforeEach, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireTerms,
  type AttachCommand,
  type Attached,
  attachKeyOf,
  END_REASON,
  type EndReason,
  type Item,
  type LockMode,
  MESSAGE,
  OP,
  RECALL_STATE,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { LockLaws } from "./checks/locks/lock-laws.js";

const TTL_MS = 2_000;
const exclusive = (key: string): Item => ({ key, mode: "exclusive" });
const shared = (key: string): Item => ({ key, mode: "shared" });
const permits = (key: string, count: number, limit?: number): Item => {
  return { key, mode: "permits", permits: count, limit };
};

/** A log in which somebody says what is to be judged. */
class Words {
  readonly laws = new LockLaws();
  readonly #highest = new Map<number, number>();
  readonly #epochs = new Map<number, number>();
  #stamp = 0;

  constructor(sessions: readonly number[]) {
    this.at(1);
    for (const session of sessions) {
      const rest = { ttlMs: TTL_MS, name: "", metadata: "" };
      this.attach(session, { op: OP.open, nonce: nonceOf(session), attempt: 1, ...rest });
    }
  }

  attach(session: number, command: AttachCommand, answer: Partial<Attached> = {}): void {
    const epoch = (this.#epochs.get(session) ?? 0) + 1;
    if ((answer.status ?? STATUS.ok) === STATUS.ok) this.#epochs.set(session, epoch);
    this.laws.begin(this.#stamp, [{ session: 0, epoch: 0, command }]);
    this.laws.attached({
      kind: MESSAGE.attached,
      key: attachKeyOf(command),
      attempt: command.attempt,
      status: STATUS.ok,
      session,
      epoch,
      highestSequence: this.#highest.get(session) ?? 0,
      stamp: this.#stamp,
      ttlMs: TTL_MS,
      index: 1,
      ...answer,
    });
  }

  at(stamp: number): void {
    this.#stamp = stamp;
    this.laws.begin(stamp, []);
  }

  /** The sequence of a command that was executed with that result. */
  ask(session: number, wish: Wish, result: Result): number {
    const sequence = (this.#highest.get(session) ?? 0) + 1;
    return this.execute(session, sequence, this.#epochs.get(session) ?? 0, wish, result);
  }

  execute(session: number, sequence: number, epoch: number, wish: Wish, result: Result): number {
    this.#highest.set(session, sequence);
    this.laws.begin(this.#stamp, [{ session, epoch, command: commandOf(sequence, wish) }]);
    const reply = { kind: MESSAGE.reply, sequence, stamp: this.#stamp, result } as const;
    this.laws.hear(session, epoch, reply);
    return sequence;
  }

  reply(session: number, sequence: number, result: Result): void {
    this.say(session, { kind: MESSAGE.reply, sequence, stamp: this.#stamp, result });
  }

  /** Commands of one entry, whose answers are said next. Returns the number of the first. */
  batch(session: number, wishes: readonly Wish[]): number {
    const first = (this.#highest.get(session) ?? 0) + 1;
    const epoch = this.#epochs.get(session) ?? 0;
    this.#highest.set(session, first + wishes.length - 1);
    const commands = wishes.map((wish, at) => commandOf(first + at, wish));
    this.laws.begin(
      this.#stamp,
      commands.map((command) => ({ session, epoch, command })),
    );
    return first;
  }

  acquire(
    session: number,
    items: readonly Item[],
    result: Result,
    options: Partial<AcquireTerms> = {},
  ): number {
    return this.ask(session, acquireOf(session, items, options), result);
  }

  /** The lock "k" goes from one session to another. Returns the number by which the thief has it. */
  steal(from: { session: number; sequence: number; token: number }, thief: number): number {
    const sequence = this.batch(thief, [acquireOf(thief, [exclusive("k")], { steal: true })]);
    this.lose(from.session, from.sequence, from.token, END_REASON.stolen);
    this.reply(thief, sequence, granted(from.token + 1));
    return sequence;
  }

  upgrade(session: number, target: number, result: Result): number {
    const wish = { op: OP.upgrade, target, key: "k", waitMs: -1, detect: true };
    return this.ask(session, wish, result);
  }

  end(session: number, target: number, result: Result): void {
    this.ask(session, { op: OP.end, target }, result);
  }

  /** A take by the owner with that digit. */
  take(session: number, owner: string, request: string, item: Item, result: Result): number {
    return this.ask(session, takeOf(owner, request, item), result);
  }

  giveBack(session: number, owner: string, key: string, count: number, waits: number): void {
    this.ask(session, giveBackOf(owner, key), givenBack(count, waits));
  }

  revokeNow(session: number, key: string): void {
    this.revokeKey(session, key, { graceMs: 0, now: true });
  }

  /** Ends one hold of the key, and says how many more there are, which are left as they were. */
  revokeKey(
    session: number,
    key: string,
    how: { readonly graceMs: number; readonly now?: boolean; readonly remaining?: number },
  ): void {
    const { graceMs, now = false, remaining = 0 } = how;
    const wish = { op: OP.revoke, key, token: 0, graceMs, now, reason: "" };
    const left = { remaining, opened: 0, endsInMs: graceMs, leasesLeft: 0 };
    this.ask(session, wish, { status: STATUS.revoked, count: 1, ...left });
  }

  /** To the bearer `a`, or to the owner with that digit. */
  handOver(session: number, target: number, result: Result, owner?: string): void {
    const to = owner?.repeat(32) ?? "a";
    const isBearer = owner === undefined;
    this.ask(session, { op: OP.handOver, target, to, isBearer, ttlMs: 1_000 }, result);
  }

  adopt(session: number, result: Result, secret = "a"): number {
    return this.ask(session, { op: OP.adopt, key: "k", secret, task: 1 }, result);
  }

  extend(session: number, owner: string, result: Result): void {
    const how = { ttlMs: 1_000, mode: "atLeast" };
    this.ask(session, { op: OP.extend, owner: owner.repeat(32), keys: ["k"], ...how }, result);
  }

  /** How a lock of the key `k` stands. */
  recall(
    session: number,
    sequence: number,
    token: number,
    mode: LockMode,
    isContended = false,
  ): void {
    const items = [{ key: "k", mode, permits: 0, slots: [] }];
    const how = { value: "", grantedAt: 1, endsAt: 0, isRevoked: false, isContended };
    const held = { sequence, state: RECALL_STATE.held, token, items, ...how };
    const stamp = this.#stamp;
    this.say(session, { kind: MESSAGE.recalled, number: 1, stamp, sequences: [held] });
  }

  outcome(session: number, sequence: number, result: Result): void {
    this.say(session, { kind: MESSAGE.outcome, sequence, stamp: this.#stamp, result });
  }

  contend(session: number, sequence: number): void {
    this.say(session, { kind: MESSAGE.contended, sequence });
  }

  revoke(session: number, sequence: number, endsAt: number): void {
    const stamp = this.#stamp;
    this.say(session, { kind: MESSAGE.revoking, sequence, stamp, endsAt, reason: "" });
  }

  lose(session: number, sequence: number, token: number, reason: EndReason): void {
    this.say(session, { kind: MESSAGE.lost, sequence, token, stamp: this.#stamp, reason });
  }

  say(session: number, message: SessionMessage): void {
    this.laws.hear(session, this.#epochs.get(session) ?? 0, message);
  }
}

type Wish = Readonly<Record<string, unknown>> & { readonly op: number };

const commandOf = (sequence: number, wish: Wish): SequencedCommand => {
  return { sequence, mark: 1, acknowledged: [], ...wish } as SequencedCommand;
};
const acquireOf = (task: number, items: readonly Item[], options: Partial<AcquireTerms>): Wish => {
  const how = { waitMs: -1, options: { ...ACQUIRE_DEFAULTS, ...options } };
  return { op: OP.acquire, task, items, ...how };
};
/** A take by the owner with that digit. */
const takeOf = (owner: string, request: string, item: Item): Wish => {
  const names = { owner: owner.repeat(32), request: request.repeat(32), name: "" };
  const how = { ttlMs: 1_000, isSplit: false, items: [item], waitMs: -1 };
  return { op: OP.take, ...names, ...how, options: ACQUIRE_DEFAULTS };
};
const giveBackOf = (owner: string, key: string): Wish => {
  return { op: OP.giveBack, owner: owner.repeat(32), keys: [key], taken: 0 };
};
const givenBack = (count: number, waits: number): Result => {
  const reason = count + waits === 0 ? END_REASON.revoked : END_REASON.unknown;
  return { status: STATUS.givenBack, count, waits, reason };
};
const nonceOf = (session: number): string => `nonce ${session}`;
const granted = (token: number, slots?: readonly (readonly number[])[]): Result => {
  return slots === undefined
    ? { status: STATUS.granted, token }
    : { status: STATUS.granted, token, slots };
};
const leased = (token: number, endsAt: number, ...slots: number[][]): Result => {
  return { status: STATUS.leased, tokens: [token], endsAt, slots };
};
const upgraded = (token: number): Result => ({ status: STATUS.upgraded, token });
const adopted = (token: number, endsAt = 0, mode: LockMode = "exclusive"): Result => {
  const items = [{ key: "k", mode, permits: 0, slots: [] }] as const;
  return { status: STATUS.adopted, token, items, value: "", grantedAt: 1, endsAt };
};
const notHeld = (reason: EndReason): Result => ({ status: ERROR_NUMBERS.NOT_HELD, reason });
const extended = (token: number, endsAt: number): Result => {
  return { status: STATUS.extended, leases: [{ token, endsAt }] };
};
const OK: Result = { status: STATUS.ok };
const QUEUED: Result = { status: STATUS.queued };
const RELEASED: Result = { status: STATUS.released };
const GONE: Result = { status: STATUS.notReleased, reason: END_REASON.unknown };

let words: Words;
beforeEach(() => {
  words = new Words([1, 2, 3]);
});

describe("nothing is said against", () => {
  test("readers next to a lock that was made shared", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.ask(1, { op: OP.downgrade, target: first }, OK);
    words.recall(1, first, 10, "shared");
    words.acquire(2, [shared("k")], granted(12));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a lock that was upgraded, revoked and handed over, and nobody recalled", () => {
    const first = words.acquire(1, [shared("k")], granted(10));
    words.upgrade(1, first, upgraded(12));
    words.revoke(1, first, 2_500);
    words.at(1_000);
    words.handOver(1, first, leased(13, 2_000));
    const second = words.adopt(2, adopted(14, 2_500));
    words.revoke(2, second, 2_500);
    words.acquire(3, [exclusive("k")], QUEUED);
    words.contend(2, second);
    words.end(2, second, RELEASED);
    words.laws.finish();
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a hold of a bearer that is adopted, and of those who come too late", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.handOver(1, first, leased(11, 1_001));
    const second = words.adopt(2, adopted(12));
    words.adopt(3, notHeld(END_REASON.moved));
    words.at(60_001);
    words.adopt(3, notHeld(END_REASON.unknown));
    words.end(2, second, RELEASED);
    words.laws.finish();
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a hold of a bearer that a revoke left as it was, adopted and handed over again", () => {
    const first = words.acquire(1, [shared("k")], granted(10));
    words.acquire(2, [shared("k")], granted(11));
    words.handOver(1, first, leased(12, 1_001));
    words.revokeKey(3, "k", { graceMs: 500, remaining: 1 });
    const second = words.adopt(3, adopted(13, 0, "shared"));
    words.handOver(3, second, leased(14, 1_001));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a hold of a bearer that nobody adopts", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10), { lockDelayMs: 200 });
    words.handOver(1, first, leased(11, 1_001));
    words.at(1_001);
    words.adopt(2, notHeld(END_REASON.expired));
    words.at(1_201);
    words.acquire(2, [exclusive("k")], granted(12));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a hold of an owner that extends it, gives it back and takes the key", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.handOver(1, first, leased(11, 1_001), "b");
    words.at(500);
    words.extend(2, "b", extended(11, 1_500));
    words.take(2, "b", "1", exclusive("k"), {
      status: ERROR_NUMBERS.LOCK_HELD,
      isSameOwner: true,
    });
    words.giveBack(2, "b", "k", 1, 0);
    words.take(2, "b", "1", exclusive("k"), leased(12, 1_500));
    words.laws.finish();
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a waiting upgrade that a downgrade ends, whichever of the two is reported first", () => {
    const first = words.acquire(1, [shared("k")], granted(10));
    words.acquire(2, [shared("k")], granted(11));
    const upgrade = words.upgrade(1, first, QUEUED);
    words.ask(1, { op: OP.downgrade, target: first, key: "k" }, OK);
    words.outcome(1, upgrade, { status: ERROR_NUMBERS.CANCELLED });
    words.laws.finish();
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a wait that is withdrawn, and a number of which nothing is left", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    const waiting = words.acquire(2, [exclusive("k")], QUEUED);
    words.end(2, waiting, OK);
    words.end(2, waiting, GONE);
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a lock that passes from hand to hand, with its policies kept", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10), { minHoldMs: 500 });
    const waiting = words.acquire(2, [exclusive("k")], QUEUED);
    words.contend(1, first);
    words.at(100);
    words.end(1, first, RELEASED);
    words.at(501);
    words.outcome(2, waiting, granted(11));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a cap, a revoke with grace, and a theft", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10), { maxHoldMs: 1_000 });
    words.at(1_001);
    words.lose(1, first, 10, END_REASON.maxHold);
    const second = words.acquire(1, [exclusive("k")], granted(11));
    words.revoke(1, second, 4_000);
    words.at(4_000);
    words.lose(1, second, 11, END_REASON.revoked);
    const third = words.acquire(2, [exclusive("k")], granted(12));
    words.steal({ session: 2, sequence: third, token: 12 }, 3);
    expect(words.laws.complaint).toBeUndefined();
    expect([11, 12].map((token) => words.laws.isTorn(2, token))).toEqual([false, true]);
  });

  test("a lease that is repeated by another session, and given back once", () => {
    words.take(1, "a", "1", exclusive("k"), leased(10, 1_001));
    words.at(500);
    words.take(2, "a", "1", exclusive("k"), leased(10, 1_500));
    words.giveBack(3, "a", "k", 1, 0);
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a wait that is repeated and given back, after which its owner waits again", () => {
    const holder = words.acquire(1, [exclusive("k")], granted(10));
    const waiting = words.take(2, "a", "1", exclusive("k"), QUEUED);
    words.at(500);
    const other = words.acquire(3, [exclusive("k")], QUEUED);
    const taking = takeOf("a", "1", exclusive("k"));
    const first = words.batch(2, [taking, giveBackOf("a", "k"), taking]);
    words.outcome(2, waiting, { status: ERROR_NUMBERS.CANCELLED });
    words.reply(2, first, QUEUED);
    words.reply(2, first + 1, givenBack(0, 1));
    words.outcome(2, first, { status: ERROR_NUMBERS.CANCELLED });
    words.reply(2, first + 2, QUEUED);
    words.end(1, holder, RELEASED);
    words.outcome(3, other, granted(11));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a permit that is taken once more under the limit of before", () => {
    words.take(1, "a", "1", permits("s", 1, 1), leased(10, 1_001, [0]));
    words.ask(2, { op: OP.setLimit, key: "s", limit: 2 }, OK);
    words.take(1, "a", "1", permits("s", 1, 1), leased(10, 1_001, [0]));
    words.acquire(2, [permits("s", 1)], granted(11, [[1]]));
    expect(words.laws.complaint).toBeUndefined();
  });

  test("a wait of an owner whose lease was revoked, and that gives it back", () => {
    words.take(1, "a", "1", shared("k"), leased(10, 1_001));
    words.revokeNow(3, "k");
    words.acquire(2, [exclusive("k")], granted(11));
    words.take(1, "a", "1", shared("k"), QUEUED);
    words.giveBack(1, "a", "k", 0, 1);
    expect(words.laws.complaint).toBeUndefined();
  });
});

describe("the laws are broken by", () => {
  test("a command that is executed out of its order, or for an older connection", () => {
    const wish = { op: OP.update, target: 1, value: "" };
    words.acquire(1, [exclusive("k")], granted(10));
    words.execute(1, 3, 1, wish, OK);
    expect(words.laws.complaint).toContain("1/3: is executed after 1");
    const other = new Words([1]);
    const resume = { op: OP.resume, session: 1, nonce: nonceOf(1) } as const;
    other.acquire(1, [exclusive("k")], granted(10));
    other.attach(1, { ...resume, attempt: 2 });
    other.execute(1, 2, 1, wish, OK);
    expect(other.laws.complaint).toContain("in epoch 1, it is 2");
  });

  test("a downgrade that leaves an upgrade waiting", () => {
    const first = words.acquire(1, [shared("k")], granted(10));
    words.acquire(2, [shared("k")], granted(11));
    words.upgrade(1, first, QUEUED);
    words.ask(1, { op: OP.downgrade, target: first }, OK);
    words.laws.finish();
    expect(words.laws.complaint).toContain("is to upgrade what was made shared");
  });

  test("an upgrade that outlives its hold", () => {
    const first = words.acquire(1, [shared("k")], granted(10));
    words.acquire(2, [shared("k")], granted(11));
    words.upgrade(1, first, QUEUED);
    words.end(1, first, RELEASED);
    words.laws.finish();
    expect(words.laws.complaint).toContain("is to upgrade what is no more held");
  });

  test("a second upgrade that waits for one hold", () => {
    const first = words.acquire(1, [shared("k")], granted(10));
    words.acquire(2, [shared("k")], granted(11));
    words.upgrade(1, first, QUEUED);
    words.upgrade(1, first, QUEUED);
    expect(words.laws.complaint).toContain("waits to upgrade what 1/2 waits to upgrade");
  });

  test("an end that finds nothing of what is held, or waits", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.end(1, first, GONE);
    expect(words.laws.complaint).toContain("1 is held, and told 4");
    const other = new Words([1, 2]);
    other.acquire(1, [exclusive("k")], granted(10));
    const waiting = other.acquire(2, [exclusive("k")], QUEUED);
    other.end(2, waiting, GONE);
    expect(other.laws.complaint).toContain("1 waits, and told 4");
  });

  test("a recall that reports another mode than the lock's, or nothing of a held lock", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.recall(1, first, 10, "shared");
    expect(words.laws.complaint).toContain("k is exclusive, not shared");
    const other = new Words([1]);
    const sequence = other.acquire(1, [exclusive("k")], granted(10));
    const sequences = [{ sequence, state: RECALL_STATE.forgotten }];
    other.say(1, { kind: MESSAGE.recalled, number: 1, stamp: 1, sequences });
    expect(other.laws.complaint).toContain("1/1: is held");
  });

  test("a writer next to a reader", () => {
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
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.acquire(2, [exclusive("k")], QUEUED);
    words.at(1_500);
    const late = words.acquire(3, [exclusive("k")], QUEUED, { priority: 1 });
    words.end(1, first, RELEASED);
    words.outcome(3, late, granted(11));
    expect(words.laws.complaint).toContain("overtakes 2/1");
  });

  test("a grant while the key is closed", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10), { lockDelayMs: 300 });
    const stolen = words.steal({ session: 1, sequence: first, token: 10 }, 2);
    words.end(2, stolen, RELEASED);
    const options = { lockDelayMs: 300, maxHoldMs: 1_000 };
    const second = words.acquire(2, [exclusive("k")], granted(12), options);
    words.at(1_100);
    words.lose(2, second, 12, END_REASON.maxHold);
    words.at(1_399);
    words.acquire(3, [exclusive("k")], granted(13));
    expect(words.laws.complaint).toContain("k is exclusive by 12");
  });

  test("a revoke that is due before the lease of its holder", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.revoke(1, first, 1_999);
    expect(words.laws.complaint).toContain("its lease ends at 2001");
  });

  test("the loss of a hold that nobody revoked at once", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.lose(1, first, 10, END_REASON.revoked);
    expect(words.laws.complaint).toContain("was revoked, for which nobody asked");
  });

  test("the loss of a hold that nobody stole", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.lose(1, first, 10, END_REASON.stolen);
    expect(words.laws.complaint).toContain("was stolen, for which nobody asked");
  });

  test("the end of a hold by its longest time before that is over", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10), { maxHoldMs: 1_000 });
    words.at(1_000);
    words.lose(1, first, 10, END_REASON.maxHold);
    expect(words.laws.complaint).toContain("longest time, 1000 ms, after 999 ms");
  });

  test("a wait that ends before its deadline, or twice", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    const waiting = words.acquire(2, [exclusive("k")], QUEUED);
    words.outcome(2, waiting, { status: ERROR_NUMBERS.LOCK_TIMEOUT });
    expect(words.laws.complaint).toContain("timed out before 0");
    const other = new Words([1]);
    other.outcome(1, 7, granted(11));
    expect(other.laws.complaint).toContain("does not wait");
  });

  test("a holder that hears twice that somebody waits, or hears it though nobody does", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.contend(1, first);
    words.laws.finish();
    expect(words.laws.complaint).toContain("contended by nobody");
    const other = new Words([1, 2]);
    const held = other.acquire(1, [exclusive("k")], granted(10));
    other.acquire(2, [exclusive("k")], QUEUED);
    other.contend(1, held);
    other.contend(1, held);
    expect(other.laws.complaint).toContain("contended twice");
  });

  test("a cycle in which the one that is refused has no part", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    const who = { session: 2, sessionName: "", task: 2, identity: "anonymous" };
    const cycle = [{ ...who, key: "k", mode: "exclusive" as const }];
    words.acquire(3, [exclusive("k")], { status: ERROR_NUMBERS.DEADLOCK, cycle });
    expect(words.laws.complaint).toContain("not a member of the cycle");
  });

  test("an end of what somebody else holds by that number", () => {
    words.acquire(1, [exclusive("k")], granted(10));
    words.end(2, 1, RELEASED);
    expect(words.laws.complaint).toContain("1 is nothing any more, and told 3");
  });

  test("a repeat that gets a lease of its own", () => {
    words.take(1, "a", "1", shared("k"), leased(10, 1_001));
    words.take(2, "a", "1", shared("k"), leased(11, 1_001));
    expect(words.laws.complaint).toMatch(/gets k by 11, and its owner has it by 10/);
  });

  test("another request of an owner that gets what its first one got", () => {
    words.take(1, "a", "1", exclusive("k"), leased(10, 1_001));
    words.take(1, "a", "2", exclusive("k"), leased(10, 1_001));
    expect(words.laws.complaint).toMatch(/is given 10, which another request got/);
  });

  test("a lease that is reported with another end than it has", () => {
    words.take(1, "a", "1", exclusive("k"), leased(10, 999));
    expect(words.laws.complaint).toMatch(/10 ends at 999, not at 1001/);
  });

  test("a lease that is granted while another owner has the lock", () => {
    words.take(1, "a", "1", exclusive("k"), leased(10, 1_001));
    words.take(1, "b", "1", exclusive("k"), leased(11, 1_001));
    expect(words.laws.complaint).toBeDefined();
  });

  test("an owner that gives back nothing of what it has", () => {
    words.take(1, "a", "1", exclusive("k"), leased(10, 1_001));
    words.giveBack(1, "a", "k", 0, 0);
    expect(words.laws.complaint).toMatch(/gives 0 leases back, and has 1 to 1/);
  });

  describe("a hold that is handed over", () => {
    beforeEach(() => {
      words.acquire(1, [exclusive("k")], granted(10));
    });

    test("under the token that it had", () => {
      words.handOver(1, 1, leased(10, 1_001));
      expect(words.laws.complaint).toContain("token 10 after 10");
    });

    test("and is not held", () => {
      words.end(1, 1, RELEASED);
      words.handOver(1, 1, leased(11, 1_001));
      expect(words.laws.complaint).toContain("1 is handed over, and not held");
    });

    test("and told that it is not held", () => {
      words.handOver(1, 1, notHeld(END_REASON.unknown));
      expect(words.laws.complaint).toContain("1 is held, and told that it is not");
    });

    test("for another time than was asked for", () => {
      words.handOver(1, 1, leased(11, 1_500));
      expect(words.laws.complaint).toContain("11 ends at 1500, not at 1001");
    });

    test("to an owner that has a claim in its key", () => {
      words.end(1, 1, RELEASED);
      words.acquire(1, [shared("k")], granted(11));
      words.take(2, "b", "1", shared("k"), leased(12, 1_001));
      words.handOver(1, 3, leased(13, 1_001), "b");
      expect(words.laws.complaint).toContain("its owner has a claim already");
    });

    test("and refused for a claim that its owner has not", () => {
      words.handOver(1, 1, { status: ERROR_NUMBERS.LOCK_HELD, isSameOwner: true }, "b");
      expect(words.laws.complaint).toContain("is told that its owner has a claim");
    });

    test("and still upgraded", () => {
      words.acquire(1, [shared("k2")], granted(11));
      words.ask(1, { op: OP.upgrade, target: 2, key: "k2", waitMs: -1, detect: true }, QUEUED);
      words.handOver(1, 2, leased(12, 1_001));
      words.laws.finish();
      expect(words.laws.complaint).toContain("is to upgrade what is no more held");
    });

    test("to a bearer that extends it", () => {
      words.handOver(1, 1, leased(11, 1_001));
      words.ask(
        2,
        { op: OP.extend, owner: "a", keys: ["k"], ttlMs: 1_000, mode: "atLeast" },
        extended(11, 1_001),
      );
      expect(words.laws.complaint).toContain("k is extended, and gone");
    });

    test("while another request gets its key", () => {
      words.handOver(1, 1, leased(11, 1_001));
      words.acquire(2, [exclusive("k")], granted(12));
      expect(words.laws.complaint).toContain("k is exclusive by 11");
    });
  });

  describe("a hold of a bearer that is adopted", () => {
    beforeEach(() => {
      words.acquire(1, [exclusive("k")], granted(10));
      words.handOver(1, 1, leased(11, 1_001));
    });

    test("with another secret", () => {
      words.adopt(2, adopted(12), "b");
      expect(words.laws.complaint).toContain("k is adopted, and b has nothing in it");
    });

    test("by the secret of what an owner has", () => {
      words.acquire(1, [exclusive("k2")], granted(12));
      words.handOver(1, 3, leased(13, 1_001), "b");
      words.ask(2, { op: OP.adopt, key: "k2", secret: "b".repeat(32), task: 1 }, adopted(14));
      expect(words.laws.complaint).toContain("has nothing in it");
    });

    test("under the token that it had", () => {
      words.adopt(2, adopted(11));
      expect(words.laws.complaint).toContain("token 11 after 11");
    });

    test("and ends as if nobody had", () => {
      words.adopt(2, adopted(12, 1_001));
      expect(words.laws.complaint).toContain("11 ends at 1001, not at Infinity");
    });

    test("and handed over without the revoke with which it was adopted", () => {
      words.revokeKey(3, "k", { graceMs: 500 });
      words.handOver(2, words.adopt(2, adopted(12, 501)), leased(13, 1_001));
      expect(words.laws.complaint).toContain("13 ends at 1001, not at 501");
    });

    test("twice", () => {
      words.adopt(2, adopted(12));
      words.adopt(3, adopted(13));
      expect(words.laws.complaint).toContain("k is adopted, and a has nothing in it");
    });

    test("when its time is over", () => {
      words.at(1_001);
      words.adopt(2, adopted(12));
      expect(words.laws.complaint).toContain("k is adopted, and a has nothing in it");
    });

    test("as more than it was", () => {
      words.adopt(2, adopted(12, 0, "shared"));
      expect(words.laws.complaint).toContain("k is exclusive, not shared");
    });
  });

  test("a hold that is reported gone, and is there", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.handOver(1, first, leased(11, 1_001));
    words.adopt(2, notHeld(END_REASON.moved));
    expect(words.laws.complaint).toContain("k is reported gone, and is there");
  });

  test("a second adopter that gets another reason", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.handOver(1, first, leased(11, 1_001));
    words.adopt(2, adopted(12));
    words.adopt(3, notHeld(END_REASON.expired));
    expect(words.laws.complaint).toContain("k is gone, but not for reason 2");
  });

  test("a hold that outlives the end that was ordered for the session that handed it over", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.revoke(1, 0, 2_500);
    words.handOver(1, first, leased(11, 1_001));
    words.adopt(2, adopted(12, 2_500));
    expect(words.laws.complaint).toBeUndefined();
    words.handOver(2, 1, leased(13, 1_001));
    words.adopt(1, adopted(14, 0));
    expect(words.laws.complaint).toContain("13 ends at 0, not at 2500");
  });

  test("a lock that is recalled with another token than it has", () => {
    const first = words.acquire(1, [exclusive("k")], granted(10));
    words.recall(1, first, 11, "exclusive");
    expect(words.laws.complaint).toContain("has 10, not 11");
  });

  test("a reader next to a lock that was upgraded", () => {
    const first = words.acquire(1, [shared("k")], granted(10));
    words.upgrade(1, first, upgraded(12));
    words.acquire(2, [shared("k")], granted(13));
    expect(words.laws.complaint).toContain("k is exclusive by 12");
  });
});
