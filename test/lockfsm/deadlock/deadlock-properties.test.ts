/** Deadlocks in random histories, compared with an oracle that plays the future out. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { LockTable, TableEntry } from "../../../src/lockfsm/index.js";
import { type CycleMember, MESSAGE, OP } from "../../../src/protocol/index.js";
import { runsOf } from "../../runs.js";
import {
  isOnCycle,
  playOut,
  type Scene,
  sceneOf,
  taskOf,
  type Waiting,
  waitsOfMember,
} from "./wait-oracle.js";
import { type Asked, deeds, KEYS, type Moment, WaitWorkload } from "./wait-workload.js";

interface Refusal {
  readonly id: string;
  /** The request that was just made, not one that waited. */
  readonly isAnswer: boolean;
  readonly cycle: readonly CycleMember[];
}

function refusalsIn({ said }: Moment): Refusal[] {
  return said.flatMap(({ session, message }) => {
    const { kind } = message;
    if (kind !== MESSAGE.reply && kind !== MESSAGE.outcome) return [];
    const { status } = message.result;
    if (status !== ERROR_NUMBERS.DEADLOCK) return [];
    const cycle = "cycle" in message.result ? (message.result.cycle ?? []) : [];
    return [{ id: `${session}/${message.sequence}`, isAnswer: kind === MESSAGE.reply, cycle }];
  });
}

function restOf(work: WaitWorkload, table: LockTable): Scene {
  return playOut(sceneOf(table, KEYS, work.upgradeOf));
}

/** Holds and queues of every key, but for priorities that were asked for and renewed leases. */
function pictureOf(table: LockTable): unknown {
  return KEYS.map((key) => {
    const { holds, waiters, cooldowns } = table.inspect(key);
    return {
      holds: holds.map(({ leaseMs: _, ...hold }) => hold),
      waiters: waiters.map(({ priority: _, ...waiter }) => waiter),
      cooldowns,
    };
  });
}

/** The entry with its acquire's head start taken away; `undefined` where it has none. */
function withoutHeadStart(entry: TableEntry): { id: string; entry: TableEntry } | undefined {
  const [first] = entry.commands;
  const command = first?.command;
  if (first === undefined || command?.op !== OP.acquire) return undefined;
  const { options } = command;
  if (options === undefined || options.priority === 0 || !options.detect) return undefined;
  const plain = { ...command, options: { ...options, priority: 0 } };
  const id = `${first.session}/${command.sequence}`;
  return { id, entry: { ...entry, commands: [{ ...first, command: plain }] } };
}

function findWait(scene: Scene, id: string): Waiting | undefined {
  return scene.waits.find((wait) => wait.id === id);
}

/** Each member waits for the next now, and would forever; returns their waits, in order. */
function checkCycle(scene: Scene, rest: Scene, cycle: readonly CycleMember[]): Waiting[][] {
  expect(cycle.length).toBeGreaterThan(0);
  return cycle.map((member, at) => {
    const next = cycle[(at + 1) % cycle.length] as CycleMember;
    const task = taskOf(member.session, member.task);
    expect(rest.waits.some((wait) => wait.task === task)).toBe(true);
    const waits = waitsOfMember(scene, member, next);
    expect(waits, `${JSON.stringify(member)} does not wait for the next`).not.toEqual([]);
    return waits;
  });
}

/** Whether each of the others has a wait that comes before it, or must not be refused. */
function isLast(work: WaitWorkload, id: string, waitsOfMembers: readonly Waiting[][]): boolean {
  const victim = work.asked.get(id) as Asked;
  const [own = [], ...others] = waitsOfMembers;
  return (
    own.some((wait) => wait.id === id) &&
    others.every((waits) => {
      return waits.some((wait) => {
        const other = work.asked.get(wait.id) as Asked;
        return !other.detect || comesBefore(other, victim);
      });
    })
  );
}

function comesBefore(left: Asked, right: Asked): boolean {
  return left.rank < right.rank || (left.rank === right.rank && left.arrival < right.arrival);
}

/** Relives the last entry without the search; whether its head start would have closed a cycle. */
function checkDecision(work: WaitWorkload, moment: Moment): { readonly isForfeit: boolean } {
  const plain = moment.isSearched ? withoutHeadStart(moment.entry) : undefined;
  let { table, isSettled, giveUp } = work.withoutSearch();
  let isForfeit = false;
  if (plain !== undefined) {
    const wait = findWait(sceneOf(table, KEYS, work.upgradeOf), plain.id);
    isForfeit = wait !== undefined && isOnCycle(restOf(work, table), wait.task);
    if (isForfeit) {
      ({ table, isSettled, giveUp } = work.withoutSearch(plain.entry));
      const asked = work.asked.get(plain.id) as Asked;
      asked.rank = asked.enqueuedAt;
    }
  }
  for (const { id, isAnswer, cycle } of refusalsIn(moment)) {
    const scene = sceneOf(table, KEYS, work.upgradeOf);
    const rest = restOf(work, table);
    const wait = findWait(scene, id);
    if (wait === undefined) expect.fail(`${id} was refused, and does not even wait`);
    expect(work.asked.get(id)?.detect, `${id} did not ask for it`).toBe(true);
    expect(isOnCycle(rest, wait.task), `${id} waits on no cycle`).toBe(true);
    const waitsOfMembers = checkCycle(scene, rest, cycle);
    const [first] = cycle;
    expect(first && taskOf(first.session, first.task)).toBe(wait.task);
    // A request that closed a cycle, and was looked at later, gives way wherever it stands.
    if (!isAnswer && !work.isLate) {
      expect(isLast(work, id, waitsOfMembers), `${id} is not the last`).toBe(true);
    }
    if (!isSettled()) return { isForfeit };
    giveUp(id);
  }
  if (isSettled() && work.isSettled) {
    expect(pictureOf(work.table)).toEqual(pictureOf(table));
  }
  return { isForfeit };
}

function isDecision(moment: Moment): boolean {
  return refusalsIn(moment).length > 0 || withoutHeadStart(moment.entry) !== undefined;
}

const settings = fc.record({ grantsPerStepMax: fc.constantFrom(64, 64, 1, 2) });
const RUNS = runsOf(40);

describe("any life of a few tasks", () => {
  test("leaves nobody waiting forever, and refuses nobody else", () => {
    let [refused, outcomes, forfeits] = [0, 0, 0];
    fc.assert(
      fc.property(settings, deeds(false), (chosen, plan) => {
        const work = new WaitWorkload(chosen);
        for (const deed of plan) {
          for (const moment of work.live(deed)) {
            if (!isDecision(moment)) continue;
            const refusals = refusalsIn(moment);
            refused += refusals.length;
            outcomes += refusals.filter(({ isAnswer }) => !isAnswer).length;
            forfeits += checkDecision(work, moment).isForfeit ? 1 : 0;
          }
          const rest = restOf(work, work.table);
          expect(rest.waits.map(({ id }) => id)).toEqual([]);
        }
        expect(work.table.counts().searchesDeferred).toBe(0);
      }),
      { numRuns: RUNS },
    );
    // The lives are rich enough to mean something.
    expect(refused).toBeGreaterThan(RUNS);
    expect(outcomes).toBeGreaterThan(RUNS / 30);
    expect(forfeits).toBeGreaterThan(RUNS / 30);
  });

  test("does so where entries have few steps of search, be it by later entries", () => {
    const steps = fc.array(fc.constantFrom(0, 0, 0, 1, 5, 20), { minLength: 1, maxLength: 9 });
    let [late, atOnce] = [0, 0];
    fc.assert(
      fc.property(deeds(false), steps, (plan, limits) => {
        const work = new WaitWorkload({}, (index) => limits[index % limits.length] ?? 0);
        for (const one of plan) {
          // A head start that is given up late is no longer where the cycle was seen.
          const deed = one.kind === "acquire" ? { ...one, priority: 0 } : one;
          for (const moment of work.live(deed)) {
            const refusals = refusalsIn(moment);
            if (refusals.length > 0) checkDecision(work, moment);
            atOnce += refusals.filter(({ isAnswer }) => isAnswer).length;
            late += refusals.filter(({ isAnswer }) => !isAnswer).length;
          }
          const rest = restOf(work, work.table);
          expect(rest.waits.map(({ id }) => id)).toEqual([]);
        }
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(late).toBeGreaterThan(RUNS);
    expect(atOnce).toBeGreaterThan(RUNS / 30);
  });

  test("never makes those give way who do not want to, nor anybody outside a cycle", () => {
    fc.assert(
      fc.property(settings, deeds(true), (chosen, plan) => {
        const work = new WaitWorkload(chosen);
        for (const deed of plan) {
          for (const moment of work.live(deed)) {
            if (isDecision(moment)) checkDecision(work, moment);
          }
        }
      }),
      { numRuns: RUNS },
    );
  });
});
