/**
 * Finds the clients that are not there: newcomers that ask for nothing, and connections whose other
 * end is gone without a word. Looks are spread over the ping interval, so that ten thousand idle
 * clients cost a little on every tick and never much on one.
 */
import type { GatewayConnection } from "./gateway-connection.js";
import type { GatewayTuning } from "./gateway-options.js";

const TICKS_PER_TIMEOUT = 16;
const TICK_MS_MIN = 10;
/** Looks at a silent connection, a ping with each, before it is cut off. */
const SILENT_LOOKS_MAX = 3;

export class GatewayLiveness {
  readonly tickMs: number;
  readonly #newcomerTicks: number;
  readonly #onTimeout: (connection: GatewayConnection) => void;
  /** By number modulo the count; each set is looked at once per ping interval. */
  readonly #groups: Set<GatewayConnection>[];
  /** Tick of arrival, in the order of arrival. */
  readonly #newcomers = new Map<GatewayConnection, number>();
  #tick = 0;

  constructor(tuning: GatewayTuning, onTimeout: (connection: GatewayConnection) => void) {
    const { handshakeTimeoutMs, pingIntervalMs } = tuning;
    const shortest = Math.min(handshakeTimeoutMs, pingIntervalMs);
    this.tickMs = Math.max(TICK_MS_MIN, shortest / TICKS_PER_TIMEOUT);
    this.#newcomerTicks = Math.ceil(handshakeTimeoutMs / this.tickMs);
    const groups = Math.max(1, Math.ceil(pingIntervalMs / this.tickMs));
    this.#groups = Array.from({ length: groups }, () => new Set());
    this.#onTimeout = onTimeout;
  }

  add(connection: GatewayConnection): void {
    this.#newcomers.set(connection, this.#tick);
    this.#groupOf(connection.id).add(connection);
  }

  /** The connection asked for something: it is no newcomer any more. */
  spoke(connection: GatewayConnection): void {
    this.#newcomers.delete(connection);
  }

  remove(connection: GatewayConnection): void {
    this.#newcomers.delete(connection);
    this.#groupOf(connection.id).delete(connection);
  }

  tick(): void {
    this.#tick += 1;
    for (const [connection, arrival] of this.#newcomers) {
      if (this.#tick - arrival <= this.#newcomerTicks) break;
      this.#newcomers.delete(connection);
      this.#onTimeout(connection);
    }
    for (const connection of this.#groupOf(this.#tick)) look(connection);
  }

  #groupOf(number: number): Set<GatewayConnection> {
    return this.#groups[number % this.#groups.length] as Set<GatewayConnection>;
  }
}

function look(connection: GatewayConnection): void {
  if (!connection.isOpen) return;
  connection.controlFrames = 0;
  if (connection.isHeard) {
    connection.isHeard = false;
    connection.silentLooks = 0;
    return;
  }
  connection.silentLooks += 1;
  if (connection.silentLooks > SILENT_LOOKS_MAX) connection.cutOff();
  else connection.ping();
}
