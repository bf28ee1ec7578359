/**
 * Messages that clients have begun and not finished, over all connections of a port. Their bytes
 * stay in memory until the rest arrives, so there is one memory limit for all of them and a time
 * limit for each. The oldest one is cut off first, because an honest client soon finishes what it
 * begins.
 *
 * Time is counted in ticks, like all silence in `net` (`ticker.ts`).
 */
import type { GatewayConnection } from "./connection.js";

/**
 * Memory that a piece of a frame occupies in addition to its bytes: the buffer and its list entry.
 */
const PIECE_BYTES = 512;

export class UnfinishedFrames {
  readonly #bytesMax: number;
  readonly #ticksMax: number;
  /** Frees the memory at once. */
  readonly #cut: (connection: GatewayConnection, reason: string) => void;
  /** The tick at which each began its unfinished message, the oldest first. */
  readonly #begun = new Map<GatewayConnection, number>();
  #bytes = 0;
  #tick = 0;

  constructor(
    bytesMax: number,
    ticksMax: number,
    cut: (connection: GatewayConnection, reason: string) => void,
  ) {
    this.#bytesMax = bytesMax;
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
    if (connection.unfinishedBytes === 0) this.#begun.set(connection, this.#tick);
    connection.unfinishedBytes += bytes + PIECE_BYTES;
    this.#bytes += bytes + PIECE_BYTES;
    for (const oldest of this.#begun.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#end(oldest, "this node has too many unfinished frames, and this one is the oldest");
    }
  }

  /** A message or its connection has ended. */
  finished(connection: GatewayConnection): void {
    if (connection.unfinishedBytes === 0) return;
    this.#bytes -= connection.unfinishedBytes;
    connection.unfinishedBytes = 0;
    this.#begun.delete(connection);
  }

  tick(): void {
    this.#tick += 1;
    for (const [connection, tick] of this.#begun) {
      if (this.#tick - tick <= this.#ticksMax) break;
      this.#end(connection, "a frame was not finished in time");
    }
  }

  #end(connection: GatewayConnection, reason: string): void {
    this.finished(connection);
    this.#cut(connection, reason);
  }
}
