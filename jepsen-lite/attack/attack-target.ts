/**
 * The system under attack: the nodes, the network between them, the clients. Nemeses act on it; it
 * decides nothing itself.
 */
import type { ClientProcess } from "../clients/client-process.js";
import type { Network } from "../cluster/network.js";
import type { NodeProcess } from "../cluster/node-process.js";
import type { Volume } from "../cluster/volumes.js";
import type { Target } from "../nemeses/nemesis.js";
import { type Admin, connectAdmin, HoldfastError } from "../sdk.js";
import type { SystemName } from "../systems/system.js";

const ADMIN_MS_MAX = 3_000;

export interface TargetParts {
  readonly system: SystemName;
  readonly nodes: readonly NodeProcess[];
  readonly network: Network;
  readonly volumes: readonly Volume[];
  readonly ttlMs: number;
  readonly signal: AbortSignal;
  readonly accessToken: string | undefined;
  readonly clients: () => readonly ClientProcess[];
  readonly nextHolder: (milliseconds: number) => Promise<ClientProcess | undefined>;
  readonly nextHandOver: (milliseconds: number) => Promise<ClientProcess | undefined>;
  readonly replaceClient: (client: ClientProcess) => Promise<void>;
}

export class AttackTarget implements Target {
  readonly #parts: TargetParts;
  readonly #reserved = new Set<number>();
  /** From the logs of the nodes. */
  leaderId: number | undefined;

  constructor(parts: TargetParts) {
    this.#parts = parts;
  }

  get nodes(): readonly NodeProcess[] {
    return this.#parts.nodes;
  }

  get clients(): readonly ClientProcess[] {
    return this.#parts.clients();
  }

  get network(): Network {
    return this.#parts.network;
  }

  get volumes(): readonly Volume[] {
    return this.#parts.volumes;
  }

  get ttlMs(): number {
    return this.#parts.ttlMs;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  get accessToken(): string | undefined {
    return this.#parts.accessToken;
  }

  get minority(): number {
    return Math.floor((this.nodes.length - 1) / 2);
  }

  nextHolder(milliseconds: number): Promise<ClientProcess | undefined> {
    return this.#parts.nextHolder(milliseconds);
  }

  nextHandOver(milliseconds: number): Promise<ClientProcess | undefined> {
    return this.#parts.nextHandOver(milliseconds);
  }

  replaceClient(client: ClientProcess): Promise<void> {
    return this.#parts.replaceClient(client);
  }

  reserve(id: number): (() => void) | undefined {
    if (this.#reserved.has(id) || this.#reserved.size >= this.minority) return undefined;
    this.#reserved.add(id);
    return () => this.#reserved.delete(id);
  }

  /** Whether its disk may be damaged, so that it may end by itself. */
  isReserved(id: number): boolean {
    return this.#reserved.has(id);
  }

  async admin<T>(work: (admin: Admin) => Promise<T>): Promise<T | undefined> {
    const { system } = this.#parts;
    if (system !== "holdfast") throw new RangeError(`${system} has no administrative interface`);
    const endpoints = this.nodes.map(({ plan }) => plan.endpoint);
    try {
      const { signal, accessToken: token } = this;
      const options = { endpoints, token, timeoutMs: ADMIN_MS_MAX, signal };
      await using admin = await connectAdmin(options);
      return await work(admin);
    } catch (error) {
      // Under faults there may be no leader, or a change may be refused: the run has not failed
      // then.
      if (error instanceof HoldfastError || this.signal.aborted) return undefined;
      throw error;
    }
  }
}
