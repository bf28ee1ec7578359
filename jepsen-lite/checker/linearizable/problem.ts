/**
 * What a model hands to the search: independent parts of a history (one key, or keys that some
 * operation binds together), each a list of steps over a sequential specification. Linearizability
 * is local (Herlihy & Wing 1990, theorem 1; P-compositionality: Horn & Kroening 2015), so the parts
 * are searched one by one.
 */
import type { AnomalyKind } from "../anomalies.js";
import type { Operation } from "../operations.js";

/** Why an operation cannot have happened in a state, where the model can say it. */
export interface Refusal {
  readonly kind: AnomalyKind;
  /** What stands against it: a clause that goes on from "because". */
  readonly because: string;
}

/** One transition of the specification: what an operation did, with the answer it got. */
export interface Action<State> {
  /** Steps with equal ids are interchangeable: same effect, same answer. */
  readonly id: string;
  /** It never changes the state. The search takes such a step as soon as it is legal. */
  readonly isPure: boolean;
  /** The state afterwards, or `undefined` where it could not have happened. Changes nothing. */
  readonly apply: (state: State) => State | undefined;
  /** Of a state that `apply` refuses; asked for only to tell people. */
  readonly refusal?: (state: State) => Refusal | undefined;
  /** It is possible in every state. Then it has no `needs`. */
  readonly isTotal?: boolean;
  /** The encoded states in which it is possible; absent if they are not known beforehand. */
  readonly needs?: readonly string[];
  /** The encoded state it leads to wherever it is possible; absent if that depends. */
  readonly leadsTo?: string;
  readonly text: string;
}

export interface Step<State> {
  readonly action: Action<State>;
  /** The operation it belongs to; absent for what happens by itself, as a lease that runs out. */
  readonly operation: Operation | undefined;
  readonly invokedAt: number;
  /** `Infinity`: it may take effect at any time after its invocation, or never. */
  readonly returnedAt: number;
}

export interface Part<State> {
  readonly keys: readonly string[];
  readonly initial: State;
  /** However often its actions are repeated, they lead to a bounded number of states. */
  readonly isBounded: boolean;
  /** Equal texts for equal states, different texts for different ones. */
  readonly encode: (state: State) => string;
  readonly describe: (state: State) => string;
  /** In the order of `invokedAt`. */
  readonly steps: readonly Step<State>[];
}
