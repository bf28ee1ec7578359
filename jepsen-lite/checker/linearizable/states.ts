/**
 * Numbers the states of a part as the search reaches them, and remembers every computed transition:
 * equal states have one number, and a step is applied to a state once.
 */
import type { Action } from "./problem.js";

/** A Map of JavaScript ends at 2^24 entries; the search stops well before. */
const TRANSITIONS_MAX = 16_000_000;
/** Transitions of the first states are kept in arrays, which are faster: 16 MiB of them. */
const TABLE_ENTRIES_MAX = 4 * 1024 * 1024;
const UNKNOWN = -2;

/** The result of `next` if the action cannot happen. */
export const ILLEGAL = -1;

export class States<State> {
  readonly #actions: readonly Action<State>[];
  readonly #encode: (state: State) => string;
  readonly #states: State[] = [];
  readonly #numbers = new Map<string, number>();
  /** By state, then by class of actions. */
  readonly #table: Int32Array[] = [];
  /** Transitions of the states beyond the table. */
  readonly #transitions = new Map<number, number>();
  #bytes = 0;

  /** @param actions one of each class; the position is the class. */
  constructor(actions: readonly Action<State>[], encode: (state: State) => string) {
    this.#actions = actions;
    this.#encode = encode;
  }

  /** Approximate size of the tables; `Infinity` when they cannot grow any more. */
  get bytes(): number {
    return this.#transitions.size > TRANSITIONS_MAX ? Number.POSITIVE_INFINITY : this.#bytes;
  }

  numberOf(state: State): number {
    const text = this.#encode(state);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#states.length;
    this.#states.push(state);
    this.#numbers.set(text, number);
    this.#bytes += 96 + 4 * text.length;
    const { length } = this.#actions;
    if ((number + 1) * length <= TABLE_ENTRIES_MAX) {
      this.#table.push(new Int32Array(length).fill(UNKNOWN));
      this.#bytes += 4 * length;
    }
    return number;
  }

  state(number: number): State {
    return this.#states[number] as State;
  }

  /** The state's number after the action, or `ILLEGAL`. */
  next(number: number, actionClass: number): number {
    const row = this.#table[number];
    if (row === undefined) return this.#nextBeyondTable(number, actionClass);
    const known = row[actionClass] as number;
    if (known !== UNKNOWN) return known;
    const next = this.#compute(number, actionClass);
    row[actionClass] = next;
    return next;
  }

  #nextBeyondTable(number: number, actionClass: number): number {
    const transition = number * this.#actions.length + actionClass;
    const known = this.#transitions.get(transition);
    if (known !== undefined) return known;
    const next = this.#compute(number, actionClass);
    this.#transitions.set(transition, next);
    this.#bytes += 40;
    return next;
  }

  #compute(number: number, actionClass: number): number {
    const after = (this.#actions[actionClass] as Action<State>).apply(this.state(number));
    return after === undefined ? ILLEGAL : this.numberOf(after);
  }
}
