/** Opens the Redis door of this node, and shows it the node. */
import {
  DoorCallers,
  type DoorClients,
  type DoorCounts,
  type DoorNode,
  RedisDoor,
  type RedisDoorOptions,
} from "../../doors/index.js";
import type { InputMeter, TransportTls } from "../../net/index.js";
import type { AssembledDriver } from "../driver/boot.js";
import type { RedisTold } from "../pages/http-pages.js";
import { VERSION } from "../version.js";
import { formatAddress, type ResolvedOptions, type ResolvedRedis } from "./resolve-options.js";

export interface RedisServiceParts {
  readonly options: Pick<
    ResolvedOptions,
    "id" | "clusterName" | "isAccessRequired" | "tuning" | "log"
  >;
  readonly redis: ResolvedRedis;
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
    const { options, redis, tls, meter, connectionsMax, addressConnectionsMax } = parts;
    const { log } = options;
    const { listen, sentinelListen, allowsEndless, allowsUnproven, isFair, isRedlock } = redis;
    this.#door = new RedisDoor(
      {
        ...{ listen, sentinelListen, tls, meter, connectionsMax, addressConnectionsMax },
        ...{ allowsEndless, allowsUnproven, isFair, isRedlock },
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

  /** `host:port`, as clients are told; needs `start`. */
  get address(): string {
    const { listen, advertise } = this.#parts.redis;
    return formatAddress(advertise ?? { host: listen.host, port: this.port });
  }

  /** What other nodes are told: its address, and that of the sentinel after a comma. */
  get addresses(): string {
    const { listen, advertise } = this.#parts.redis;
    const { host } = advertise ?? listen;
    const { address, sentinelPort } = this;
    return sentinelPort === 0
      ? address
      : `${address},${formatAddress({ host, port: sentinelPort })}`;
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
