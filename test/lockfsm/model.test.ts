import fc from "fast-check";
import { expect, test } from "vitest";
import { LockTable } from "../../src/lockfsm/index.js";
import { NaiveTable } from "./model.js";
import { Clients, KEYS, plan, settings } from "./plans.js";
import { Recording } from "./recording.js";

const RUNS = 1_000;

test("says and shows after every entry what the naive model says and shows", () => {
  fc.assert(
    fc.property(settings, plan, (limits, turns) => {
      const table = new LockTable(limits);
      const model = new NaiveTable(limits);
      const clients = new Clients();
      for (const turn of turns) {
        const entry = clients.entryOf(turn);
        const expected = new Recording();
        model.apply(entry, expected);
        const actual = new Recording(clients);
        table.apply(entry, actual);
        expectEqual(actual.said, expected.said);
        for (const key of KEYS) expectEqual(table.inspect(key), model.inspect(key));
        const { counts, nextDueAt, hasQueuedWork, keys } = model.summary();
        expectEqual(table.counts(), counts);
        expectEqual([table.nextDueAt, table.hasQueuedWork], [nextDueAt, hasQueuedWork]);
        const shown = table.query("", undefined, 100).keys;
        expectEqual(
          shown.map(({ key }) => key),
          keys,
        );
      }
    }),
    { numRuns: RUNS },
  );
}, 60_000);

/** The comparison that explains is slow: it is asked only about what differs in writing. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
}
