/** What a seed decides of one client, as plain data. */

/** Shares of what a client does, each 0 … 1. */
export interface ClientMix {
  readonly reconnect: number;
  readonly close: number;
  readonly inspect: number;
  /** Gives up what it saw others hold. */
  readonly meddle: number;
  readonly cancel: number;
  readonly release: number;
  /** The share of acquires of several keys at once, two if nothing is said of it. */
  readonly several: number;
  readonly severalMost?: number;
  readonly shared: number;
  /** In applications: begins one more watch, whose connection may break at once. */
  readonly watch?: number;
}

/** Shares of what a client does with locks beyond acquiring and releasing them, each 0 … 1. */
export interface LockMix {
  /** Shares of the acquires: what they ask for and how. */
  readonly permits: number;
  readonly priority: number;
  /** By a task that has other claims, instead of one of its own. */
  readonly nested: number;
  /** In applications: asks once more for what a task holds. */
  readonly reentrant: number;
  readonly maxHold: number;
  readonly minHold: number;
  readonly lockDelay: number;
  readonly value: number;
  /** Values are of any length, or none; applications change theirs, too. */
  readonly anyValues?: boolean;
  readonly steal: number;
  /** Without a search for cycles of waits. */
  readonly undetected: number;
  /** Shares of the moments to act. */
  readonly upgrade: number;
  readonly downgrade: number;
  readonly update: number;
  readonly revoke: number;
  readonly endSession: number;
  readonly setLimit: number;
  readonly handOver: number;
  readonly adopt: number;
  /** Hands over all that it holds, and closes its session. */
  readonly depart: number;
  readonly changeSetting: number;
  /** The share of releases that are said twice in a row. */
  readonly endAgain: number;
  /** Uses what a hold guards, or did: nothing keeps a client that has lost it from trying. */
  readonly write: number;
}

export interface ClientPlan {
  /** Behind the nodes; also the number in its nonces. */
  readonly host: number;
  /** The protocol by itself, or by the SDK that applications use, over sockets of bytes. */
  readonly speaks: "protocol" | "sdk";
  readonly startMs: number;
  readonly actions: number;
  readonly thinkMs: number;
  readonly ttlMs: number;
  /** Its system has a clock that goes on while the machine is suspended. */
  readonly countsSleep: boolean;
  readonly mix: ClientMix;
  readonly locks: LockMix;
}
