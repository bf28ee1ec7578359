/**
 * Which requests wait, according to the messages in the log, in what order they may be granted,
 * and how their waits may end.
 */
import { excludeEachOther } from "../../../../lab/laws/exclusion.js";
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import { type Item, type Result, STATUS } from "../../../../src/protocol/index.js";
import {
  isSurelyBefore,
  type LawHold,
  type LawOwner,
  type LawWait,
  wantedOf,
} from "./law-records.js";

export class LawWaits {
  readonly #waits = new Map<string, LawWait>();
  readonly #leaving: LawWait[] = [];

  add(key: string, wait: LawWait): void {
    this.#waits.set(key, wait);
  }

  has(key: string): boolean {
    return this.#waits.has(key);
  }

  take(key: string): LawWait | undefined {
    const wait = this.#waits.get(key);
    this.#waits.delete(key);
    return wait;
  }

  /** The session is no more; what it waited for may stand in the queues for a while. */
  drop(session: number): void {
    for (const [key, wait] of this.#waits) {
      if (wait.session !== session) continue;
      this.#waits.delete(key);
      this.#leaving.push(wait);
    }
  }

  /** The request that waits to make a hold exclusive, in that key or in any. */
  upgradeOf(hold: LawHold, key?: string): string | undefined {
    for (const [name, { upgrades, items }] of this.#waits) {
      if (upgrades === hold && (key ?? items[0]?.key) === items[0]?.key) return name;
    }
    return undefined;
  }

  /** One that waits to make a hold exclusive which is no more. */
  strandedUpgrade(isHeld: (hold: LawHold) => boolean): string | undefined {
    for (const [name, { upgrades }] of this.#waits) {
      if (upgrades !== undefined && !isHeld(upgrades)) return name;
    }
    return undefined;
  }

  /** The waits of an owner for a lease of the key. */
  *ofOwner({ owner, person }: LawOwner, wanted: string): Generator<LawWait> {
    for (const wait of this.#waits.values()) {
      if (wait.lease?.owner !== owner || wait.lease.person !== person) continue;
      if (wait.items.some(({ key }) => key === wanted)) yield wait;
    }
  }

  /** Whether a wait of the owner for the key may stand in its queue, though its session has ended. */
  isLeaving({ owner, person }: LawOwner, wanted: string): boolean {
    return this.#leaving.some(({ lease, items }) => {
      if (lease?.owner !== owner || lease.person !== person) return false;
      return items.some(({ key }) => key === wanted);
    });
  }

  /** Whether somebody waits for one of its keys, apart from its own upgrade. */
  isAnyBehind(hold: LawHold): boolean {
    return [...this.#waits.values(), ...this.#leaving].some(({ items, upgrades }) => {
      if (upgrades === hold) return false;
      return items.some((item) => hold.claims.some(({ key }) => key === item.key));
    });
  }

  /** What is wrong with a grant: another request waits before it and wants what it gets. */
  problemOfOrder(granted: LawWait): string | undefined {
    for (const [key, wait] of this.#waits) {
      if (!isSurelyBefore(wait, granted)) continue;
      for (const item of granted.items) {
        const theirs = wait.items.find((other) => other.key === item.key);
        if (theirs === undefined || !excludeEachOther(theirs.mode, item.mode)) continue;
        return `overtakes ${key}, which waits for ${item.key} since ${wait.enqueuedAt}`;
      }
    }
    return undefined;
  }

  /** What is wrong with the end of a wait: the documented ways are few. */
  problemOfOutcome(
    { deadline, upgrades, items, detects, lease }: LawWait,
    result: Result,
    stamp: number,
    limitOf: (key: string) => number | undefined,
  ): string | undefined {
    const isUpgrade = upgrades !== undefined;
    switch (result.status) {
      case STATUS.granted:
        if (isUpgrade) return "an upgrade is granted something else";
        return lease === undefined ? undefined : "is to be a lease, and is a hold of its session";
      case STATUS.leased:
        return lease === undefined ? "was not a take" : undefined;
      case STATUS.upgraded:
        return isUpgrade ? undefined : "nothing was to be upgraded";
      // Whether its client had lost the right to it, the laws of access know.
      case ERROR_NUMBERS.FORBIDDEN:
        return undefined;
      case ERROR_NUMBERS.CANCELLED:
        // Whether a take was withdrawn, the laws of leases know.
        if (isUpgrade || lease !== undefined) return undefined;
        return "hears that it was withdrawn, and was not an upgrade";
      case ERROR_NUMBERS.LOCK_TIMEOUT:
        return deadline > 0 && stamp >= deadline ? undefined : `timed out before ${deadline}`;
      case ERROR_NUMBERS.DEADLOCK:
        return detects ? undefined : "was refused for a cycle, though it was not to be";
      case ERROR_NUMBERS.INVALID_ARGUMENT:
        return items.some((item) => isTooMuch(item, limitOf(item.key)))
          ? undefined
          : "does not want more than there is";
      case ERROR_NUMBERS.NOT_HELD:
        return isUpgrade ? undefined : "was not an upgrade";
      default:
        return `left with ${result.status}`;
    }
  }

  /** A cycle begins with who is refused, and each of its members waits for what it says. */
  problemOfCycle(refused: LawWait, result: Result): string | undefined {
    const cycle = "cycle" in result ? (result.cycle ?? []) : [];
    const [first, ...others] = cycle;
    const isFirst = first?.session === refused.session && first.task === refused.task;
    if (!isFirst) return "is not a member of the cycle for which it is refused";
    for (const { session, task, key } of others) {
      // Who may not observe its key is not told who it is.
      if (key === "") continue;
      const waits = [...this.#waits.values()].some((wait) => {
        const isTheirs = wait.session === session && wait.task === task;
        return isTheirs && wait.items.some((item) => item.key === key);
      });
      if (!waits) return `task ${task} of session ${session} does not wait for ${key}`;
    }
    return undefined;
  }
}

function isTooMuch(item: Item, limit: number | undefined): boolean {
  return limit !== undefined && wantedOf(item) > limit;
}
