/** Who waits, by the words of the log; in what order it may be granted, and how it may leave. */
import { ERROR_NUMBERS } from "../../../src/errors.js";
import { type Item, type Result, STATUS } from "../../../src/protocol/index.js";
import {
  areLocksInConflict,
  isSurelyBefore,
  type LawHold,
  type LawWait,
  mayBeOf,
  wantedOf,
} from "./law-records.js";

export class LawWaits {
  readonly #waits = new Map<string, LawWait>();
  readonly #leaving: LawWait[] = [];

  add(key: string, wait: LawWait): void {
    this.#waits.set(key, wait);
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

  /** Whether somebody waits for one of its keys, be it another upgrade beside its own. */
  isAnyBehind(hold: LawHold, holdOf: (token: number) => LawHold | undefined): boolean {
    return hold.claims.some(({ key }) => {
      const behind = [...this.#waits.values(), ...this.#leaving].filter(({ items }) => {
        return items.some((item) => item.key === key);
      });
      const [first] = behind;
      const isOwn = first !== undefined && first.upgrades !== 0 && holdOf(first.upgrades) === hold;
      return behind.length > 1 || (first !== undefined && !isOwn);
    });
  }

  /** Of a request that is granted: whoever waits before it and wants what it gets. */
  problemOfOrder(granted: LawWait): string | undefined {
    for (const [key, wait] of this.#waits) {
      if (!isSurelyBefore(wait, granted)) continue;
      for (const item of granted.items) {
        const theirs = wait.items.find((other) => other.key === item.key);
        if (theirs === undefined || !areLocksInConflict(theirs.mode, item.mode)) continue;
        return `overtakes ${key}, which waits for ${item.key} since ${wait.enqueuedAt}`;
      }
    }
    return undefined;
  }

  /** Of a wait that ended: the documented ways are few. */
  problemOfOutcome(
    { deadline, upgrades, items, detects }: LawWait,
    result: Result,
    stamp: number,
    limitOf: (key: string) => number | undefined,
  ): string | undefined {
    switch (result.status) {
      case STATUS.granted:
        return upgrades === 0 ? undefined : "an upgrade is granted something else";
      case STATUS.upgraded:
        return upgrades === 0 ? "nothing was to be upgraded" : undefined;
      case ERROR_NUMBERS.CANCELLED:
        return undefined;
      case ERROR_NUMBERS.LOCK_TIMEOUT:
        return deadline > 0 && stamp >= deadline ? undefined : `timed out before ${deadline}`;
      case ERROR_NUMBERS.DEADLOCK:
        return detects ? undefined : "was refused for a circle, though it was not to be";
      case ERROR_NUMBERS.INVALID_ARGUMENT:
        return items.some((item) => isTooMuch(item, limitOf(item.key)))
          ? undefined
          : "does not want more than there is";
      case ERROR_NUMBERS.NOT_HELD:
        return upgrades === 0 ? "was no upgrade" : undefined;
      default:
        return `left with ${result.status}`;
    }
  }

  /** A circle begins with who is refused, and each of its members waits for what it says. */
  problemOfCycle(refused: LawWait, result: Result): string | undefined {
    const cycle = "cycle" in result ? (result.cycle ?? []) : [];
    const [first, ...others] = cycle;
    const isFirst = first !== undefined && mayBeOf(refused, first.session, first.owner);
    if (!isFirst) return "is no member of the circle for which it is refused";
    for (const { session, owner, key } of others) {
      const waits = [...this.#waits.values()].some((wait) => {
        return mayBeOf(wait, session, owner) && wait.items.some((item) => item.key === key);
      });
      if (!waits) return `owner ${owner} of session ${session} does not wait for ${key}`;
    }
    return undefined;
  }
}

function isTooMuch(item: Item, limit: number | undefined): boolean {
  return limit !== undefined && wantedOf(item) > limit;
}
