/**
 * What must be true of locks and waits whatever happens to the table, one sentence after the
 * other. Judged only by what the table says and shows at every position of a log, without
 * knowing how it decides.
 */
import { describe, expect, test } from "vitest";
import type { LockTable } from "../../src/lockfsm/index.js";
import {
  END_REASON,
  type HoldView,
  type KeyView,
  MESSAGE,
  OP,
  STATUS,
  type WaiterView,
} from "../../src/protocol/index.js";
import { check, heldBy, holds, run, type Step } from "./plans/history.js";
import { KEYS, type Turn } from "./plans/plans.js";
import { letEverythingEnd, Recording } from "./plans/recording.js";

function withoutChanges(turns: readonly Turn[]): Turn[] {
  return turns.map(({ elapsedMs, actions }) => {
    return { elapsedMs, actions: actions.filter(({ kind }) => kind !== "changeSetting") };
  });
}

interface Granted {
  readonly session: number;
  readonly sequence: number;
}

/**
 * Tokens that are reported as granted in this entry, with the sessions and numbers that got them.
 */
function grantedIn({ entry, said, before }: Step): Map<number, Granted> {
  const granted = new Map<number, Granted>();
  const command = entry.commands[0]?.command;
  // A repeated take gets what is held already.
  const known = new Set(heldBy(before).map(({ token }) => token));
  for (const one of said) {
    if (!("message" in one) || !("result" in one.message)) continue;
    const { session, message } = one;
    const { sequence, result } = message;
    // What is handed over stays in its keys.
    if (command?.op === OP.handOver && message.kind === MESSAGE.reply) continue;
    const tokens =
      result.status === STATUS.granted && "token" in result
        ? [result.token]
        : "tokens" in result
          ? result.tokens
          : [];
    for (const token of tokens) if (!known.has(token)) granted.set(token, { session, sequence });
  }
  return granted;
}

/** Whether a hold came of a wait; a lease may also come of one that its take has repeated. */
function isOf(hold: HoldView, { session, sequence, sessionName, task }: WaiterView, by?: Granted) {
  if (session === by?.session && sequence === by.sequence) return true;
  return hold.leaseOwner !== "" && task === 0 && sessionName === hold.sessionName;
}

/** Whether what is held in its key, or keeps it closed, blocks a waiter. */
function isBlocked({ holds: held, cooldowns, limit }: KeyView, waiter: WaiterView): boolean {
  const all = [...held, ...cooldowns];
  if (waiter.mode === "permits") {
    return all.reduce((sum, { permits }) => sum + permits, waiter.permits) > limit;
  }
  return all.some(({ mode }) => mode === "exclusive" || waiter.mode === "exclusive");
}

describe("at every position of a random log", () => {
  test("no two conflicting holds exist, nor a hold next to what keeps its key closed", () => {
    check((limits, turns) =>
      holds(limits, turns, ({ after }) => {
        for (const { kind, holds: held, cooldowns } of after) {
          const all = [...held, ...cooldowns];
          const isSemaphore = all.some(({ mode }) => mode === "permits");
          expect(all.length === 0 || isSemaphore === (kind === "semaphore")).toBe(true);
          const exclusive = all.filter(({ mode }) => mode === "exclusive").length;
          expect(exclusive === 0 || all.length === 1).toBe(true);
        }
      }),
    );
  });

  test("no slot is held twice, each hold has as many as permits, and none is granted beyond the limit", () => {
    check((limits, turns) =>
      holds(limits, turns, (step) => {
        const granted = grantedIn(step);
        const command = step.entry.commands[0]?.command;
        for (const [at, { key, limit, holds: held, cooldowns }] of step.after.entries()) {
          const slots = held.flatMap((hold) => hold.slots);
          expect(new Set(slots).size).toBe(slots.length);
          for (const { permits, slots } of held) expect(slots).toHaveLength(permits);
          // A limit may have been lowered below what was held, or is now, behind what was left over.
          if (!held.some(({ token }) => granted.has(token))) continue;
          const isChanged = command?.op === OP.setLimit && command.key === key;
          const most = isChanged ? Math.max(limit, step.before[at]?.limit ?? 0) : limit;
          const taken = [...held, ...cooldowns].reduce((sum, { permits }) => sum + permits, 0);
          expect(taken).toBeLessThanOrEqual(most);
        }
      }),
    );
  });

  test("each token that appears is larger than every one that was there before", () => {
    check((limits, turns) => {
      let last = 0;
      holds(limits, turns, ({ before, after }) => {
        const known = new Set(heldBy(before).map(({ token }) => token));
        const fresh = heldBy(after)
          .map(({ token }) => token)
          .filter((token) => !known.has(token));
        for (const token of fresh) expect(token).toBeGreaterThan(last);
        last = Math.max(last, ...fresh);
      });
    });
  });

  test("nobody is granted past an earlier request that conflicts and still waits", () => {
    check((limits, turns) =>
      holds(limits, turns, (step) => {
        const { entry, before, after } = step;
        const command = entry.commands[0]?.command;
        const isAsking = command?.op === OP.acquire || command?.op === OP.take;
        const options = isAsking ? command.options : undefined;
        // Thieves do, and who has a head start comes before some who were there.
        const mayPass = options?.steal === true || (options?.priority ?? 0) > 0;
        const granted = grantedIn(step);
        for (const [at, { waiters }] of before.entries()) {
          const now = after[at] as KeyView;
          for (const hold of now.holds.filter(({ token }) => granted.has(token))) {
            const place = waiters.findIndex((waiter) =>
              isOf(hold, waiter, granted.get(hold.token)),
            );
            if (place === -1 && mayPass) continue;
            const ahead = place === -1 ? waiters : waiters.slice(0, place);
            const passed = ahead.filter(
              (waiter) =>
                (waiter.mode !== "shared" || hold.mode !== "shared") &&
                now.waiters.some(
                  ({ session, sequence }) =>
                    session === waiter.session && sequence === waiter.sequence,
                ),
            );
            expect(passed).toEqual([]);
          }
        }
      }),
    );
  });

  test("nobody who comes later than the largest head start comes before a request", () => {
    const headStartMs = 60 * 10;
    check((limits, turns) =>
      holds({ ...limits, priorityStepMs: 10 }, withoutChanges(turns), ({ after }) => {
        for (const { waiters } of after) {
          const acquires = waiters.filter(({ isUpgrade }) => !isUpgrade);
          for (const [at, { waitingMs }] of acquires.entries()) {
            for (const behind of acquires.slice(at + 1)) {
              expect(behind.waitingMs - waitingMs).toBeLessThanOrEqual(headStartMs);
            }
          }
        }
      }),
    );
  });

  test("upgrades come first, and of equal arrival and head start the first to come", () => {
    check((limits, turns) =>
      holds(limits, turns, ({ after }) => {
        for (const { waiters } of after) {
          const first = waiters.findIndex(({ isUpgrade }) => !isUpgrade);
          const acquires = first === -1 ? [] : waiters.slice(first);
          expect(acquires.some(({ isUpgrade }) => isUpgrade)).toBe(false);
          const plain = acquires.filter(({ priority }) => priority === 0);
          const ages = plain.map(({ waitingMs }) => waitingMs);
          expect(ages).toEqual([...ages].sort((left, right) => right - left));
        }
      }),
    );
  });

  test("a wait ends once: by its outcome, by an end, or with its session", () => {
    check((limits, turns) => {
      const { table, steps } = run(limits, turns);
      const waiting = new Set<string>();
      const ended = new Set<number>();
      const rest = letEverythingEnd(table, steps.at(-1)?.entry.index ?? 0);
      for (const { entry, said } of [...steps, { entry: undefined, said: rest }]) {
        const command = entry?.commands[0]?.command;
        for (const one of said) {
          if (!("message" in one)) continue;
          const { session, message } = one;
          if (message.kind === MESSAGE.ended) {
            for (const of of waiting) if (of.startsWith(`${session}:`)) waiting.delete(of);
            ended.add(session);
          } else if (message.kind === MESSAGE.reply) {
            const { status } = message.result;
            if (status === STATUS.queued) {
              waiting.add(`${session}:${message.sequence}`);
            } else if (command?.op === OP.end && status === STATUS.ok) {
              expect(waiting.delete(`${session}:${command.target}`)).toBe(true);
            }
          } else if (message.kind === MESSAGE.outcome && !ended.has(session)) {
            expect(waiting.delete(`${session}:${message.sequence}`)).toBe(true);
          }
        }
      }
      expect([...waiting]).toEqual([]);
      expectNothingLeft(table);
    });
  });

  test("a hold that ends against its session's will is told to it once, while the session lives", () => {
    check((limits, turns) => {
      const lost = new Map<string, number>();
      const ended = new Set<number>();
      const { steps } = run(limits, turns);
      for (const { entry, said, before, after } of steps) {
        const command = entry.commands[0];
        const remaining = new Set(heldBy(after).map(({ token }) => token));
        for (const one of said) {
          if (!("message" in one)) continue;
          const { session, message } = one;
          if (message.kind === MESSAGE.ended) ended.add(session);
          if (message.kind !== MESSAGE.lost) continue;
          const of = `${session}:${message.token}`;
          lost.set(of, (lost.get(of) ?? 0) + 1);
          expect(remaining.has(message.token)).toBe(false);
          const known = heldBy(before).find((hold) => hold.token === message.token);
          const { sequence } = message;
          if (known !== undefined) expect(known).toMatchObject({ session, sequence });
          // Else the same entry granted or upgraded it first, and said so.
          else expect(said.some((each) => tokenIn(each, session) === message.token)).toBe(true);
          expect(message.reason).not.toBe(END_REASON.unknown);
        }
        for (const { token, session } of heldBy(before)) {
          // Its own command may have ended it, or given it a new token; so may its upgrade.
          if (remaining.has(token) || session === 0 || ended.has(session)) continue;
          const isOwn = command?.session === session || command?.session === 0;
          const isUpgraded = said.some(
            (one) =>
              "message" in one &&
              one.session === session &&
              "result" in one.message &&
              one.message.result.status === STATUS.upgraded,
          );
          if (!isOwn && !isUpgraded) expect(lost.get(`${session}:${token}`)).toBe(1);
        }
      }
      for (const times of lost.values()) expect(times).toBe(1);
    });
  });

  test("a waiter that nothing blocks is not left waiting once all work is done", () => {
    check((limits, turns) => {
      const { table, steps } = run(limits, turns);
      let index = steps.at(-1)?.entry.index ?? 0;
      const isBusy = () => table.hasQueuedWork || (table.nextDueAt ?? Infinity) <= table.stamp;
      while (isBusy()) {
        index += 1;
        table.apply({ index, stamp: table.stamp, wallMs: 0, commands: [] }, new Recording());
      }
      const views = KEYS.map((key) => table.inspect(key));
      const places = new Map<string, number>();
      for (const { waiters } of views) {
        for (const { session, sequence } of waiters) {
          const of = `${session}:${sequence}`;
          places.set(of, (places.get(of) ?? 0) + 1);
        }
      }
      for (const view of views) {
        const [first] = view.waiters;
        if (first === undefined) continue;
        // An upgrade is blocked by all but its own hold, and no view says which one that is.
        if (!first.isUpgrade) expect(first.isEligible).toBe(!isBlocked(view, first));
        const isAlone = places.get(`${first.session}:${first.sequence}`) === 1;
        expect(isAlone && first.isEligible).toBe(false);
      }
    });
  });
});

/**
 * Nobody is there any more; of keys only those whose limit was set for good, or that have a lease
 * without end.
 */
function expectNothingLeft(table: LockTable): void {
  const { keys, sessions, holds: held, endlessLeases, waiters, cooldowns } = table.counts();
  expect({ sessions, waiters, cooldowns }).toEqual({ sessions: 0, waiters: 0, cooldowns: 0 });
  expect(held).toBe(endlessLeases);
  const left = table.query("", undefined, 100).keys;
  expect(left).toHaveLength(keys);
  for (const { kind, holds: leases } of left) {
    expect(kind === "semaphore" || leases.length > 0).toBe(true);
    for (const { leaseOwner, ttlMs } of leases) {
      expect([leaseOwner === "", ttlMs]).toEqual([false, 0]);
    }
  }
}

/** The token that a session is told to have. */
function tokenIn(said: Step["said"][number], to: number): number | undefined {
  if (!("message" in said) || said.session !== to || !("result" in said.message)) return undefined;
  const { result } = said.message;
  return "token" in result ? result.token : undefined;
}
