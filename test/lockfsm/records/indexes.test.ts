/** The hash indexes of records and rows, compared with a Map and a Set. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AccessState } from "../../../src/lockfsm/records/access-state.js";
import {
  InSessionIndex,
  TaskIndex,
  TaskRecord,
  TokenIndex,
} from "../../../src/lockfsm/records/claim-indexes.js";
import { CopyOnWrite } from "../../../src/lockfsm/records/copy-on-write.js";
import { Hold } from "../../../src/lockfsm/records/hold.js";
import { BY, HoldRows } from "../../../src/lockfsm/records/hold-rows.js";
import { Session } from "../../../src/lockfsm/records/session.js";
import { ChainedIndex, mixNumber } from "../../../src/lockfsm/structures/chained-index.js";
import { RowIndex } from "../../../src/lockfsm/structures/row-index.js";
import { runsOf } from "../../runs.js";

const { noCredential } = new AccessState();

interface Card {
  readonly number: number;
  next: Card | undefined;
}

/** With a hash so bad that chains are long, or as good as the table's. */
class CardIndex extends ChainedIndex<Card> {
  readonly #hash: (number: number) => number;

  constructor(hash: (number: number) => number) {
    super();
    this.#hash = hash;
  }

  find(number: number): Card | undefined {
    let card = this.firstOf(this.#hash(number));
    while (card !== undefined && card.number !== number) card = card.next;
    return card;
  }

  protected override hashOf({ number }: Card): number {
    return this.#hash(number);
  }

  protected override nextOf({ next }: Card): Card | undefined {
    return next;
  }

  protected override setNext(card: Card, next: Card | undefined): void {
    card.next = next;
  }
}

/** Rows that are their own numbers, with a column of pointers. */
class PlainRowIndex extends RowIndex {
  readonly pointers = new Map<number, number>();
  readonly #hash: (row: number) => number;

  constructor(hash: (row: number) => number) {
    super();
    this.#hash = hash;
  }

  /** Whether the row is among those that may have its hash, each of them once. */
  has(row: number): boolean {
    const hash = this.#hash(row) >>> 0;
    const seen = new Set<number>();
    for (let at = this.firstOf(hash); at !== 0; at = this.nextWith(hash, at)) {
      if (seen.has(at)) throw new Error(`row ${at} twice in its chain`);
      seen.add(at);
    }
    return seen.has(row);
  }

  protected override hashOf(row: number): number {
    return this.#hash(row) >>> 0;
  }

  protected override nextOf(row: number): number {
    return this.pointers.get(row) ?? 0;
  }

  protected override setNext(row: number, pointer: number): void {
    this.pointers.set(row, pointer | 0);
  }
}

function sessionOf(id: number): Session {
  return new Session(new CopyOnWrite(), id, `${id}`, "", "", 1_000, 0, 1, noCredential);
}

describe("a chained index", () => {
  const hashes = fc.constantFrom(
    mixNumber,
    (number: number) => number % 5,
    () => 7,
  );
  // Runs of adding and removing, so that it grows and shrinks by many buckets.
  const runs = fc.array(fc.integer({ min: -120, max: 120 }), { maxLength: 12 });

  test("finds what a Map finds while it grows and shrinks", () => {
    fc.assert(
      fc.property(hashes, runs, fc.integer({ min: 1, max: 1_000 }), (hash, lengths, step) => {
        const index = new CardIndex(hash);
        const expected = new Map<number, Card>();
        let next = 0;
        for (const length of lengths) {
          for (let left = length; left > 0; left -= 1) {
            next += step;
            const card: Card = { number: next, next: undefined };
            index.add(card);
            expected.set(next, card);
          }
          // From both ends and the middle in turn.
          for (let left = -length; left > 0 && expected.size > 0; left -= 1) {
            const numbers = [...expected.keys()];
            const number = numbers[(left * 7) % numbers.length] as number;
            const card = expected.get(number) as Card;
            expect(index.remove(card)).toBe(true);
            expect(card.next).toBe(undefined);
            expected.delete(number);
          }
          expect(index.size).toBe(expected.size);
          for (const [number, card] of expected) expect(index.find(number)).toBe(card);
          expect(index.find(next + 1)).toBe(undefined);
        }
      }),
      { numRuns: runsOf(50) },
    );
  });

  test("says that what is not in it was not removed, even if it looks the same", () => {
    const index = new CardIndex(mixNumber);
    const card: Card = { number: 1, next: undefined };
    index.add(card);
    expect(index.remove({ number: 1, next: undefined })).toBe(false);
    expect(index.size).toBe(1);
    expect(index.remove(card)).toBe(true);
    expect(index.remove(card)).toBe(false);
    expect(index.size).toBe(0);
  });

  test("mixes neighbours, and numbers that differ only far up, into all of its buckets", () => {
    for (const step of [1, 2 ** 21, 2 ** 32, 2 ** 40]) {
      const buckets = new Set<number>();
      for (let at = 0; at < 4_096; at += 1) buckets.add(mixNumber(2 ** 41 + at * step) & 1_023);
      // Drawn at random 4,096 numbers would leave about 19 of 1,024 empty.
      expect(buckets.size).toBeGreaterThan(900);
    }
  });
});

describe("an index of rows", () => {
  // Good ones, few buckets, one bucket, and equal but for the upper bits that a pointer has.
  const hashes = fc.constantFrom<(row: number) => number>(
    mixNumber,
    (row) => row % 5,
    () => 7,
    (row) => (row % 32) * 2 ** 27,
  );
  const runs = fc.array(fc.integer({ min: -200, max: 200 }), { maxLength: 12 });

  test("finds what a Set has while it grows and shrinks, whatever the hashes", () => {
    fc.assert(
      fc.property(hashes, runs, (hash, lengths) => {
        const index = new PlainRowIndex(hash);
        const expected = new Set<number>();
        let next = 0;
        for (const length of lengths) {
          for (let left = length; left > 0; left -= 1) {
            next += 1;
            index.add(next);
            expected.add(next);
          }
          for (let left = -length; left > 0 && expected.size > 0; left -= 1) {
            const rows = [...expected];
            const row = rows[(left * 7) % rows.length] as number;
            expect(index.remove(row)).toBe(true);
            expect(index.remove(row)).toBe(false);
            expect(index.pointers.get(row)).toBe(0);
            expected.delete(row);
          }
          expect(index.size).toBe(expected.size);
          for (const row of expected) expect(index.has(row)).toBe(true);
          expect(index.has(next + 1)).toBe(false);
        }
      }),
      { numRuns: runsOf(40) },
    );
  });

  test("goes on over the pages of its buckets, up and down", () => {
    const index = new PlainRowIndex(mixNumber);
    const count = 40_000;
    for (let row = 1; row <= count; row += 1) index.add(row);
    // Nothing of its growth is left for records that come and go afterwards.
    expect(index.bucketCount).toBe(2 * count);
    for (let row = 1; row <= count; row += 97) expect(index.has(row)).toBe(true);
    for (let row = 1; row <= count; row += 1) expect(index.remove(row)).toBe(true);
    expect([index.size, index.has(1)]).toEqual([0, false]);
    index.add(count);
    expect(index.has(count)).toBe(true);
  });

  test("refuses a row that no pointer could name", () => {
    const index = new PlainRowIndex(mixNumber);
    expect(() => index.add(2 ** 26)).toThrow("row 67108864 is too large");
  });
});

describe("holds by their tokens, and by their sessions and sequences", () => {
  test("are found by both, whichever come and go, and by no others", () => {
    const hold = fc.record({ session: fc.nat(3), sequence: fc.nat(200), stays: fc.boolean() });
    fc.assert(
      fc.property(fc.array(hold, { maxLength: 200, size: "max" }), (wanted) => {
        const rows = new HoldRows(new CopyOnWrite());
        const [byToken, bySequence] = [new TokenIndex(rows), new InSessionIndex(rows, BY.sequence)];
        const sessions = [1, 2, 3, 4].map(sessionOf);
        const expected = new Map<string, number>();
        let token = 2 ** 41;
        for (const { session: number, sequence, stays } of wanted) {
          const session = sessions[number] as Session;
          const name = `${number}/${sequence}`;
          if (expected.has(name)) continue;
          token += 1;
          const row = rows.add(session, token, sequence, "k");
          byToken.add(row);
          bySequence.add(row);
          if (stays) expected.set(name, row);
          else {
            expect([byToken.find(token), bySequence.find(session, sequence)]).toEqual([row, row]);
            expect([byToken.remove(row), bySequence.remove(row)]).toEqual([true, true]);
            expect(byToken.find(token)).toBe(0);
            rows.remove(row);
          }
        }
        expect([byToken.size, bySequence.size]).toEqual([expected.size, expected.size]);
        for (const [number, session] of sessions.entries()) {
          for (let sequence = 0; sequence <= 200; sequence += 1) {
            const row = expected.get(`${number}/${sequence}`) ?? 0;
            expect(bySequence.find(session, sequence)).toBe(row);
            if (row !== 0) expect(byToken.find(rows.tokenOf(row))).toBe(row);
          }
        }
      }),
      { numRuns: runsOf(20) },
    );
  });
});

describe("claims by their tasks", () => {
  test("are told apart by session and task, whichever of them claims", () => {
    const index = new TaskIndex();
    const sessions = Array.from({ length: 30 }, (_, at) => sessionOf(at + 1));
    const claims = sessions.flatMap((session) => {
      return Array.from({ length: 30 }, (_, task) => {
        const record = new TaskRecord(session, task);
        index.add(record);
        return record;
      });
    });
    for (const record of claims) expect(index.find(record.session, record.task)).toBe(record);
    expect(index.find(sessionOf(1), 0), "another session of the same number").toBe(undefined);
    for (const record of claims.filter(({ task }) => task % 2 === 0)) index.remove(record);
    for (const record of claims) {
      const found = index.find(record.session, record.task);
      expect(found).toBe(record.task % 2 === 0 ? undefined : record);
    }
  });

  test("of one task are kept apart, holds in the order in which they came", () => {
    const session = sessionOf(1);
    const record = new TaskRecord(session, 1);
    const holds = [1, 2, 3].map((at) => new Hold(2 ** 41 + at, session, 1, at, 0));
    for (const hold of holds) record.add(hold);
    expect([record.size, [...record.holds]]).toEqual([3, holds]);
    record.delete(holds[0] as Hold);
    record.delete(holds[2] as Hold);
    expect([record.size, record.last]).toEqual([1, holds[1]]);
    record.delete(holds[1] as Hold);
    expect([record.size, record.last]).toEqual([0, undefined]);
  });
});
