/** The law of compare and act complains about answers that break it, and about no others. */
import { beforeEach, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  type ActStep,
  attachKeyOf,
  MESSAGE,
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
} from "../../src/protocol/index.js";
import { LockLaws } from "./checks/locks/lock-laws.js";

const OWNER = "a";

/** A log in which one session says what is to be judged. */
class Log {
  readonly laws = new LockLaws();
  #stamp = 1;
  #sequence = 0;

  constructor() {
    const rest = { attempt: 1, ttlMs: 60_000, name: "", metadata: "" };
    const command = { op: OP.open, nonce: "n", ...rest } as const;
    this.laws.begin(this.#stamp, [{ session: 0, epoch: 0, command }]);
    this.laws.attached({
      ...{ kind: MESSAGE.attached, key: attachKeyOf(command), attempt: 1, status: STATUS.ok },
      ...{ session: 1, epoch: 1, highestSequence: 0, stamp: 1, ttlMs: 60_000, index: 1 },
    });
  }

  at(stamp: number): void {
    this.#stamp = stamp;
    this.laws.begin(stamp, []);
  }

  ask(wish: object, result: Result): void {
    this.#sequence += 1;
    const sequence = this.#sequence;
    const command = { sequence, mark: 1, acknowledged: [], ...wish } as unknown as SequencedCommand;
    this.laws.begin(this.#stamp, [{ session: 1, epoch: 1, command }]);
    this.laws.hear(1, 1, { kind: MESSAGE.reply, sequence, stamp: this.#stamp, result });
  }

  act(steps: readonly ActStep[], ...tokens: readonly number[]): void {
    this.ask({ op: OP.act, steps }, { status: STATUS.acted, tokens });
  }

  take(key: string, token: number, isWaiting = false): void {
    const names = { owner: "b", request: "r", name: "", ttlMs: 1_000, isSplit: false };
    const items = [{ key, mode: "exclusive" }];
    const result: Result = isWaiting
      ? { status: STATUS.queued }
      : { status: STATUS.leased, tokens: [token], endsAt: this.#stamp + 1_000, slots: [] };
    this.ask({ op: OP.take, ...names, items, waitMs: -1, options: ACQUIRE_DEFAULTS }, result);
  }
}

function taking(key: string, after: string, ttlMs = 1_000): ActStep {
  return { owner: OWNER, key, before: undefined, after, ttlMs };
}

function changing(key: string, before: string, after: string, ttlMs?: number): ActStep {
  return { owner: OWNER, key, before, after, ttlMs };
}

function ending(key: string, before: string): ActStep {
  return { owner: OWNER, key, before, after: undefined, ttlMs: undefined };
}

function free(key: string): ActStep {
  return { owner: OWNER, key, before: undefined, after: undefined, ttlMs: undefined };
}

let log: Log;
beforeEach(() => {
  log = new Log();
  log.act([taking("k", "one"), taking("l", "x"), free("m")], 10, 11, 0);
});

describe("nothing is said against", () => {
  test("acts that take, change and end, and acts that are not done", () => {
    log.act([changing("k", "one", "two"), ending("l", "x"), taking("m", "y")], 10, 0, 12);
    log.act([changing("k", "one", "three")]);
    log.act([taking("l", "z"), free("m")]);
    log.act([changing("k", "two", "two", 2_000), taking("l", "z")], 10, 13);
    log.at(1_500);
    log.act([ending("m", "y")]);
    log.act([ending("k", "two"), taking("m", "y")], 0, 14);
    expect(log.laws.complaint).toBeUndefined();
  });

  test("what is refused, and changes nothing", () => {
    log.ask({ op: OP.act, steps: [taking("n", "v")] }, { status: ERROR_NUMBERS.QUOTA });
    log.act([taking("n", "v")], 12);
    expect(log.laws.complaint).toBeUndefined();
  });

  test("an act on what somebody has taken otherwise, with its value", () => {
    log.take("n", 12);
    log.act([{ ...changing("n", "", "v"), owner: "b" }], 12);
    log.act([{ ...ending("n", "v"), owner: "b" }], 0);
    expect(log.laws.complaint).toBeUndefined();
  });
});

describe("the law is broken by an act that is done, and", () => {
  test.each([
    [
      "takes a key that is held",
      [taking("k", "other")],
      [12],
      "finds k free: k is exclusive by 10",
    ],
    ["finds a held key free", [free("l"), taking("n", "v")], [0, 12], "l is exclusive by 11"],
    ["finds another value", [changing("k", "two", "three")], [10], 'which has "one"'],
    ["finds what is not there", [ending("n", "v")], [0], "where its owner has nothing"],
    ["has a token too few", [changing("k", "one", "1"), ending("l", "x")], [10], "1 tokens of 2"],
    ["gives a hold another token", [changing("k", "one", "two")], [12], "k is 10's, not 12's"],
    ["gives an end a token", [ending("k", "one")], [12], "k is left with 12"],
    ["gives a grant an older token", [taking("n", "v")], [9], "token 9 after 11"],
    ["lets something last too long", [taking("n", "v", 100_000_000)], [12], "n is to last"],
  ] as const)("%s", (_what, steps, tokens, complaint) => {
    log.act(steps, ...tokens);
    expect(log.laws.complaint).toContain(complaint);
  });

  test("finds the lease of another owner", () => {
    log.act([{ ...ending("k", "one"), owner: "b" }], 0);
    expect(log.laws.complaint).toContain("where its owner has nothing");
  });

  test("finds a lease that is over", () => {
    log.at(1_001);
    log.act([changing("k", "one", "two")], 10);
    expect(log.laws.complaint).toContain("where its owner has nothing");
  });

  test("takes a key for which somebody waits", () => {
    log.take("k", 0, true);
    log.act([ending("k", "one")], 0);
    log.act([taking("k", "mine")], 12);
    expect(log.laws.complaint).toContain("overtakes 1/2, which waits for k");
  });
});

describe("the law is broken by an act that is not done, and", () => {
  test("finds all as it says", () => {
    log.act([changing("k", "one", "two"), ending("l", "x")]);
    expect(log.laws.complaint).toContain("finds all as it says, and is not done");
  });

  test("has changed a value all the same", () => {
    log.act([changing("k", "one", "two"), ending("l", "other")]);
    log.act([changing("k", "two", "three")], 10);
    expect(log.laws.complaint).toContain('finds "two" in k, which has "one"');
  });

  test("has ended a lease all the same", () => {
    log.act([ending("k", "one"), ending("l", "other")]);
    log.act([taking("k", "mine")], 12);
    expect(log.laws.complaint).toContain("k is exclusive by 10");
  });

  test("has made a lease longer all the same", () => {
    log.act([changing("k", "one", "one", 5_000), ending("l", "other")]);
    log.at(1_001);
    log.act([changing("k", "one", "two")], 10);
    expect(log.laws.complaint).toContain("where its owner has nothing");
  });
});

test("what an act ends is given back: its value, and a copy of its take, get nothing", () => {
  log.take("n", 12);
  log.act([{ ...ending("n", ""), owner: "b" }], 0);
  log.take("n", 13);
  expect(log.laws.complaint).toContain("its owner has given that request back");
});

test("what an act gives up was counted on by its owner until then", () => {
  const command = {
    ...{ op: OP.act, sequence: 9, mark: 1, acknowledged: [] },
    steps: [ending("k", "one"), changing("l", "x", "y")],
  };
  const done: Result = { status: STATUS.acted, tokens: [0, 11] };
  expect(log.laws.givenUpBy(1, command, done)).toEqual([10]);
  expect(log.laws.givenUpBy(1, command, { status: STATUS.acted, tokens: [] })).toEqual([]);
});
