/**
 * Most holds of a large table are rows of numbers. The tests of the naive model, the hash and
 * the snapshots show that they cannot be told from others. These tests show which holds are
 * rows, and that reading one does not change it.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AccessState } from "../../../src/lockfsm/records/access-state.js";
import { CopyOnWrite } from "../../../src/lockfsm/records/copy-on-write.js";
import { Hold } from "../../../src/lockfsm/records/hold.js";
import { BY, HoldRows } from "../../../src/lockfsm/records/hold-rows.js";
import { Session } from "../../../src/lockfsm/records/session.js";

const { noCredential } = new AccessState();

const copies = new CopyOnWrite();

function sessionsOf(count: number): Session[] {
  return Array.from({ length: count }, (_, at) => {
    return new Session(copies, at + 1, `${at}`, "", "", 1_000, 0, 1, noCredential);
  });
}

function listOf(rows: HoldRows, session: Session): number[] {
  const listed: number[] = [];
  for (let row = session.firstHold; row !== 0; row = rows.nextOf(row)) listed.push(row);
  return listed;
}

describe("rows", () => {
  const steps = fc.array(
    fc.record({
      session: fc.nat(3),
      kind: fc.constantFrom("add", "add", "add", "remove", "move", "empty"),
      count: fc.constantFrom(1, 3, 700, 5_000),
      at: fc.nat(),
    }),
    { maxLength: 14 },
  );

  test("stand in the list of their session as in an array, over any number of chunks", () => {
    fc.assert(
      fc.property(steps, (plan) => {
        const rows = new HoldRows(copies);
        const sessions = sessionsOf(4);
        const expected: number[][] = sessions.map(() => []);
        let token = 2 ** 41;
        for (const { session: number, kind, count, at } of plan) {
          const session = sessions[number] as Session;
          const list = expected[number] as number[];
          for (let left = kind === "empty" ? list.length : count; left > 0; left -= 1) {
            token += 1;
            if (kind === "add") {
              const row = rows.add(session, token, token + 2, `k${token}`);
              rows.describe(row, token + 1, token + 3);
              list.push(row);
              continue;
            }
            const [row] = list.splice((at * left) % Math.max(1, list.length), 1);
            if (row === undefined) break;
            if (kind !== "move") {
              rows.remove(row);
              continue;
            }
            const to = (number + at) % sessions.length;
            rows.move(row, sessions[to] as Session, token);
            expected[to]?.push(row);
          }
        }
        for (const [number, session] of sessions.entries()) {
          const list = expected[number] as number[];
          expect(listOf(rows, session)).toEqual(list);
          expect(session.holdCount).toBe(list.length);
          for (const row of list) expect(rows.sessionOf(row)).toBe(session);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("keep what they were given until they are removed, and are used again then", () => {
    const rows = new HoldRows(copies);
    const [session] = sessionsOf(1) as [Session];
    const row = rows.add(session, 2 ** 52 + 1, 2 ** 40, "name");
    rows.describe(row, 2 ** 53 - 1, 2 ** 45);
    rows.setPointer(row, BY.task, 7);
    rows.setPointer(row, BY.token, 8);
    rows.setPointer(row, BY.sequence, 10);
    rows.setSavedIn(row, 9);
    expect([rows.tokenOf(row), rows.taskOf(row)]).toEqual([2 ** 52 + 1, 2 ** 53 - 1]);
    expect([rows.sequenceOf(row), rows.grantedAtOf(row)]).toEqual([2 ** 40, 2 ** 45]);
    const links = () => [BY.task, BY.token, BY.sequence].map((by) => rows.pointerOf(row, by));
    expect([...links(), rows.savedIn(row)]).toEqual([7, 8, 10, 9]);
    rows.setToken(row, 2 ** 52 + 3);
    rows.setSequence(row, 2 ** 41 - 1);
    expect([rows.tokenOf(row), rows.sequenceOf(row)]).toEqual([2 ** 52 + 3, 2 ** 41 - 1]);
    const hold = new Hold(2 ** 52 + 1, session, 1, 1, 1);
    rows.setContent(row, hold);
    expect(rows.contentOf(row)).toBe(hold);
    rows.remove(row);
    expect(() => rows.contentOf(row)).toThrow(`row ${row} is not in use`);
    const again = rows.add(session, 2 ** 52 + 2, 1, "other");
    expect(again).toBe(row);
    expect([...links(), rows.savedIn(row)]).toEqual([0, 0, 0, 0]);
  });

  test("refuse a token that is not the newest of its session", () => {
    const rows = new HoldRows(copies);
    const [session] = sessionsOf(1) as [Session];
    rows.add(session, 2 ** 41 + 1, 1, "a");
    expect(() => rows.add(session, 2 ** 41, 2, "b")).toThrow("token 2199023255552 after");
  });
});
