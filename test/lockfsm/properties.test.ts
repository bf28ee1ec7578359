/**
 * What must be true of the table whatever happens to it, one sentence after the other: told from what
 * it says and shows at every position of a log, without knowing how it decides.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  LockTable,
  type TableCommand,
  type TableEntry,
  type TableSettings,
} from "../../src/lockfsm/index.js";
import {
  END_REASON,
  type HoldView,
  isOrder,
  type KeyView,
  MESSAGE,
  OP,
  STATUS,
  type WaiterView,
} from "../../src/protocol/index.js";
import { KEYS, plan, settings, type Turn } from "./plans.js";
import { Clients } from "./plans-clients.js";
import { letEverythingEnd, Recording, type Said } from "./recording.js";

interface Step {
  readonly entry: TableEntry;
  readonly said: readonly Said[];
  readonly before: readonly KeyView[];
  readonly after: readonly KeyView[];
}

const { HOLDFAST_PROPERTY_RUNS } = process.env;
const NUM_RUNS = Number(HOLDFAST_PROPERTY_RUNS ?? 200);

/** Runs a plan with one command per entry, so that every position of the log is looked at. */
function run(limits: TableSettings, turns: readonly Turn[]): { table: LockTable; steps: Step[] } {
  const table = new LockTable(limits);
  const clients = new Clients();
  const steps: Step[] = [];
  const view = () => KEYS.map((key) => table.inspect(key));
  for (const { elapsedMs, actions } of turns) {
    const singles = actions.map((action) => ({ elapsedMs: 0, actions: [action] }));
    for (const turn of [{ elapsedMs, actions: [] }, ...singles]) {
      const entry = clients.entryOf(turn);
      const before = view();
      const outbox = new Recording(clients);
      table.apply(entry, outbox);
      steps.push({ entry, said: outbox.said, before, after: view() });
    }
  }
  return { table, steps };
}

function holds(limits: TableSettings, turns: readonly Turn[], check: (step: Step) => void): void {
  for (const step of run(limits, turns).steps) check(step);
}

function check(property: (limits: TableSettings, turns: readonly Turn[]) => void): void {
  fc.assert(fc.property(settings, plan, property), { numRuns: NUM_RUNS });
}

function withoutChanges(turns: readonly Turn[]): Turn[] {
  return turns.map(({ elapsedMs, actions }) => {
    return { elapsedMs, actions: actions.filter(({ kind }) => kind !== "changeSetting") };
  });
}

/** Tokens that are told as granted in this entry, and not again, with the sequences that got them. */
function grantedIn({ said, before }: Step): Map<number, number> {
  const known = heldBy(before).map(({ token }) => token);
  const granted = new Map<number, number>();
  for (const one of said) {
    if (!("message" in one) || !("result" in one.message)) continue;
    const { sequence, result } = one.message;
    if (result.status !== STATUS.granted || !("token" in result)) continue;
    if (!known.includes(result.token)) granted.set(result.token, sequence);
  }
  return granted;
}

const heldBy = (views: readonly KeyView[]): HoldView[] => views.flatMap((view) => view.holds);

/** Whether what is held in its key, or keeps it closed, blocks a waiter. */
function isBlocked({ holds: held, closings, limit }: KeyView, waiter: WaiterView): boolean {
  const all = [...held, ...closings];
  if (waiter.mode === "permits") {
    return all.reduce((sum, { permits }) => sum + permits, waiter.permits) > limit;
  }
  return all.some(({ mode }) => mode === "exclusive" || waiter.mode === "exclusive");
}

describe("at every position of a random log", () => {
  test("no two conflicting holds exist, nor a hold beside what keeps its key closed", () => {
    check((limits, turns) =>
      holds(limits, turns, ({ after }) => {
        for (const { kind, holds: held, closings } of after) {
          const all = [...held, ...closings];
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
        for (const [at, { key, limit, holds: held, closings }] of step.after.entries()) {
          const slots = held.flatMap((hold) => hold.slots);
          expect(new Set(slots).size).toBe(slots.length);
          for (const { permits, slots } of held) expect(slots).toHaveLength(permits);
          // A limit may have been lowered below what was held, or is now, behind what was left over.
          if (!held.some(({ token }) => granted.has(token))) continue;
          const isChanged = command?.op === OP.setLimit && command.key === key;
          const most = isChanged ? Math.max(limit, step.before[at]?.limit ?? 0) : limit;
          const taken = [...held, ...closings].reduce((sum, { permits }) => sum + permits, 0);
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

  test("what a session is told to hold anew is a token that nobody was told before", () => {
    check((limits, turns) => {
      const told = new Map<number, string>();
      holds(limits, turns, ({ said }) => {
        for (const one of said) {
          if (!("message" in one) || !("result" in one.message)) continue;
          const { sequence, result } = one.message;
          if (!("token" in result)) continue;
          const of = `${one.session}:${sequence}`;
          // Told again, or a reentrant grant of the same token.
          const isCounted = "count" in result && (result.count ?? 1) > 1;
          if (isCounted || told.get(result.token) === of) continue;
          expect(told.has(result.token)).toBe(false);
          told.set(result.token, of);
        }
      });
    });
  });

  test("nobody is granted past an earlier request that conflicts and still waits", () => {
    check((limits, turns) =>
      holds(limits, turns, (step) => {
        const { entry, before, after } = step;
        const command = entry.commands[0]?.command;
        const options = command?.op === OP.acquire ? command.options : undefined;
        // Thieves do, and who has a head start comes before some who were there.
        const mayPass = options?.steal === true || (options?.priority ?? 0) > 0;
        const granted = grantedIn(step);
        for (const [at, { waiters }] of before.entries()) {
          const now = after[at] as KeyView;
          for (const hold of now.holds.filter(({ token }) => granted.has(token))) {
            const place = waiters.findIndex(
              ({ session, sequence }) =>
                session === hold.session && sequence === granted.get(hold.token),
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

  test("a wait ends once, by its outcome or with its session, and never stays after that", () => {
    check((limits, turns) => {
      const { table, steps } = run(limits, turns);
      const waiting = new Set<string>();
      const rest = letEverythingEnd(table, steps.at(-1)?.entry.index ?? 0);
      for (const { said } of [...steps, { said: rest }]) {
        for (const one of said) {
          if (!("message" in one)) continue;
          const { session, message } = one;
          if (message.kind === MESSAGE.ended) {
            for (const of of waiting) if (of.startsWith(`${session}:`)) waiting.delete(of);
          } else if (message.kind === MESSAGE.reply && message.result.status === STATUS.queued) {
            waiting.add(`${session}:${message.sequence}`);
          } else if (message.kind === MESSAGE.outcome) {
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

/** Nobody is there any more; of keys only those whose limit was set for good. */
function expectNothingLeft(table: LockTable): void {
  const { keys, sessions, holds: held, waiters, closings } = table.counts();
  expect({ sessions, held, waiters, closings }).toEqual({
    sessions: 0,
    held: 0,
    waiters: 0,
    closings: 0,
  });
  const left = table.query("", undefined, 100).keys;
  expect(left).toHaveLength(keys);
  for (const { kind } of left) expect(kind).toBe("semaphore");
}

describe("the same log", () => {
  const entriesOf = (limits: TableSettings, turns: readonly Turn[]) =>
    run(limits, turns).steps.map(({ entry }) => entry);
  const replay = (limits: TableSettings, entries: readonly TableEntry[]) => {
    const table = new LockTable(limits);
    for (const entry of entries) table.apply(entry, new Recording());
    return table.hash();
  };

  test("gives the same hash", () => {
    check((limits, turns) => {
      const { table, steps } = run(limits, turns);
      const entries = steps.map(({ entry }) => entry);
      expect(replay(limits, entries)).toBe(table.hash());
    });
  });

  test("with one command less that had an effect gives another hash", () => {
    check((limits, turns) => {
      const entries = entriesOf(limits, turns);
      const at = entries.findIndex(({ commands }) => commands[0]?.command?.op === OP.open);
      if (at === -1) return;
      const shorter = entries.map((entry, index) =>
        index === at ? { ...entry, commands: [] } : entry,
      );
      const cut = (list: readonly TableEntry[]) => replay(limits, list.slice(0, at + 1));
      expect(cut(shorter)).not.toBe(cut(entries));
    });
  });

  test("with every command repeated gives the same hash: each takes effect once", () => {
    // What an order without a session does a second time is its client's to think of.
    const isOnce = ({ session, command }: TableCommand) =>
      session === 0 && command !== undefined && isOrder(command);
    check((limits, turns) => {
      const entries = entriesOf(limits, turns);
      const doubled = entries.map((entry) => ({
        ...entry,
        commands: entry.commands.flatMap((each) => (isOnce(each) ? [each] : [each, each, each])),
      }));
      expect(replay(limits, doubled)).toBe(replay(limits, entries));
    });
  });
});
