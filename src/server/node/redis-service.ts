/** Opens the Redis door of this node, and shows it the node. */
import {
  DoorCallers,
  type DoorClients,
  type DoorCounts,
  type DoorNode,
  RedisDoor,
  type RedisDoorOptions,
} from "../../doors/index.js";
import { optionValueText } from "../../errors/index.js";
import type { InputMeter, TransportTls } from "../../net/index.js";
import type { AssembledDriver } from "../driver/boot.js";
import type { HostPort } from "../options.js";
import type { RedisTold } from "../pages/http-pages.js";
import { VERSION } from "../version.js";
import type { ResolvedOptions } from "./resolve-options.js";

type RedisOptions = Pick<
  ResolvedOptions,
  | "id"
  | "clusterName"
  | "isAccessRequired"
  | "tuning"
  | "log"
  | Exclude<Extract<keyof ResolvedOptions, `redis${string}`>, "redisListen">
>;

export interface RedisServiceParts {
  readonly options: RedisOptions;
  readonly listen: HostPort;
  readonly tls: TransportTls | undefined;
  readonly clients: DoorClients;
  readonly meter: InputMeter;
  /** `undefined` while the node starts. */
  readonly assembled: () => AssembledDriver | undefined;
  readonly isDraining: () => boolean;
  readonly connectionsMax: number;
  readonly addressConnectionsMax: number;
  /** Default: a port of this machine, and its time. */
  readonly means?: Pick<RedisDoorOptions, "clock" | "openPort">;
}

export class RedisService {
  readonly #parts: RedisServiceParts;
  readonly #door: RedisDoor;

  constructor(parts: RedisServiceParts) {
    this.#parts = parts;
    const { options, listen, tls, meter, connectionsMax, addressConnectionsMax } = parts;
    const { log } = options;
    this.#door = new RedisDoor(
      {
        ...{ listen, tls, meter, connectionsMax, addressConnectionsMax },
        sentinelListen: options.redisSentinelListen,
        allowsEndless: options.redisAllowEndless,
        allowsUnproven: options.redisAllowUnproven,
        isFair: options.redisFair,
        isRedlock: options.redisRedlock,
        log: (level, message, fields) => log(level, message, fields),
        ...parts.means,
      },
      this.#node(),
      new DoorCallers(parts.clients),
    );
  }

  get port(): number {
    return this.#door.port;
  }

  get sentinelPort(): number {
    return this.#door.sentinelPort;
  }

  get counts(): Readonly<DoorCounts> {
    return this.#door.counts;
  }

  /** What `/status` shows of the port. */
  get told(): RedisTold {
    const { redlockFound, counts } = this.#door;
    return {
      address: this.address,
      unendableKinds: counts.unendableKinds,
      ...(redlockFound && { redlock: redlockFound }),
    };
  }

  /** `host:port`, as given to clients; needs `start`. */
  get address(): string {
    return optionValueText(this.#advertised ?? { host: this.#parts.listen.host, port: this.port });
  }

  /** What other nodes learn: its address and, after a comma, the sentinel's. */
  get addresses(): string {
    const { host } = this.#advertised ?? this.#parts.listen;
    const { address, sentinelPort } = this;
    return sentinelPort === 0
      ? address
      : `${address},${optionValueText({ host, port: sentinelPort })}`;
  }

  get #advertised(): HostPort | undefined {
    return this.#parts.options.redisAdvertise;
  }

  /** Rejects with `UNAVAILABLE` when the port cannot be bound. */
  start(): Promise<void> {
    return this.#door.start();
  }

  serve(): void {
    this.#door.serve();
  }

  close(): Promise<void> {
    return this.#door.close();
  }

  #node(): DoorNode {
    const { options, assembled, isDraining } = this.#parts;
    const { id, clusterName, isAccessRequired, tuning } = options;
    const addresses = (at: number): ReadonlyMap<number, string> => {
      const others = assembled()?.driver.redisAddresses ?? [];
      const told = [[id, this.addresses] as const, ...others];
      return new Map(
        told.flatMap(([node, text]) => {
          const address = text.split(",")[at];
          return address === undefined ? [] : [[node, address] as const];
        }),
      );
    };
    return {
      ...{ id, clusterName, version: VERSION },
      electionTimeoutMs: tuning.electionTimeoutMs,
      get isServing() {
        const node = assembled();
        if (node === undefined || isDraining()) return false;
        return node.driver.servingLeader !== 0 && node.table.quietMs === 0;
      },
      get isOpen() {
        return !isAccessRequired && assembled()?.table.anonymousLevels.everywhere === "admin";
      },
      get admitsAnonymous() {
        const levels = assembled()?.table.anonymousLevels;
        if (levels === undefined || levels.highest === "none") return false;
        return !isAccessRequired || levels.everywhere !== "admin";
      },
      get leader() {
        return assembled()?.driver.servingLeader ?? 0;
      },
      get redisAddresses() {
        return addresses(0);
      },
      get sentinelAddresses() {
        return addresses(1);
      },
    };
  }
}
