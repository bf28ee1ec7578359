/** The queue of a key, compared with a sorted array, and its cost in steps. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AccessState } from "../../../src/lockfsm/records/access-state.js";
import { CopyOnWrite } from "../../../src/lockfsm/records/copy-on-write.js";
import { type Key, Place } from "../../../src/lockfsm/records/key.js";
import { NO_DEADLINE, orderOf, Request, Session } from "../../../src/lockfsm/records/session.js";
import { comesBefore, WaitingQueue } from "../../../src/lockfsm/records/waiting-queue.js";

const { noCredential } = new AccessState();

const KEY = { name: "k" } as Key;
const session = new Session(new CopyOnWrite(), 1, "nonce", "a", "", 1_000, 0, 1, noCredential);

function placeOf(rank: number, number: number): Place {
  const order = { rank, number };
  const request = new Request(session, number, 1, order, 0, NO_DEADLINE, undefined);
  const place = new Place(KEY, "exclusive", request, undefined);
  request.change().firstPlace = place;
  return place;
}

/** Forwards and backwards, which must agree. */
function placesOf(queue: WaitingQueue<Place>): Place[] {
  const places: Place[] = [];
  for (let place = queue.first; place !== undefined; place = place.next) places.push(place);
  const backwards: Place[] = [];
  for (let place = queue.last; place !== undefined; place = place.previous) backwards.push(place);
  expect(backwards.reverse()).toEqual(places);
  return places;
}

describe("a queue", () => {
  const change = fc.record({
    kind: fc.constantFrom("insert", "insert", "insert", "remove", "list", "unlist", "reach"),
    /** A few ranks, so that many are equal; 0 is the latest. */
    rank: fc.oneof(fc.constant(0), fc.integer({ min: -5, max: 0 })),
    pick: fc.nat(1_000),
    skipped: fc.nat(40),
  });

  test("is what a sorted array is, however places come and go", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 400, size: "max" }), (changes) => {
        const queue = new WaitingQueue<Place>();
        const expected: Place[] = [];
        const listed = new Set<Place>();
        let number = 0;
        for (const { kind, rank, pick, skipped } of changes) {
          const picked = expected[pick % Math.max(1, expected.length)];
          if (kind === "insert") {
            number += 1 + skipped;
            const place = placeOf(rank, number);
            queue.insert(place);
            const at = expected.findIndex((other) => comesBefore(orderOf(place), orderOf(other)));
            expected.splice(at < 0 ? expected.length : at, 0, place);
            if (queue.frontier === undefined && pick % 3 === 0) queue.frontier = place;
          } else if (picked === undefined) continue;
          else if (kind === "list" && !listed.has(picked)) {
            listed.add(picked);
            queue.list(picked);
          } else if (kind === "reach") queue.frontier = picked;
          else if (kind === "unlist" || kind === "remove") {
            if (listed.delete(picked)) queue.unlist(picked);
            if (kind === "unlist") continue;
            const at = expected.indexOf(picked);
            const isFrontier = queue.frontier === picked;
            const behind = picked.next;
            queue.remove(picked);
            expected.splice(at, 1);
            if (isFrontier) expect(queue.frontier).toBe(behind);
            expect([picked.next, picked.previous, picked.tower]).toEqual([
              undefined,
              undefined,
              undefined,
            ]);
          }
          expect(queue.count).toBe(expected.length);
        }
        const places = placesOf(queue);
        expect(places).toEqual(expected);
        expect(queue.listed).toEqual(expected.filter((place) => listed.has(place)));
        const frontierAt = queue.frontier === undefined ? -1 : expected.indexOf(queue.frontier);
        for (const [at, place] of expected.entries()) {
          expect(queue.hasReached(place)).toBe(frontierAt < 0 || at < frontierAt);
          const before = expected.slice(0, at + 1).filter((other) => listed.has(other));
          expect(queue.countListedTo(place)).toBe(before.length);
        }
        for (const rank of [-6, -3, 0, 1]) {
          for (const from of [0, number / 2, number + 1]) {
            const order = { rank, number: Math.floor(from) };
            const first = expected.find((place) => !comesBefore(orderOf(place), order));
            expect(queue.firstFrom(order)).toBe(first);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test("finds a head start's place among very many in few steps", () => {
    const queue = new WaitingQueue<Place>();
    for (let number = 1; number <= 50_000; number += 1) queue.insert(placeOf(number % 2, number));
    const place = placeOf(-1, 60_000);
    let comparisons = 0;
    Object.defineProperty(orderOf(place), "rank", {
      get: () => {
        comparisons += 1;
        return 0.5;
      },
    });
    queue.insert(place);
    expect([place.previous, place.next].map((one) => one && orderOf(one).number)).toEqual([
      50_000, 1,
    ]);
    expect(comparisons).toBeLessThan(400);
  });
});
