/** Which tokens a client still knows of a hold that got newer ones: those that may yet be named. */
import { beforeEach, describe, expect, it } from "vitest";
import type { HeldLock, LockHost } from "../../src/client/held-lock.js";
import type { GrantTaker, Hold } from "../../src/client/hold.js";
import { ReleaseCall } from "../../src/client/hold-calls.js";
import { Holds } from "../../src/client/holds.js";
import { Lease } from "../../src/client/lease.js";
import { Locks } from "../../src/client/locks.js";
import { Outgoing } from "../../src/client/outgoing.js";

const FIRST = 2 ** 41;

let outgoing: Outgoing;
let holds: Holds;
let hold: Hold;
let locks: Locks;

beforeEach(() => {
  const lease = new Lease(10_000);
  lease.renew(0, 1_000);
  outgoing = new Outgoing(
    () => undefined,
    () => 0.5,
  );
  outgoing.frame.begin(1 << 20);
  locks = new Locks(
    {
      sessionId: 1,
      isEnding: false,
      endError: () => new Error("ended"),
      context: undefined,
      capturesStacks: false,
      tryTimeoutMs: 1_000,
      now: () => 0,
      turnMs: () => 0,
      submit: (call) => outgoing.window.enqueue(call),
      freshSecret: () => "0".repeat(32),
      onIdle: () => undefined,
    },
    lease,
    outgoing,
  );
  holds = new Holds(locks as LockHost, lease, outgoing);
  const handed: HeldLock[] = [];
  holds.onGranted(takerInto(handed), granted(FIRST), 0);
  expect(handed).toHaveLength(1);
  hold = holds.find(FIRST) as Hold;
});

function takerInto(handed: HeldLock[]): GrantTaker {
  return {
    owner: locks.newOwner(),
    isSettled: false,
    askedAt: undefined,
    makeLock: undefined,
    putAside: () => undefined,
    count: 1,
    onStillHeld: () => undefined,
    handOut: (lock) => handed.push(lock),
    onSessionLost: () => undefined,
    fail: () => undefined,
  };
}

function granted(token: number) {
  const items = [{ key: "k", mode: "shared" as const, permits: 0, slots: [] }];
  return { token, items, value: "", endsAt: Number.POSITIVE_INFINITY, isCertain: true };
}

/** Newer tokens up to `last`, one after the other. */
function renameTo(last: number): void {
  for (let token = hold.token + 1; token <= last; token += 1) holds.setToken(hold, token);
}

/** Which of the tokens from the first to the newest find the hold. */
function known(): number[] {
  const tokens = [];
  for (let token = FIRST; token <= hold.token; token += 1) {
    if (holds.find(token) === hold) tokens.push(token - FIRST);
  }
  return tokens;
}

describe("a hold that gets one token after the other", () => {
  it("knows the newest and the one before when nothing else may name one", () => {
    renameTo(FIRST + 10_000);
    expect(known()).toEqual([9_999, 10_000]);
    expect(hold.oldTokens).toHaveLength(1);
    holds.remove(hold);
    expect([holds.find(FIRST + 9_999), holds.find(FIRST + 10_000)]).toEqual([undefined, undefined]);
  });

  it("knows those of the time since when a command has no answer", () => {
    renameTo(FIRST + 5);
    const call = new ReleaseCall(locks, { token: 1 }, undefined);
    outgoing.window.enqueue(call);
    outgoing.write(0);
    renameTo(FIRST + 20);
    expect(known()).toEqual([...Array(16).keys()].map((at) => at + 5));
    outgoing.window.remove(call);
    renameTo(FIRST + 21);
    expect(known()).toEqual([20, 21]);
  });

  it("knows those that a question under way may be about", () => {
    renameTo(FIRST + 5);
    const number = outgoing.pulses.begin(0, []);
    renameTo(FIRST + 8);
    // A later one does not count for tokens that were old before it.
    const later = outgoing.pulses.begin(0, []);
    expect(known()).toEqual([5, 6, 7, 8]);
    outgoing.pulses.end(number);
    renameTo(FIRST + 9);
    expect(known()).toEqual([8, 9]);
    outgoing.pulses.end(later);
  });

  it("knows one under which a grant waits to be believed", () => {
    renameTo(FIRST + 5);
    const handed: HeldLock[] = [];
    holds.putAside(takerInto(handed), granted(FIRST + 4));
    renameTo(FIRST + 50);
    expect(known()).toEqual([4, 49, 50]);
    const told = { held: true, current: FIRST + 50, count: 2, endsAt: 0 } as const;
    holds.onHeld({ ...told, token: FIRST + 50, isRevoked: false, isContended: false }, 0);
    expect(handed.map(({ token }) => token)).toEqual([FIRST + 50]);
    renameTo(FIRST + 51);
    expect(known()).toEqual([50, 51]);
  });
});
