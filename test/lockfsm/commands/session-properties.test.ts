/**
 * What a session may rely on, whatever arrives in whatever order: its commands are executed
 * once, by their numbers; no other session has its tokens; what it ended is over; recall shows
 * the truth; what is stored for it is bounded; and no state and no command makes the table
 * throw.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  LockTable,
  type TableCommand,
  type TableEntry,
  type TableSettings,
} from "../../../src/lockfsm/index.js";
import { TOKENS_END } from "../../../src/lockfsm/token-counter.js";
import {
  type HoldView,
  IN_FLIGHT_MAX,
  isOrder,
  type Lost,
  MESSAGE,
  OP,
  type Outcome,
  RECALL_STATE,
  type Reply,
  type SessionMessage,
  STATUS,
  type WaiterView,
} from "../../../src/protocol/index.js";
import { arbitraryEntries, sent } from "../plans/arbitrary-commands.js";
import { ClusterLog } from "../plans/cluster-log.js";
import { check, heldBy, holds, isOfOne, NUM_RUNS, recallAll, run } from "../plans/history.js";
import { KEYS, plan, settings, type Turn } from "../plans/plans.js";
import { letEverythingEnd, Recording, type Said } from "../plans/recording.js";
import { copyOf } from "../plans/snapshots.js";

/** Tokens that somebody may use from now on. */
function tokensIn(message: SessionMessage): number[] {
  if (message.kind === MESSAGE.recalled) {
    return message.sequences.flatMap((one) => (one.state === RECALL_STATE.held ? [one.token] : []));
  }
  return "result" in message && "token" in message.result ? [message.result.token] : [];
}

/** Whether a command of a session was executed in the entry, which has one command. */
function isExecutedIn(said: readonly Said[]): boolean {
  return said.some(
    (one) => "message" in one && one.message.kind === MESSAGE.reply && one.session !== 0,
  );
}

function whatRecallSays(message: Reply | Outcome | Lost): unknown {
  const { sequence, stamp } = message;
  if (message.kind !== MESSAGE.lost) {
    return { sequence, state: RECALL_STATE.replied, stamp, result: message.result };
  }
  const { token, reason } = message;
  return { sequence, state: RECALL_STATE.ended, token, reason };
}

/**
 * The tokens of leases that a message reports, each with the number of its take, extend or
 * hand-over.
 */
function leasesIn(message: SessionMessage): [sequence: number, token: number][] {
  const results =
    message.kind === MESSAGE.recalled
      ? message.sequences.flatMap((one) => ("result" in one ? [one] : []))
      : "result" in message
        ? [message]
        : [];
  return results.flatMap(({ sequence, result }) => {
    if (result.status === STATUS.acted) return [];
    if ("tokens" in result) return result.tokens.map((token) => [sequence, token] as const);
    if (!("leases" in result)) return [];
    return result.leases.map(({ token }) => [sequence, token] as const);
  }) as [number, number][];
}

/** Acknowledges only what it received: what was said too early would be true of a late copy. */
function truthful(turns: readonly Turn[]): Turn[] {
  return turns.map(({ elapsedMs, actions }) => ({
    elapsedMs,
    actions: actions.map((action) => {
      const { manners } = action;
      const acknowledges = manners.acknowledges === "any" ? "all" : manners.acknowledges;
      const markLag = Math.max(0, manners.markLag);
      return { ...action, manners: { ...manners, acknowledges, markLag } };
    }),
  }));
}

describe("at every position of a random log", () => {
  test("two sessions never hear that they hold the same token, in any order of hand-overs", () => {
    check((limits, turns) => {
      const told = new Map<number, number>();
      holds(limits, turns, ({ said }) => {
        for (const one of said) {
          if ("attached" in one) continue;
          const { session, message } = one;
          for (const token of tokensIn(message)) {
            expect(told.get(token) ?? session).toBe(session);
            told.set(token, session);
          }
        }
      });
    });
  });

  test("the token of a lease is told to nobody who did not name its owner", () => {
    check((limits, turns) => {
      const owners = new Map<string, string>();
      const told = new Map<number, string>();
      holds(limits, turns, ({ entry, said }) => {
        const command = entry.commands[0]?.command;
        for (const one of said) {
          if (!("message" in one)) continue;
          const { session, message } = one;
          const isReply = message.kind === MESSAGE.reply;
          if (isReply && (command?.op === OP.take || command?.op === OP.extend)) {
            owners.set(`${session}:${message.sequence}`, command.owner);
          } else if (isReply && command?.op === OP.handOver) {
            const { to, isBearer } = command;
            owners.set(`${session}:${message.sequence}`, isBearer ? `bearer ${to}` : to);
          }
          if (isReply && command?.op === OP.act && "tokens" in message.result) {
            for (const [at, token] of message.result.tokens.entries()) {
              const owner = command.steps[at]?.owner ?? "nobody";
              if (token !== 0) expect(told.get(token) ?? owner).toBe(owner);
              if (token !== 0) told.set(token, owner);
            }
          }
          for (const [sequence, token] of leasesIn(message)) {
            const owner = owners.get(`${session}:${sequence}`) ?? "nobody";
            expect(told.get(token) ?? owner).toBe(owner);
            told.set(token, owner);
          }
          for (const token of tokensIn(message)) expect(told.has(token)).toBe(false);
        }
      });
      expect(told.has(0) || [...told.values()].includes("nobody")).toBe(false);
    });
  });

  test("a session's commands are executed by their numbers, 1, 2, 3 …, and answered then, once", () => {
    check((limits, turns) => {
      const executed = new Map<number, number>();
      holds(limits, turns, ({ said }) => {
        for (const one of said) {
          if ("attached" in one) {
            const { session, status, highestSequence } = one.attached;
            if (status !== STATUS.ok) continue;
            expect(highestSequence).toBeLessThanOrEqual(executed.get(session) ?? 0);
          } else if (one.message.kind === MESSAGE.reply && one.session !== 0) {
            expect(one.message.sequence).toBe((executed.get(one.session) ?? 0) + 1);
            executed.set(one.session, one.message.sequence);
          }
        }
      });
    });
  });

  test("an end leaves nothing of its target, whatever that was, and nothing comes of it again", () => {
    check((limits, turns) => {
      const over = new Set<string>();
      holds(limits, turns, ({ entry, said, after }) => {
        const { session: by, command } = entry.commands[0] ?? {};
        for (const one of said) {
          if (!("message" in one) || !isOfOne(one.message)) continue;
          const { session, message } = one;
          expect(over.has(`${session}:${message.sequence}`)).toBe(false);
          const isAnswer = message.kind === MESSAGE.reply && session === by;
          if (!isAnswer || command?.op !== OP.end) continue;
          // No reader lets another target through.
          if (command.target < command.sequence) over.add(`${session}:${command.target}`);
        }
        for (const { holds: held, waiters } of after) {
          for (const { session, sequence } of [...held, ...waiters]) {
            expect(over.has(`${session}:${sequence}`)).toBe(false);
          }
        }
      });
    });
  });

  test("recall reports holds and waits as they are, and the rest as it was reported before", () => {
    check((limits, turns) => {
      const { table, steps } = run(limits, turns);
      const told = new Map<string, unknown>();
      const highest = new Map<number, number>();
      const epochs = new Map<number, number>();
      let index = steps.at(-1)?.entry.index ?? 0;
      // What the entry of a recall would go on with first is done before anything is looked at.
      const rest: Said[] = [];
      while (table.hasQueuedWork || (table.nextDueAt ?? Number.POSITIVE_INFINITY) <= table.stamp) {
        index += 1;
        const outbox = new Recording();
        table.apply({ index, stamp: table.stamp, wallMs: 0, commands: [] }, outbox);
        rest.push(...outbox.said);
      }
      for (const one of [...steps.flatMap(({ said }) => said), ...rest]) {
        if ("attached" in one) {
          const { session, status, epoch } = one.attached;
          if (status === STATUS.ok) epochs.set(session, epoch);
        } else if (isOfOne(one.message)) {
          const { session, message } = one;
          told.set(`${session}:${message.sequence}`, whatRecallSays(message));
          if (message.kind === MESSAGE.reply) highest.set(session, message.sequence);
        }
      }
      for (const { session } of table.listSessions(0, 100).sessions) {
        index += 1;
        const views = KEYS.map((key) => table.inspect(key));
        const epoch = epochs.get(session) ?? 0;
        const last = highest.get(session) ?? 0;
        for (const one of recallAll(table, index, session, epoch, last + 2)) {
          const { sequence, state } = one;
          const is = (other: HoldView | WaiterView) =>
            other.session === session && other.sequence === sequence;
          const held = heldBy(views).filter(is);
          const waiting = views.flatMap(({ waiters }) => waiters).filter(is);
          expect(state === RECALL_STATE.held).toBe(held.length > 0);
          expect(state === RECALL_STATE.waiting).toBe(waiting.length > 0);
          expect(state === RECALL_STATE.unseen).toBe(sequence > last);
          if (state === RECALL_STATE.held) {
            const { token, items, value, isRevoked } = one;
            expect(held.map((hold) => hold.token)).toEqual(items.map(() => token));
            expect(held.map(({ mode }) => mode).sort()).toEqual(
              items.map(({ mode }) => mode).sort(),
            );
            expect(held[0]).toMatchObject({ value, isRevoked });
          } else if (state === RECALL_STATE.replied || state === RECALL_STATE.ended) {
            expect(one).toEqual(told.get(`${session}:${sequence}`));
          }
        }
      }
    });
  });
});

test("a session that keeps to the window has no more replies stored than that", () => {
  const steps = fc.record({ count: fc.integer({ min: 1, max: 700 }), read: fc.nat(1_500) });
  let most = 0;
  fc.assert(
    fc.property(fc.array(steps, { minLength: 4, maxLength: 12 }), (bursts) => {
      const log = new ClusterLog();
      const client = log.open("a");
      let mark = 1;
      for (const { count, read } of bursts) {
        const last = Math.min(client.sequence + count, mark + IN_FLIGHT_MAX - 1);
        const commands = [];
        for (let sequence = client.sequence + 1; sequence <= last; sequence += 1) {
          const head = { sequence, mark, acknowledged: [] };
          commands.push(client.make({ op: OP.downgrade, ...head, target: 1, key: undefined }));
        }
        log.apply(...commands);
        client.sequence = last;
        let stored = 0;
        log.state.sessions.find(client.session)?.replies.forEach(() => {
          stored += 1;
        });
        expect(stored).toBe(last - mark + 1);
        most = Math.max(most, stored);
        mark = Math.min(mark + read, last + 1);
      }
    }),
    { numRuns: 20 },
  );
  expect(most).toBe(IN_FLIGHT_MAX);
});

test("whatever a table holds and whatever comes, it is applied, and everything ends", () => {
  const tokensLeft = fc.constantFrom(undefined, undefined, 40, 5, -1);
  fc.assert(
    fc.property(settings, plan, tokensLeft, arbitraryEntries, (limits, turns, left, wanted) => {
      const { table, steps } = run(limits, turns, left === undefined ? 0 : TOKENS_END - left);
      const senders = new Senders();
      for (const { said } of steps) senders.hear(said);
      let index = steps.at(-1)?.entry.index ?? 0;
      let { stamp } = table;
      for (const { elapsedMs, sendings } of wanted) {
        index += 1;
        stamp += elapsedMs;
        const commands = sendings.map((one) => sent(senders.at(one.client), one));
        const outbox = new Recording();
        table.apply({ index, stamp, wallMs: 0, commands }, outbox);
        senders.hear(outbox.said);
      }
      expect(copyOf(table).hash()).toBe(table.hash());
      letEverythingEnd(table, index);
      const { endlessLeases } = table.counts();
      const nothing = { sessions: 0, holds: endlessLeases, waiters: 0, cooldowns: 0 };
      expect(table.counts()).toMatchObject(nothing);
    }),
    { numRuns: NUM_RUNS },
  );
});

/** Sessions as an observer of all messages knows them. */
class Senders {
  readonly #all: { session: number; epoch: number; sequence: number }[] = [];

  hear(said: readonly Said[]): void {
    for (const one of said) {
      if ("attached" in one) {
        const { session, epoch, status } = one.attached;
        if (status !== STATUS.ok) continue;
        const known = this.#all.find((other) => other.session === session);
        if (known === undefined) this.#all.push({ session, epoch, sequence: 0 });
        else known.epoch = epoch;
      } else if (one.message.kind === MESSAGE.reply) {
        const known = this.#all.find((other) => other.session === one.session);
        if (known !== undefined) known.sequence = one.message.sequence;
      }
    }
  }

  /** The sequence of the last command that was executed, or of the last one sent. */
  at(place: number): { session: number; epoch: number; sequence: number } {
    return this.#all[place % this.#all.length] ?? { session: 1, epoch: 1, sequence: 0 };
  }
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
      const entries = entriesOf(limits, truthful(turns));
      const doubled = entries.map((entry) => ({
        ...entry,
        commands: entry.commands.flatMap((each) => (isOnce(each) ? [each] : [each, each, each])),
      }));
      expect(replay(limits, doubled)).toBe(replay(limits, entries));
    });
  });

  test("with commands anywhere whose turn it is not gives the same hash", () => {
    const anywhere = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 50, max: 60 })), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(settings, plan, anywhere, (limits, turns, early) => {
        const entries = entriesOf(limits, turns);
        const all = entries.flatMap(({ commands }) => commands);
        const more = entries.map((entry) => ({ ...entry, commands: [...entry.commands] }));
        for (const [which, where, ahead] of early) {
          const one = all[which % Math.max(1, all.length)];
          const command = one?.command;
          if (one === undefined || one.session === 0) continue;
          if (command === undefined || !("sequence" in command)) continue;
          const sequence = command.sequence + ahead;
          const unread = { sequence, mark: 0, acknowledged: [] };
          const changed = { ...one, command: { ...command, ...unread } };
          more[where % more.length]?.commands.push(changed);
        }
        expect(replay(limits, more)).toBe(replay(limits, entries));
      }),
      { numRuns: NUM_RUNS },
    );
  });

  test("with copies of executed commands anywhere behind them, in any order, gives the same hash", () => {
    const anywhere = fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(settings, plan, anywhere, (limits, turns, copies) => {
        const { steps } = run(limits, truthful(turns));
        const executed = steps.flatMap(({ entry, said }, at) =>
          isExecutedIn(said) && entry.commands[0] ? [{ at, one: entry.commands[0] }] : [],
        );
        if (executed.length === 0) return;
        const entries = steps.map(({ entry }) => ({ ...entry, commands: [...entry.commands] }));
        for (const [which, where] of copies) {
          const { at, one } = executed[which % executed.length] as (typeof executed)[number];
          entries[at + (where % (entries.length - at))]?.commands.push(one);
        }
        const alone = steps.map(({ entry }) => entry);
        expect(replay(limits, entries)).toBe(replay(limits, alone));
      }),
      { numRuns: NUM_RUNS },
    );
  });
});
