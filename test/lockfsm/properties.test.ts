import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LockTable, type TableEntry, type TableSettings } from "../../src/lockfsm/index.js";
import { type KeyView, MESSAGE, OP, STATUS } from "../../src/protocol/index.js";
import { Clients, KEYS, plan, settings, type Turn } from "./plans.js";
import { letEverythingEnd, Recording, type Said } from "./recording.js";

interface Step {
  readonly entry: TableEntry;
  readonly said: readonly Said[];
  readonly before: readonly KeyView[];
  readonly after: readonly KeyView[];
}

const NUM_RUNS = 300;

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

const tokensOf = (said: readonly Said[]) =>
  said.flatMap((one) => {
    if (!("message" in one) || !("result" in one.message)) return [];
    const { kind, sequence, result } = one.message;
    if (result.status !== STATUS.granted) return [];
    return [{ kind, token: result.token, of: `${one.session}:${sequence}` }];
  });

describe("at every position of a random log", () => {
  test("no two conflicting holds exist", () => {
    check((limits, turns) =>
      holds(limits, turns, ({ after }) => {
        for (const { holds: held } of after) {
          const exclusive = held.filter(({ mode }) => mode === "exclusive").length;
          expect(exclusive === 0 || held.length === 1).toBe(true);
        }
      }),
    );
  });

  test("each grant has a larger token than every grant before", () => {
    check((limits, turns) => {
      let last = 0;
      const known = new Map<string, number>();
      holds(limits, turns, ({ said }) => {
        for (const { token, of } of tokensOf(said)) {
          if (known.get(of) === token) continue;
          expect(token).toBeGreaterThan(last);
          last = token;
          known.set(of, token);
        }
      });
    });
  });

  test("nobody is granted past an earlier request that conflicts and still waits", () => {
    check((limits, turns) =>
      holds(limits, turns, ({ before, after }) => {
        for (const [at, { waiters }] of before.entries()) {
          const now = after[at] as KeyView;
          const granted = now.holds.filter(
            ({ token }) => !before[at]?.holds.some((hold) => hold.token === token),
          );
          for (const hold of granted) {
            const place = waiters.findIndex(
              ({ session, owner, mode }) =>
                session === hold.session && owner === hold.owner && mode === hold.mode,
            );
            const ahead = place === -1 ? waiters : waiters.slice(0, place);
            const passed = ahead.filter(
              (waiter) =>
                (waiter.mode === "exclusive" || hold.mode === "exclusive") &&
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
      expect(table.counts()).toEqual({ sessions: 0, keys: 0, holds: 0, waiters: 0 });
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
        if (first === undefined || places.get(`${first.session}:${first.sequence}`) !== 1) continue;
        const blocks = view.holds.some(
          ({ mode }) => mode === "exclusive" || first.mode === "exclusive",
        );
        expect(blocks).toBe(true);
      }
    });
  });
});

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
    check((limits, turns) => {
      const entries = entriesOf(limits, turns);
      const doubled = entries.map((entry) => ({
        ...entry,
        commands: entry.commands.flatMap((command) => [command, command, command]),
      }));
      expect(replay(limits, doubled)).toBe(replay(limits, entries));
    });
  });
});

test("no field of a command, however wrong, makes the table throw or forget its rules", () => {
  const number = fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger(), fc.nat(5));
  const numbers = fc.array(number, { maxLength: 4 });
  const item = fc.record({
    key: fc.string(),
    mode: fc.constantFrom("exclusive" as const, "shared" as const),
  });
  const head = { sequence: number, mark: number, acknowledged: numbers };
  const is = <N extends number>(op: N) => fc.constant(op);
  const command = fc.oneof(
    fc.record({
      op: is(OP.open),
      nonce: fc.string(),
      attempt: number,
      ttlMs: number,
      name: fc.string(),
      metadata: fc.string(),
    }),
    fc.record({ op: is(OP.resume), session: number, nonce: fc.string(), attempt: number }),
    fc.record({ op: is(OP.keepalive), number, mark: number, acknowledged: numbers }),
    fc.record({
      op: is(OP.acquire),
      ...head,
      owner: number,
      items: fc.array(item, { maxLength: 18 }),
      waitMs: number,
    }),
    fc.record({ op: is(OP.release), ...head, token: number }),
    fc.record({ op: is(OP.cancel), ...head, target: number }),
    fc.record({
      op: is(OP.recall),
      number,
      mark: number,
      acknowledged: numbers,
      sequences: numbers,
      tokens: numbers,
    }),
    fc.record({ op: is(OP.close), ...head }),
  );
  const sent = fc.record({ session: fc.constantFrom(1, 1, 1, 2, 99), epoch: fc.nat(2), command });
  fc.assert(
    fc.property(fc.array(sent, { maxLength: 40 }), (commands) => {
      const table = new LockTable();
      const names = ["first", "second"];
      const opened = names.map((name) => ({
        session: 0,
        epoch: 0,
        command: { op: OP.open, nonce: name, attempt: 1, ttlMs: 5_000, name, metadata: "" },
      }));
      table.apply({ index: 1, stamp: 0, wallMs: Number.NaN, commands: opened }, new Recording());
      table.apply({ index: 2, stamp: 1, wallMs: -1, commands }, new Recording());
      letEverythingEnd(table, 2);
      expect(table.counts()).toEqual({ sessions: 0, keys: 0, holds: 0, waiters: 0 });
    }),
    { numRuns: 500 },
  );
});
