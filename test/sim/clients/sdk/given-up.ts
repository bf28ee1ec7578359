/**
 * What processes gave up, or made shared, before they left their session to another one: that one is not
 * handed it again, however far the cluster had come with it.
 */
import type { ExportedSession, Lock } from "../../../../src/client/index.js";
import type { SdkHold } from "./sdk-hold.js";

/** What one process leaves to the next one. */
export interface LeftSession {
  readonly exported: ExportedSession;
  readonly givenUp: GivenUp;
}

export class GivenUp {
  /** Numbers by which the session knows its holds. */
  readonly #over: Set<number>;
  /** With the keys that nobody asked for exclusively any more. */
  readonly #shared: Map<number, readonly string[]>;

  /** `before`: of the process that this one goes on for. */
  constructor(before: GivenUp | undefined) {
    this.#over = new Set(before === undefined ? [] : before.#over);
    this.#shared = new Map(before === undefined ? [] : before.#shared);
  }

  /** The process leaves, and its session knows the hold by that number. */
  add(number: number, hold: SdkHold): void {
    this.#shared.delete(number);
    if (hold.isDetached || (hold.count === 0 && !hold.isCounted)) this.#over.add(number);
    else if (!hold.isCounted) this.#shared.set(number, hold.sharedKeys);
  }

  /** What is wrong with a lock that was handed over; `undefined`: nothing. */
  problemOf(number: number, { token, items }: Lock): string | undefined {
    if (this.#over.has(number)) return `${token} was given up, and is handed over`;
    const shared = this.#shared.get(number) ?? [];
    const strong = items.find(({ key, mode }) => mode === "exclusive" && shared.includes(key));
    return strong && `${strong.key} by ${token} was made shared, and is handed over as exclusive`;
  }
}
