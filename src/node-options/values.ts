/** The values of options that are more than a number, a text or a switch. */

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A node of a cluster and the address at which its peers reach it. */
export interface NodeAddress {
  readonly id: number;
  readonly address: HostPort;
}

/**
 * What the clients of one identity, or from one address, may have and ask for at one node. 0: no
 * limit.
 */
export interface ClientLimits {
  readonly connectionsMax: number;
  /** Keepalives do not count, and what gives something back is counted but never refused. */
  readonly commandsPerSecondMax: number;
  /** In lines of holds and waiters; see `reads/query-answers.ts`. */
  readonly readCostPerSecondMax: number;
  readonly watchesMax: number;
  /** Memory for messages that have begun and not ended. */
  readonly unfinishedBytesMax: number;
}

/** The name of each limit where people write it. */
export const CLIENT_LIMIT_NAMES: Readonly<Record<keyof ClientLimits, string>> = Object.freeze({
  connectionsMax: "connections",
  commandsPerSecondMax: "commands",
  readCostPerSecondMax: "reads",
  watchesMax: "watches",
  unfinishedBytesMax: "unfinished",
});
