/**
 * What clients have begun to say and not finished, over all connections of a port: it lies in memory
 * until the rest comes, so there is one limit for all of it and a time for each. The oldest goes
 * first, because an honest client finishes soon what it began.
 *
 * Time is counted in ticks, like all silence in `net` (`ticker.ts`).
 */
import type { GatewayConnection } from "./connection.js";

/** What a piece of a frame takes beside its bytes: the buffer and its entry in a list. */
const PIECE_BYTES = 512;

export class UnfinishedFrames {
  readonly #bytesMax: number;
  readonly #ticksMax: number;
  /** Takes the memory back at once. */
  readonly #cut: (connection: GatewayConnection, reason: string) => void;
  /** Tick in which each began what it has not finished, the oldest first. */
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

  /** What is kept of all connections, never less than it takes. At most `bytesMax`. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Some bytes came; those of whole messages were passed on already. `isBetween`: nothing is left
   * of them. Until then every piece is counted in full, since any part of it keeps all of it.
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
      this.#end(oldest, "too much is unfinished on this node, and this frame for the longest time");
    }
  }

  /** A message came to its end, or the connection did. */
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
