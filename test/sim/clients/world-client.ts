/** A client as the rest of a run knows it, whichever way it speaks to the cluster. Types only. */

export interface WorldClient {
  /** Behind the nodes. */
  readonly host: number;
  /** The number of its session; 0 while it has none. */
  readonly session: number;
  /** Sequenced commands that were answered by an entry. */
  readonly answeredCount: number;
  /** Nothing asked, nothing waited for, nothing held. */
  readonly isIdle: boolean;
  /** For people: what keeps it from being idle. */
  readonly business: string;
  /** Whether it counts on its lease at this moment. */
  readonly trustsLease: boolean;
  /** Gives everything back and asks for nothing more. */
  isDraining: boolean;
  /** Whether it counts on a hold of this token at this moment. */
  trusts(token: number): boolean;
  start(): void;
  pause(): void;
  resume(): void;
  /** In the turn in which it next begins to count on a hold. */
  atNextGrant(task: () => void): void;
  /** From now on these nodes are to be preferred. */
  prefer(nodes: readonly number[]): void;
  reconnect(): void;
  /** Acts at once, beyond its plan: for the end of a run. */
  allow(actions: number): void;
}
