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
  readonly #session: number;
  /** Numbers by which the session knows its holds. */
  readonly #over: Set<number>;
  /** With the keys that nobody asked for exclusively any more. */
  readonly #shared: Map<number, readonly string[]>;

  /** `before`: of the process that this one went on for, which counts if it left the same session. */
  constructor(session: number, before: GivenUp | undefined) {
    const same = before !== undefined && before.#session === session ? before : undefined;
    this.#session = session;
    this.#over = new Set(same === undefined ? [] : same.#over);
    this.#shared = new Map(same === undefined ? [] : same.#shared);
  }

  /** The process leaves, and its session knows the hold by that number. */
  add(number: number, hold: SdkHold): void {
    this.#shared.delete(number);
    if (hold.isDetached || (hold.count === 0 && !hold.isCounted)) this.#over.add(number);
    else if (!hold.isCounted) this.#shared.set(number, hold.sharedKeys);
  }

  /** What is wrong with a lock that was handed over in `session`; `undefined`: nothing. */
  problemOf(session: number, number: number, { token, items }: Lock): string | undefined {
    if (session !== this.#session) return undefined;
    if (this.#over.has(number)) return `${token} was given up, and is handed over`;
    const shared = this.#shared.get(number) ?? [];
    const strong = items.find(({ key, mode }) => mode === "exclusive" && shared.includes(key));
    return strong && `${strong.key} by ${token} was made shared, and is handed over as exclusive`;
  }
}
