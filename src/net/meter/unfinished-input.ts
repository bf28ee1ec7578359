/**
 * What clients have begun and not finished: messages of WebSocket, commands of Redis, requests of HTTP.
 * Their bytes stay in memory until the rest arrives, so there is one memory limit for all of them,
 * one for the inputs of an address or identity, and a time limit for each. The oldest one is cut
 * off first, because an honest client soon finishes what it begins.
 *
 * Time is counted in ticks, like all silence in `net` (`ticker.ts`).
 */
import { isOwnMachine } from "../gateway/socket-limits.js";
import type { LimitedBy, PortLimits } from "../port-limits.js";
import { startTicker, type Ticker } from "../ticker.js";

/** Memory that a piece occupies in addition to its bytes: the buffer and its list entry. */
export const PIECE_COST_BYTES = 512;

export interface UnfinishedTuning {
  /**
   * Bytes of memory that begun and unfinished input may occupy, over all connections; beyond it the
   * oldest ones are cut off.
   */
  readonly unfinishedBytesMax: number;
  /** The limit for the connections of one address, and for the connections of one identity. */
  readonly addressUnfinishedBytesMax: number;
  readonly identityUnfinishedBytesMax: number;
  /** How long a client may take to finish what it has begun. */
  readonly frameTimeoutMs: number;
}

export const UNFINISHED_DEFAULTS: UnfinishedTuning = Object.freeze({
  unfinishedBytesMax: 64 << 20,
  addressUnfinishedBytesMax: Number.POSITIVE_INFINITY,
  identityUnfinishedBytesMax: Number.POSITIVE_INFINITY,
  frameTimeoutMs: 30_000,
});

/** A connection with something unfinished. */
export interface Beginner {
  /** As `addressGroup` has it. */
  readonly address: string;
  /** The identity that is limited with it; "": none. */
  readonly limitedIdentity: string;
  /** Whether this node does not read from it, so that it cannot finish. */
  readonly isPaused: boolean;
  /** Ends the connection and frees its memory at once. */
  cutOffUnfinished(reason: string): void;
}

interface Begun {
  /** The tick of its beginning, later by those in which its connection was not read. */
  tick: number;
  bytes: number;
  /** With whose bytes its own are counted; "": with nobody's. */
  readonly address: string;
  readonly identity: string;
}

/** The bytes of those who share an address, or an identity. */
class SharedBytes {
  readonly by: LimitedBy;
  readonly bytesMax: number;
  readonly #bytes = new Map<string, number>();

  constructor(by: LimitedBy, bytesMax: number) {
    this.by = by;
    this.bytesMax = bytesMax;
  }

  of(name: string): number {
    return this.#bytes.get(name) ?? 0;
  }

  add(name: string, bytes: number): void {
    if (name === "") return;
    const sum = this.of(name) + bytes;
    if (sum > 0) this.#bytes.set(name, sum);
    else this.#bytes.delete(name);
  }
}

const TICKS_PER_TIMEOUT = 8;

export class UnfinishedInput {
  readonly #tickMs: number;
  readonly #bytesMax: number;
  readonly #limits: PortLimits | undefined;
  /** The oldest first. */
  readonly #begun = new Map<Beginner, Begun>();
  readonly #shared: readonly SharedBytes[];
  #bytes = 0;
  #tick = 0;
  /** While something is unfinished. */
  #ticker: Ticker | undefined;

  constructor(tuning: Partial<UnfinishedTuning>, limits: PortLimits | undefined) {
    const {
      unfinishedBytesMax,
      addressUnfinishedBytesMax,
      identityUnfinishedBytesMax,
      frameTimeoutMs,
    } = { ...UNFINISHED_DEFAULTS, ...tuning };
    this.#bytesMax = unfinishedBytesMax;
    this.#shared = [
      new SharedBytes("address", addressUnfinishedBytesMax),
      new SharedBytes("identity", identityUnfinishedBytesMax),
    ];
    this.#limits = limits;
    this.#tickMs = Math.max(1, frameTimeoutMs / TICKS_PER_TIMEOUT);
  }

  /** Bytes of memory counted for all connections, never fewer than are really occupied. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What is counted of that connection; 0 between two messages. */
  bytesOf(beginner: Beginner): number {
    return this.#begun.get(beginner)?.bytes ?? 0;
  }

  /** How much memory the connection keeps now for what is not finished; 0: none. */
  keeps(beginner: Beginner, bytes: number): void {
    if (bytes === 0) {
      this.finished(beginner);
      return;
    }
    const begun = this.#begun.get(beginner) ?? this.#begin(beginner);
    const added = bytes - begun.bytes;
    begun.bytes = bytes;
    this.#bytes += added;
    for (const shared of this.#shared) {
      shared.add(begun[shared.by], added);
      if (added > 0) this.#limit(shared, begun[shared.by], added);
    }
    for (const oldest of this.#begun.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#end(oldest, "this node has too much unfinished input, and this is the oldest");
    }
  }

  /** A message or its connection has ended. */
  finished(beginner: Beginner): void {
    const begun = this.#begun.get(beginner);
    if (begun === undefined) return;
    this.#begun.delete(beginner);
    this.#bytes -= begun.bytes;
    for (const shared of this.#shared) shared.add(begun[shared.by], -begun.bytes);
  }

  /** A part of the time is over that clients have. */
  tick(): void {
    this.#tick += 1;
    if (this.#begun.size === 0) {
      this.#ticker?.stop();
      this.#ticker = undefined;
    }
    for (const [beginner, begun] of this.#begun) {
      if (beginner.isPaused) begun.tick += 1;
      else if (this.#tick - begun.tick > TICKS_PER_TIMEOUT)
        this.#end(beginner, "what it began was not finished in time");
    }
  }

  #begin(beginner: Beginner): Begun {
    const { address, limitedIdentity: identity } = beginner;
    const begun: Begun = {
      ...{ tick: this.#tick, bytes: 0, identity },
      address: isOwnMachine(address) ? "" : address,
    };
    this.#begun.set(beginner, begun);
    this.#ticker ??= startTicker(this.#tickMs, () => this.tick());
    return begun;
  }

  /** `added` bytes of `name` have just been added. */
  #limit(shared: SharedBytes, name: string, added: number): void {
    const { by, bytesMax } = shared;
    const bytes = shared.of(name);
    if (bytes <= bytesMax) return;
    if (this.#limits?.isEnforced === false) {
      if (bytes - added <= bytesMax) this.#limits.note(by, "unfinishedBytesMax", name, bytesMax);
      return;
    }
    for (const [oldest, begun] of this.#begun) {
      if (shared.of(name) <= bytesMax) break;
      if (begun[by] !== name) continue;
      this.#limits?.note(by, "unfinishedBytesMax", name, bytesMax);
      this.#end(oldest, `this ${by} has too much unfinished input, and this is the oldest`);
    }
  }

  #end(beginner: Beginner, reason: string): void {
    this.finished(beginner);
    beginner.cutOffUnfinished(reason);
  }
}
