/**
 * Finds dead and useless connections: newcomers that send no request, clients that no longer need
 * their connection, and connections whose other end has disappeared. The checks are spread over the
 * ping interval, so that ten thousand idle clients cost a little on every tick and never much on
 * one.
 */
import type { GatewayConnection } from "./connection.js";
import type { GatewayTuning } from "./options.js";

const TICKS_PER_TIMEOUT = 16;
const TICK_MS_MIN = 10;
/** Checks of a silent connection, each with a ping, before it is cut off. */
const SILENT_LOOKS_MAX = 3;

export interface LivenessEvents {
  /** It has never sent a request. */
  onNewcomerTimeout(connection: GatewayConnection): void;
  /** It has neither a session nor a watch, and has sent no request for a while. */
  onIdle(connection: GatewayConnection): void;
}

export class GatewayLiveness {
  readonly tickMs: number;
  readonly #newcomerTicks: number;
  readonly #idleLooksMax: number;
  readonly #events: LivenessEvents;
  /** By connection number modulo the group count; each group is checked once per ping interval. */
  readonly #groups: Set<GatewayConnection>[];
  /** The tick of arrival of each, in the order of arrival. */
  readonly #newcomers = new Map<GatewayConnection, number>();
  #tick = 0;

  constructor(tuning: GatewayTuning, events: LivenessEvents) {
    const { handshakeTimeoutMs, pingIntervalMs, idleTimeoutMs } = tuning;
    const shortest = Math.min(handshakeTimeoutMs, pingIntervalMs);
    this.tickMs = Math.max(TICK_MS_MIN, shortest / TICKS_PER_TIMEOUT);
    this.#newcomerTicks = Math.ceil(handshakeTimeoutMs / this.tickMs);
    this.#idleLooksMax = Math.ceil(idleTimeoutMs / pingIntervalMs);
    const groups = Math.max(1, Math.ceil(pingIntervalMs / this.tickMs));
    this.#groups = Array.from({ length: groups }, () => new Set());
    this.#events = events;
  }

  add(connection: GatewayConnection): void {
    this.#newcomers.set(connection, this.#tick);
    this.#groupOf(connection.id).add(connection);
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
      if (!hasUse(connection)) this.#events.onNewcomerTimeout(connection);
    }
    for (const connection of this.#groupOf(this.#tick)) this.#look(connection);
  }

  #look(connection: GatewayConnection): void {
    if (!connection.isOpen) return;
    lookForSilence(connection);
    if (hasUse(connection)) {
      // Remove it here: a newcomer that has sent a request is not a newcomer, and `hasAsked` is
      // cleared below.
      this.#newcomers.delete(connection);
      connection.hasAsked = false;
      connection.idleLooks = 0;
      return;
    }
    connection.idleLooks += 1;
    if (connection.idleLooks > this.#idleLooksMax) this.#events.onIdle(connection);
  }

  #groupOf(number: number): Set<GatewayConnection> {
    return this.#groups[number % this.#groups.length] as Set<GatewayConnection>;
  }
}

/** What a connection that is not read may ask for is not known. */
function hasUse(connection: GatewayConnection): boolean {
  return connection.hasAsked || connection.isUsed || connection.isPaused;
}

function lookForSilence(connection: GatewayConnection): void {
  connection.controlFrames = 0;
  if (connection.isHeard || connection.isPaused) {
    connection.isHeard = false;
    connection.silentLooks = 0;
    return;
  }
  connection.silentLooks += 1;
  if (connection.silentLooks > SILENT_LOOKS_MAX) connection.cutOff();
  else connection.ping();
}
