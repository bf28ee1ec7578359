/** The law of access reports each way in which a log can break it, and nothing that it allows. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import {
  type AccessCommand,
  type AccessLevel,
  type Attached,
  attachKeyOf,
  MESSAGE,
  NO_CREDENTIAL,
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
} from "../../src/protocol/index.js";
import { AccessLaws } from "./checks/access/access-laws.js";
import { Speakers } from "./checks/access/speakers.js";

const HEAD = { mark: 0, acknowledged: [] };
const OK: Result = { status: STATUS.ok };
const FORBIDDEN: Result = { status: ERROR_NUMBERS.FORBIDDEN };
const NOTHING_HELD = { keysOf: () => undefined };
/** The credentials of `root` and `worker`, in the order in which `Log` makes them. */
const ROOT = 1;
const WORKER = 2;

type Wish<T> = T extends AccessCommand ? Omit<T, "sequence" | "mark" | "acknowledged"> : never;

/** A log in which `root` may do everything, `worker` may acquire `a`, and `anonymous` nothing. */
class Log {
  readonly laws: AccessLaws;
  #index = 0;
  #sequence = 0;

  constructor(speakers?: Speakers) {
    this.laws = new AccessLaws(speakers);
    this.#make("root");
    this.grant("root", "", "admin");
    this.#make("worker");
    this.grant("worker", "a", "acquire");
    this.grant("anonymous", "", "none");
  }

  get complaint(): string | undefined {
    return this.laws.complaint;
  }

  #make(name: string): void {
    const digest = name.padEnd(64, "0");
    this.change({ op: OP.putIdentity, name });
    const proof = { name, label: "first", kind: "token", digest, expiresWallMs: 0 } as const;
    this.change({ op: OP.putCredential, ...proof });
  }

  grant(name: string, key: string, level: AccessLevel): void {
    this.change({ op: OP.setGrant, name, key, isPrefix: key === "", level });
  }

  /** By `anonymous` while it may, and by `root` from then on. */
  change(wish: Wish<AccessCommand>, result = OK, by?: number): void {
    const isOpen = this.laws.reckoning.now.index < 7;
    this.#sequence += 1;
    const sequence = this.#sequence;
    const command = { ...wish, sequence, ...HEAD } as AccessCommand;
    this.#entry(0, by ?? (isOpen ? NO_CREDENTIAL : ROOT), command);
    this.#reply(0, 0, sequence, result);
  }

  /** By `root`, without a session and with that number. */
  order(sequence: number): void {
    const command = { op: OP.putIdentity, name: "other", sequence, ...HEAD } as const;
    this.#entry(0, ROOT, command);
    this.#reply(0, 0, sequence, OK);
  }

  /** `session` is opened with that credential, in epoch 1. */
  open(session: number, credential: number, status: Attached["status"] = STATUS.ok): void {
    const nonce = session.toString(16).padStart(32, "0");
    const command = {
      op: OP.open,
      nonce,
      attempt: 1,
      ttlMs: 9_000,
      name: "",
      metadata: "",
    } as const;
    this.#index += 1;
    this.laws.begin(this.#index, [{ session: 0, epoch: credential, command }]);
    const rest = { highestSequence: 0, stamp: 1, ttlMs: 9_000, index: this.#index };
    const epoch = status === STATUS.ok ? 1 : 0;
    const of = { key: attachKeyOf(command), attempt: 1, session, epoch };
    this.laws.attached({ kind: MESSAGE.attached, status, ...of, ...rest });
  }

  acquire(session: number, key: string, result: Result): number {
    this.#sequence += 1;
    const sequence = this.#sequence;
    const items = [{ key, mode: "exclusive" }] as const;
    const wish = { op: OP.acquire, task: 0, items, waitMs: 9_000, options: undefined } as const;
    this.#entry(session, 1, { ...wish, sequence, ...HEAD });
    this.#reply(session, 1, sequence, result);
    return sequence;
  }

  outcome(session: number, sequence: number, result: Result): void {
    this.laws.hear(session, 1, { kind: MESSAGE.outcome, sequence, stamp: 1, result }, NOTHING_HELD);
  }

  #entry(session: number, epoch: number, command: SequencedCommand): void {
    this.#index += 1;
    this.laws.begin(this.#index, [{ session, epoch, command }]);
  }

  #reply(session: number, epoch: number, sequence: number, result: Result): void {
    const message = { kind: MESSAGE.reply, sequence, stamp: 1, result } as const;
    this.laws.hear(session, epoch, message, NOTHING_HELD);
  }
}

const GRANTED: Result = { status: STATUS.granted, token: 1 };
const QUEUED: Result = { status: STATUS.queued };

describe("the law of access allows", () => {
  test("what was granted, and refusals of the rest", () => {
    const log = new Log();
    log.open(9, WORKER);
    log.acquire(9, "a", GRANTED);
    log.acquire(9, "b", FORBIDDEN);
    log.open(10, NO_CREDENTIAL, ERROR_NUMBERS.UNAUTHENTICATED);
    log.change({ op: OP.putIdentity, name: "mallory" }, FORBIDDEN, WORKER);
    expect(log.complaint).toBeUndefined();
  });

  test("a wait to end with a refusal when the right to it was taken away", () => {
    const log = new Log();
    log.open(9, WORKER);
    const sequence = log.acquire(9, "a", QUEUED);
    log.grant("worker", "a", "observe");
    log.outcome(9, sequence, FORBIDDEN);
    expect(log.complaint).toBeUndefined();
  });
});

describe("the law of access is broken by", () => {
  test("a lock that was not granted to its owner", () => {
    const log = new Log();
    log.open(9, WORKER);
    log.acquire(9, "b", GRANTED);
    expect(log.complaint).toContain("takes effect, and is forbidden");
  });

  test("a refusal of what is allowed", () => {
    const log = new Log();
    log.open(9, WORKER);
    log.acquire(9, "a", FORBIDDEN);
    expect(log.complaint).toContain("is refused, and allowed");
  });

  test("a wait that is granted after the right to it was taken away", () => {
    const log = new Log();
    log.open(9, WORKER);
    const sequence = log.acquire(9, "a", QUEUED);
    log.grant("worker", "a", "none");
    log.outcome(9, sequence, GRANTED);
    expect(log.complaint).toContain("is granted, and forbidden");
  });

  test("a command of a session whose credential is gone", () => {
    const log = new Log();
    log.open(9, WORKER);
    log.change({ op: OP.removeCredential, name: "worker", label: "first" });
    log.acquire(9, "a", GRANTED);
    expect(log.complaint).toContain("credential 2, which is gone");
  });

  test("a session that is opened by a client that may acquire nothing", () => {
    const log = new Log();
    log.open(9, NO_CREDENTIAL);
    expect(log.complaint).toContain("gets 0 with credential 0");
  });

  test("a change of access by an identity that is not an admin", () => {
    const log = new Log();
    log.change({ op: OP.putIdentity, name: "mallory" }, OK, WORKER);
    expect(log.complaint).toContain("takes effect, and is forbidden");
  });

  test("a record with a credential that its connection did not show", () => {
    const speakers = new Speakers();
    const log = new Log(speakers);
    const nonce = "9".padStart(32, "0");
    speakers.onSaid(`attach ${nonce}//1`, "worker".padEnd(64, "0"));
    log.open(9, ROOT);
    expect(log.complaint).toContain("which its connection did not show");
  });

  test("a copy of an order behind one that was given when it was answered", () => {
    const said = (...numbers: readonly number[]) => {
      const speakers = new Speakers();
      const log = new Log(speakers);
      const { orders } = speakers;
      // The answer to the third one is lost.
      for (const number of [101, 102, 103, 104]) {
        orders.onSaid(number);
        if (number !== 103) orders.onAnswered(number);
      }
      for (const number of numbers) log.order(number);
      return log.complaint;
    };
    expect(said(101, 102, 103, 104)).toBeUndefined();
    expect(said(101, 102, 104, 103)).toBeUndefined();
    expect(said(101, 102, 101)).toContain("takes effect after a later order");
    expect(said(101, 104, 102)).toContain("takes effect after a later order");
    expect(said(101, 101)).toContain("takes effect twice");
    expect(said(101, 102, 103, 103)).toContain("takes effect twice");
  });

  test("nothing that a removed identity had before, which must only end", () => {
    const log = new Log();
    log.open(9, WORKER);
    log.change({ op: OP.removeIdentity, name: "worker" });
    expect([...log.laws.takeDismissed()]).toEqual([9]);
    expect([log.laws.dismissedCount, log.complaint]).toEqual([1, undefined]);
  });
});
