/**
 * The input of the search from a model: independent parts of a history (one key, or keys that an
 * operation joins), each a list of steps over a sequential specification. Linearizability is local
 * (Herlihy & Wing 1990, theorem 1; P-compositionality: Horn & Kroening 2015), so the parts are
 * searched one by one.
 */
import type { AnomalyKind } from "../anomalies.js";
import type { Operation } from "../operations.js";

/** Why an operation cannot have happened in a state, if the model can say it. */
export interface Refusal {
  readonly kind: AnomalyKind;
  /** The reason: a clause that continues after "because". */
  readonly because: string;
}

/** One transition of the specification: the effect of an operation, with its answer. */
export interface Action<State> {
  /** Steps with equal ids are interchangeable: same effect, same answer. */
  readonly id: string;
  /** It never changes the state. The search takes such a step as soon as it is legal. */
  readonly isPure: boolean;
  /**
   * The state afterwards, or `undefined` if it could not have happened. Must not change `state`.
   */
  readonly apply: (state: State) => State | undefined;
  /** For a state that `apply` refuses; called only for messages. */
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
  /** The operation it belongs to; absent if it happens by itself, such as the end of a lease. */
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
  /**
   * All operations on these keys, in the order of `invokedAt`, including the ones that are not a
   * step because nothing follows from them: an explanation shows them.
   */
  readonly operations: readonly Operation[];
}
