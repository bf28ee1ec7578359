/**
 * The pages of a node that takes no part in its cluster: it listens on the client port, sends
 * clients away, and says why. It needs none of its data for that.
 */
import {
  createGateway,
  HealthPort,
  type HttpAnswer,
  problemAnswer,
  type TransportTls,
} from "../../net/index.js";
import type { NodeRole } from "../../protocol/index.js";
import { VERSION } from "../version.js";
import { endpointOf } from "./addresses.js";
import type { ResolvedOptions } from "./resolve-options.js";

const TEXT = "text/plain; charset=utf-8";

export interface StandbyState {
  readonly role: Extract<NodeRole, "quarantined" | "starting">;
  /** One line for people, on `/` and `/readyz`. */
  readonly why: string;
  /** The reason that clients get. */
  readonly closeReason: string;
  /** On `/status`, in addition to what every node shows. */
  readonly details: object;
  /** The whole of `/metrics`. */
  readonly metrics: string;
}

export class StandbyPages {
  readonly #gateway: ReturnType<typeof createGateway>;
  readonly #health: HealthPort;
  readonly #options: ResolvedOptions;
  readonly #clusterId: string;
  readonly #state: StandbyState;

  constructor(
    options: ResolvedOptions,
    clusterId: string,
    tls: TransportTls | undefined,
    state: StandbyState,
  ) {
    const { listen, allowedHosts, log } = options;
    const onRefused = (reason: string): void => log("warn", "client refused", { reason });
    const pageOf = (path: string): HttpAnswer => this.#pageOf(path);
    this.#gateway = createGateway({ listen, allowedHosts, tls, onRefused });
    this.#health = new HealthPort(allowedHosts, pageOf, onRefused);
    this.#options = options;
    this.#clusterId = clusterId;
    this.#state = state;
  }

  /**
   * Resolves when the pages can be read. Rejects with `UNAVAILABLE` if the address is not
   * available.
   */
  async start(): Promise<void> {
    const { healthListen } = this.#options;
    await this.#gateway.start((path) => this.#pageOf(path), this.#state.closeReason);
    this.#gateway.drain();
    if (healthListen !== undefined) await this.#health.start(healthListen);
  }

  get port(): number {
    return this.#gateway.port;
  }

  get endpoint(): string {
    return endpointOf(this.#options, this.port);
  }

  async close(): Promise<void> {
    await Promise.all([this.#gateway.close(), this.#health.close()]);
  }

  #pageOf(path: string): HttpAnswer {
    const why = `${this.#state.why}\n`;
    switch (path) {
      case "/":
        return { status: 200, contentType: TEXT, body: why };
      case "/livez":
        return { status: 200, contentType: TEXT, body: "ok\n" };
      case "/readyz":
        return { status: 503, contentType: TEXT, body: why };
      case "/status":
        return {
          ...{ status: 200, contentType: "application/json" },
          body: `${JSON.stringify(this.#status())}\n`,
        };
      case "/metrics":
        return {
          ...{ status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8" },
          body: this.#state.metrics,
        };
      default:
        return problemAnswer(404, "INVALID_ARGUMENT", "there is no page here");
    }
  }

  #status(): object {
    return {
      id: this.#options.id,
      role: this.#state.role,
      ...this.#state.details,
      clusterId: this.#clusterId,
      endpoint: this.endpoint,
      version: VERSION,
      pid: process.pid,
      incarnation: 0,
      term: 0,
      leader: 0,
      commitIndex: 0,
      appliedIndex: 0,
      uptimeMs: Math.floor(process.uptime() * 1_000),
      connections: 0,
      sessions: 0,
      keys: 0,
      holds: 0,
      waiters: 0,
      peers: [],
      members: [],
    };
  }
}
