/**
 * The places for clients, all together and of each address. A client is a WebSocket connection, or a
 * socket whose requests a door answers. A client that has a place keeps it: nothing here may end a
 * client.
 */
import type { PortLimits } from "../port-limits.js";
import { AddressTally, limitsFor, type SocketLimits } from "./socket-limits.js";

export class ClientPlaces {
  readonly #limits: SocketLimits;
  readonly #portLimits: PortLimits;
  readonly #addresses = new AddressTally();
  #taken = 0;
  #refusedTotal = 0;

  constructor(limits: SocketLimits, portLimits: PortLimits) {
    this.#limits = limits;
    this.#portLimits = portLimits;
  }

  get refusedTotal(): number {
    return this.#refusedTotal;
  }

  take(address: string): void {
    this.#taken += 1;
    this.#addresses.add(address);
  }

  leave(address: string): void {
    this.#taken -= 1;
    this.#addresses.remove(address);
  }

  /**
   * Why a client from that address is refused because there is no place; `undefined` if there is
   * one.
   */
  refuse(address: string): string | undefined {
    const reason = this.#fullFor(address);
    if (reason !== undefined) this.#refusedTotal += 1;
    return reason;
  }

  /** An address has as many connections as it may have: counts that, and returns whether it counts. */
  isLimitOf(address: string): boolean {
    const { connectionsMax } = limitsFor(this.#limits, address);
    this.#portLimits.note("address", "connectionsMax", address, connectionsMax);
    return this.#portLimits.isEnforced;
  }

  #fullFor(address: string): string | undefined {
    const { connectionsMax } = this.#limits;
    if (this.#taken >= connectionsMax) return `connectionsMax (${connectionsMax}) is reached`;
    const { connectionsMax: max } = limitsFor(this.#limits, address);
    if (this.#addresses.count(address) < max || !this.isLimitOf(address)) return undefined;
    return `${address} has all the connections that one address may have (${max})`;
  }
}
