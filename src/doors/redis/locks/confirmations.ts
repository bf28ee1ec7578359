/**
 * Which leases this node has confirmed to the clients that took them here. Redlock asks several servers and counts
 * who says OK. The nodes of one cluster have one lock: the first of them takes it, and the others find
 * that the value holds it already. So with plain SET with NX the client never gets its quorum.
 *
 * By default that is noticed and said, and the answer stays nil: the same value may come from two
 * programs, and must not take twice. Where values are unique to each acquire (`--redis-redlock`), each
 * node confirms a lease once, as if it were a server of its own.
 */
const KEPT_MAX = 10_000;
/** Different values that took at one node and asked at another, until that is the habit of a client. */
const VALUES_MIN = 3;

export const REDLOCK_FOUND =
  "clients set one value at several nodes, as Redlock does over independent servers; the nodes of one " +
  "cluster have one lock, so these clients never get a majority: give them one client with all nodes " +
  "as sentinels, or start the nodes with --redis-redlock if values are unique to each acquire";

export class Confirmations {
  /** Tokens by lease, in the order of the takes. */
  readonly #tokens = new Map<string, number>();
  readonly #values = new Set<string>();
  readonly #onRedlock: () => void;

  /** `onRedlock`: it is known now that clients use Redlock over this cluster. Called once. */
  constructor(onRedlock: () => void) {
    this.#onRedlock = onRedlock;
  }

  /** Whether clients were seen that use Redlock over this cluster, and cannot get a lock so. */
  get isRedlockFound(): boolean {
    return this.#values.size >= VALUES_MIN;
  }

  /** This node has said OK. */
  note(key: string, owner: string, token: number): void {
    const name = nameOf(key, owner);
    this.#tokens.delete(name);
    this.#tokens.set(name, token);
    if (this.#tokens.size <= KEPT_MAX) return;
    for (const oldest of this.#tokens.keys()) {
      this.#tokens.delete(oldest);
      return;
    }
  }

  /** The token of the last lease that was confirmed; `undefined`: none was, as far as is known. */
  tokenOf(key: string, owner: string): number | undefined {
    return this.#tokens.get(nameOf(key, owner));
  }

  /** The owner gives the key back at this node. Returns whether its lease was confirmed here. */
  end(key: string, owner: string): boolean {
    return this.#tokens.delete(nameOf(key, owner));
  }

  /** A take was refused because the same owner has the key, and did not take it at this node. */
  noteElsewhere(owner: string): void {
    if (this.isRedlockFound) return;
    this.#values.add(owner);
    if (this.isRedlockFound) this.#onRedlock();
  }
}

function nameOf(key: string, owner: string): string {
  return `${key.length} ${key}${owner}`;
}
