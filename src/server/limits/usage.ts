/**
 * What the clients of one identity, or from one address, use of this node now, and what they may
 * spend in a second.
 */
import type { ClientConnection, LimitedBy } from "../../net/index.js";
import type { ClientLimits } from "../options.js";
import { TokenBucket } from "./token-bucket.js";

export class Usage {
  readonly by: LimitedBy;
  /** The name of the identity, or the address; chosen by strangers. */
  readonly name: string;
  limits: ClientLimits;
  commands: TokenBucket;
  reads: TokenBucket;
  connections = 0;
  watches = 0;
  /** Reads without an answer. */
  readsWaiting = 0;
  /** Bytes of commands that were admitted and not executed yet. */
  keptBytes = 0;

  /** @param limits `Infinity`: no limit */
  constructor(by: LimitedBy, name: string, limits: ClientLimits, nowMs: number) {
    this.by = by;
    this.name = name;
    this.limits = limits;
    this.commands = new TokenBucket(limits.commandsPerSecondMax, nowMs);
    this.reads = new TokenBucket(limits.readCostPerSecondMax, nowMs);
  }

  /**
   * It has these limits from now on. A limit that differs from before begins with nothing spent.
   */
  limitBy(limits: ClientLimits, nowMs: number): void {
    if (limits === this.limits) return;
    this.limits = limits;
    this.commands = new TokenBucket(limits.commandsPerSecondMax, nowMs);
    this.reads = new TokenBucket(limits.readCostPerSecondMax, nowMs);
  }

  /** Whether a new one would be the same. */
  isOver(nowMs: number): boolean {
    if (this.connections > 0) return false;
    this.commands.fill(nowMs);
    this.reads.fill(nowMs);
    return this.commands.isFull && this.reads.isFull;
  }
}

const { POSITIVE_INFINITY: NONE } = Number;

export const NO_LIMITS: ClientLimits = Object.freeze({
  connectionsMax: NONE,
  commandsPerSecondMax: NONE,
  readCostPerSecondMax: NONE,
  watchesMax: NONE,
  unfinishedBytesMax: NONE,
});

/** For clients that are not counted, or not yet. What it counts means nothing. */
export const UNCOUNTED = new Usage("address", "", NO_LIMITS, 0);

/**
 * What a connection has of the limits of this node. Commands, reads and watches of a connection count
 * for its identity and for its address.
 */
export class Share {
  identity: Usage = UNCOUNTED;
  address: Usage = UNCOUNTED;
  /** Whether it is counted for an identity; it is from its first request on. */
  isCounted = false;
  /** Whose allowance is spent, so that nothing is read from the connection. */
  heldBackBy: Usage | undefined = undefined;
  #watches = 0;

  /** The connection has that many watches now. */
  countWatches(count: number): void {
    const change = count - this.#watches;
    this.#watches = count;
    this.identity.watches += change;
    this.address.watches += change;
  }

  /** A request was read and decoded, whatever becomes of it. */
  payRequest(): void {
    this.identity.commands.pay(1);
    this.address.commands.pay(1);
  }

  /** A read cost more than was taken for it when it came. */
  chargeRead(cost: number): void {
    this.identity.reads.charge(cost);
    this.address.reads.charge(cost);
  }
}

export interface LimitedClient {
  readonly connection: ClientConnection;
  readonly credential: number;
  readonly share: Share;
  /** The number of the identity with which it shares its turns; `undefined`: it has its own. */
  turnOf: number | undefined;
}
