/**
 * The Redis door of a node: a port at which unchanged lock clients of Redis find the locks of the
 * cluster. It opens and closes the port, keeps its connections, and follows the state of the node:
 * while no quorum is in reach, clients are sent away, because a reply would be a guess.
 *
 * It must never answer for the cluster by what it remembers: every answer about a lock comes from a
 * client of the SDK.
 */
import {
  type InputMeter,
  type StreamClient,
  StreamPort,
  type StreamPortEvents,
  type StreamPortOptions,
  type TransportTls,
} from "../../net/index.js";
import { type DoorClock, every, SYSTEM_CLOCK } from "../clock.js";
import { RedisConnection } from "./connection.js";
import type { DoorRules } from "./connection-state.js";
import { Confirmations, REDLOCK_FOUND } from "./locks/confirmations.js";
import { Endings } from "./locks/endings.js";
import { FairWaits } from "./locks/fair-waits.js";
import { HotKeys } from "./locks/hot-keys.js";
import type { Callers, DoorCounts, DoorNode } from "./ports.js";
import { Publisher } from "./pubsub/index.js";
import { ScriptLibrary } from "./scripts/index.js";
import { namedMaster, namesOf } from "./sentinel.js";

/** Election timeouts without a quorum after which connections are closed. */
const SILENCE_TIMEOUTS = 2;
/** Looks at the state of the node in each election timeout. */
const LOOKS_PER_TIMEOUT = 4;
/** Kinds of refusals, and of failures, that are logged; an attacker can invent any number. */
const NOTED_MAX = 256;
const NOTED_TEXT_LENGTH_MAX = 2_048;

/** Where clients connect. */
export type ClientPort = Pick<StreamPort, "port" | "start" | "close">;

export interface RedisDoorOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Where it is a sentinel only; `undefined`: nowhere. */
  readonly sentinelListen: { readonly host: string; readonly port: number } | undefined;
  readonly tls: TransportTls | undefined;
  readonly connectionsMax: number;
  readonly addressConnectionsMax: number;
  /** Locks without an expiry may be taken, if the setting `endlessLeases` allows it too. */
  readonly allowsEndless: boolean;
  /** DEL and EXPIRE may end and move the lock of any value. */
  readonly allowsUnproven: boolean;
  /** Polling clients with one value are granted locks in the order in which they came. */
  readonly isFair: boolean;
  /** Each node confirms a lock once, to clients of Redlock, whose values are unique to each acquire. */
  readonly isRedlock: boolean;
  readonly log: (
    level: "info" | "warn" | "error",
    message: string,
    fields: Readonly<Record<string, string | number>>,
  ) => void;
  /** Through which all input of the node comes. */
  readonly meter: InputMeter;
  /** Default: the clock of the system. */
  readonly clock?: DoorClock | undefined;
  /** Default: a port of this machine. */
  readonly openPort?: (options: StreamPortOptions, events: StreamPortEvents) => ClientPort;
}

export class RedisDoor {
  readonly #options: RedisDoorOptions;
  readonly #node: DoorNode;
  readonly #clock: DoorClock;
  readonly #port: ClientPort;
  readonly #sentinelPort: ClientPort | undefined;
  readonly #connections = new Set<RedisConnection>();
  readonly #publisher: Publisher;
  readonly #confirmations: Confirmations;
  readonly #endings: Endings;
  readonly #refusals = new Set<string>();
  readonly #failures = new Set<string>();
  readonly #counts: DoorCounts = {
    ...{ connections: 0, commandsTotal: 0, refusedTotal: 0, cutOffTotal: 0, unendableKinds: 0 },
  };
  readonly #rules: DoorRules;
  #endLooks: () => void = () => {};
  #isOpen = false;
  #lastId = 0;
  #servedAtMs = 0;
  #named: string | undefined;

  constructor(options: RedisDoorOptions, node: DoorNode, callers: Callers) {
    this.#options = options;
    this.#node = node;
    const { allowsEndless, allowsUnproven, isFair, isRedlock, log } = options;
    const { clock = SYSTEM_CLOCK, openPort = openStreamPort } = options;
    const nowMs = (): number => clock.monotonicMs();
    this.#clock = clock;
    this.#publisher = new Publisher(clock);
    this.#confirmations = new Confirmations(() => {
      log("warn", "redis door: Redlock over one cluster", { what: REDLOCK_FOUND });
    });
    this.#endings = new Endings(nowMs);
    this.#rules = {
      ...{ allowsEndless, allowsUnproven, isRedlock, isSentinel: false },
      confirmations: this.#confirmations,
      hotKeys: new HotKeys(nowMs),
      fairWaits: isFair ? new FairWaits(clock, node.id) : undefined,
      scripts: new ScriptLibrary(),
      endings: this.#endings,
      publisher: this.#publisher,
      noteRefused: (what, text) => this.#noteRefused(what, text),
    };
    const { listen, sentinelListen, tls, connectionsMax, addressConnectionsMax, meter } = options;
    const onRefused = (reason: string): void => log("warn", "redis client refused", { reason });
    const limits = { tls, connectionsMax, addressConnectionsMax, meter, onRefused };
    this.#port = openPort(
      { listen, ...limits },
      {
        onClient: (client) => this.#welcome(client, callers, this.#rules),
        onTick: () => {
          for (const connection of this.#connections) connection.tick();
        },
      },
    );
    if (sentinelListen === undefined) return;
    const sentinelRules = { ...this.#rules, isSentinel: true };
    this.#sentinelPort = openPort(
      { listen: sentinelListen, ...limits },
      { onClient: (client) => this.#welcome(client, callers, sentinelRules), onTick: () => {} },
    );
  }

  /** The bound port, 0 before `start`. */
  get port(): number {
    return this.#port.port;
  }

  /** The port of the sentinel; 0 without one, and before `start`. */
  get sentinelPort(): number {
    return this.#sentinelPort?.port ?? 0;
  }

  get counts(): Readonly<DoorCounts> {
    return { ...this.#counts, unendableKinds: this.#endings.refusedKinds };
  }

  /** Why clients of Redlock get no lock here; `undefined`: none was seen. */
  get redlockFound(): string | undefined {
    return this.#confirmations.isRedlockFound ? REDLOCK_FOUND : undefined;
  }

  /** Host and port of the node that clients are sent to, as it was last looked at. */
  get named(): string | undefined {
    return this.#named;
  }

  /**
   * Binds the port, so that its number is known; clients that connect are sent away until `serve`.
   * Rejects with `UNAVAILABLE` when the address cannot be bound.
   */
  async start(): Promise<void> {
    await this.#port.start();
    await this.#sentinelPort?.start();
  }

  /** The node has begun to work. */
  serve(): void {
    this.#isOpen = true;
    this.#servedAtMs = this.#clock.monotonicMs();
    const intervalMs = this.#node.electionTimeoutMs / LOOKS_PER_TIMEOUT;
    this.#endLooks = every(this.#clock, intervalMs, () => {
      try {
        this.#follow();
      } catch (error) {
        this.#noteBroken("node", error);
      }
    });
  }

  /** Closes all connections, so that clients go to another node. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#endLooks();
    for (const connection of this.#connections) connection.cutOff("");
    this.#rules.fairWaits?.close();
    await Promise.all([this.#port.close(), this.#sentinelPort?.close()]);
  }

  #welcome(client: StreamClient, callers: Callers, rules: DoorRules): void {
    if (!this.#isOpen || this.#isSilent) {
      client.socket.destroy();
      return;
    }
    this.#lastId += 1;
    const counts = this.#counts;
    const shared = { node: this.#node, callers, rules, counts, clock: this.#clock };
    const parts = { ...shared, subscriptions: this.#publisher };
    const connection = new RedisConnection(this.#lastId, client, parts, {
      onClosed: (closed) => {
        if (this.#connections.delete(closed)) counts.connections -= 1;
      },
      onCutOff: (address, reason) => {
        counts.cutOffTotal += 1;
        this.#noteRefused(`connection: ${reason}`, address);
      },
      onBroken: (address, error) => {
        counts.cutOffTotal += 1;
        this.#noteBroken(address, error);
      },
    });
    this.#connections.add(connection);
    counts.connections += 1;
    connection.state.begin();
  }

  get #isSilent(): boolean {
    const silentMs = this.#clock.monotonicMs() - this.#servedAtMs;
    return silentMs > SILENCE_TIMEOUTS * this.#node.electionTimeoutMs;
  }

  #follow(): void {
    const { isServing } = this.#node;
    if (isServing) this.#servedAtMs = this.#clock.monotonicMs();
    else if (this.#isSilent) {
      for (const connection of this.#connections) connection.cutOff("no quorum is in reach");
    }
    this.#followMaster();
  }

  /** Tells those who listen to the sentinel that the node to use is another one. */
  #followMaster(): void {
    const master = namedMaster(this.#node);
    if (master === undefined) return;
    const now = `${master.host} ${master.port}`;
    const before = this.#named;
    this.#named = now;
    if (before === undefined || before === now) return;
    for (const name of namesOf(this.#node)) {
      this.#publisher.announce("+switch-master", `${name} ${before} ${now}`);
    }
  }

  #noteBroken(address: string, error: unknown): void {
    const { message, stack = "" } = error instanceof Error ? error : new Error(String(error));
    if (!isNew(this.#failures, message)) return;
    const text = `${address} ${stack}`.slice(0, NOTED_TEXT_LENGTH_MAX);
    this.#options.log("error", "redis door failed", { what: `internal error: ${message}`, text });
  }

  /** With the text that shows what a client wanted. */
  #noteRefused(what: string, text: string): void {
    if (!isNew(this.#refusals, what)) return;
    const shown = text.slice(0, NOTED_TEXT_LENGTH_MAX);
    this.#options.log("warn", "redis door refused", { what, text: shown });
  }
}

function openStreamPort(options: StreamPortOptions, events: StreamPortEvents): ClientPort {
  return new StreamPort(options, events);
}

/** Whether something of that kind is to be logged: each once. */
function isNew(noted: Set<string>, what: string): boolean {
  if (noted.has(what) || noted.size >= NOTED_MAX) return false;
  noted.add(what);
  return true;
}
