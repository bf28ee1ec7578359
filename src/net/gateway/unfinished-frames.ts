/**
 * Messages that clients have begun and not finished, over all connections of a port. Their bytes
 * stay in memory until the rest arrives, so there is one memory limit for all of them, one for those
 * of an address or identity, and a time limit for each. The oldest one is cut off first, because an
 * honest client soon finishes what it begins.
 *
 * Time is counted in ticks, like all silence in `net` (`ticker.ts`).
 */
import type { GatewayConnection } from "./connection.js";
import type { GatewayTuning, PortLimits } from "./options.js";
import { isOwnMachine } from "./socket-limits.js";

/**
 * Memory that a piece of a frame occupies in addition to its bytes: the buffer and its list entry.
 */
const PIECE_BYTES = 512;

type UnfinishedTuning = Pick<
  GatewayTuning,
  "unfinishedBytesMax" | "addressUnfinishedBytesMax" | "identityUnfinishedBytesMax"
>;

interface Begun {
  /** The tick of its beginning, later by those in which its connection was not read. */
  tick: number;
  /** With whose bytes its own are counted; "": with nobody's. */
  readonly address: string;
  readonly identity: string;
}

/** The bytes of those who share an address, or an identity. */
class SharedBytes {
  readonly by: "address" | "identity";
  readonly bytesMax: number;
  readonly #bytes = new Map<string, number>();

  constructor(by: "address" | "identity", bytesMax: number) {
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

export class UnfinishedFrames {
  readonly #bytesMax: number;
  readonly #limits: PortLimits;
  readonly #ticksMax: number;
  /** Frees the memory at once. */
  readonly #cut: (connection: GatewayConnection, reason: string) => void;
  /** The oldest first. */
  readonly #begun = new Map<GatewayConnection, Begun>();
  readonly #shared: readonly SharedBytes[];
  #bytes = 0;
  #tick = 0;

  constructor(
    tuning: UnfinishedTuning,
    limits: PortLimits,
    ticksMax: number,
    cut: (connection: GatewayConnection, reason: string) => void,
  ) {
    this.#bytesMax = tuning.unfinishedBytesMax;
    this.#shared = [
      new SharedBytes("address", tuning.addressUnfinishedBytesMax),
      new SharedBytes("identity", tuning.identityUnfinishedBytesMax),
    ];
    this.#limits = limits;
    this.#ticksMax = ticksMax;
    this.#cut = cut;
  }

  /**
   * Bytes of memory counted for all connections, never fewer than are really occupied. At most
   * `bytesMax`.
   */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Some bytes arrived; those of whole messages have already been delivered. `isBetween` says that
   * nothing is left of them. Until then every piece is counted in full, because any part of a piece
   * keeps all of it in memory.
   */
  received(connection: GatewayConnection, bytes: number, isBetween: boolean): void {
    if (isBetween) {
      this.finished(connection);
      return;
    }
    const begun = this.#begun.get(connection) ?? this.#begin(connection);
    const added = bytes + PIECE_BYTES;
    connection.unfinishedBytes += added;
    this.#bytes += added;
    for (const shared of this.#shared) {
      shared.add(begun[shared.by], added);
      this.#limit(shared, begun[shared.by], added);
    }
    for (const oldest of this.#begun.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#end(oldest, "this node has too many unfinished frames, and this one is the oldest");
    }
  }

  /** A message or its connection has ended. */
  finished(connection: GatewayConnection): void {
    const { unfinishedBytes } = connection;
    if (unfinishedBytes === 0) return;
    this.#bytes -= unfinishedBytes;
    const begun = this.#begun.get(connection);
    for (const shared of this.#shared) shared.add(begun?.[shared.by] ?? "", -unfinishedBytes);
    connection.unfinishedBytes = 0;
    this.#begun.delete(connection);
  }

  tick(): void {
    this.#tick += 1;
    for (const [connection, begun] of this.#begun) {
      if (connection.isPaused) begun.tick += 1;
      else if (this.#tick - begun.tick > this.#ticksMax)
        this.#end(connection, "a frame was not finished in time");
    }
  }

  #begin(connection: GatewayConnection): Begun {
    const { address, limitedIdentity: identity } = connection;
    const begun: Begun = {
      ...{ tick: this.#tick, identity },
      address: isOwnMachine(address) ? "" : address,
    };
    this.#begun.set(connection, begun);
    return begun;
  }

  /** `added` bytes of `name` have just been added. */
  #limit(shared: SharedBytes, name: string, added: number): void {
    const { by, bytesMax } = shared;
    const bytes = shared.of(name);
    if (bytes <= bytesMax) return;
    if (!this.#limits.isEnforced) {
      if (bytes - added <= bytesMax) this.#limits.note(by, "unfinishedBytesMax", name, bytesMax);
      return;
    }
    for (const [oldest, begun] of this.#begun) {
      if (shared.of(name) <= bytesMax) break;
      if (begun[by] !== name) continue;
      this.#limits.note(by, "unfinishedBytesMax", name, bytesMax);
      this.#end(oldest, `this ${by} has too many unfinished frames, and this one is the oldest`);
    }
  }

  #end(connection: GatewayConnection, reason: string): void {
    this.finished(connection);
    this.#cut(connection, reason);
  }
}
