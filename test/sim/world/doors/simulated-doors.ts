/**
 * The doors of one process of a node, wired as production wires them: `NodeDoors` with its clients over
 * links in the process to the gateway of the node, and the door for Redis behind a simulated port.
 */
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import {
  connectOn,
  type Platform,
  type Transport,
  type TransportEvents,
} from "../../../../src/client/index.js";
import type { InProcessCaller, InProcessEvents, InProcessLink } from "../../../../src/net/index.js";
import { InputMeter } from "../../../../src/net/index.js";
import type { AssembledDriver, NodeTuning } from "../../../../src/server/index.js";
import { NodeDoors } from "../../../../src/server/node/node-doors.js";
import { RedisService } from "../../../../src/server/node/redis-service.js";
import type { NodeLogger } from "../../../../src/server/ports.js";
import type { DoorSettings } from "../../plan/doors-plan.js";
import type { CrashKind } from "../disk/node-disk.js";
import { BROKEN, type SocketEnding } from "../network/node-socket.js";
import {
  type ClosedWire,
  type GatewayDoors,
  IDLE_METER_CLOCK,
  type SimulatedGateway,
} from "../network/simulated-gateway.js";
import type { Wire } from "../network/wire.js";
import { type Ear, SdkPlatform, type SdkSurroundings } from "../node/sdk-platform.js";
import { RedisPort, type RedisSocket } from "./redis-port.js";
import { type HttpTold, type HttpWords, ServedExchange } from "./served-exchange.js";

export interface DoorSurroundings extends Omit<SdkSurroundings, "countsSleep" | "host"> {
  readonly id: number;
  readonly life: ProcessLife;
  readonly clock: ProcessClock;
  readonly gateway: SimulatedGateway;
  readonly assembled: AssembledDriver;
  readonly tuning: NodeTuning;
  readonly settings: DoorSettings;
  readonly log: NodeLogger;
}

/** All clients of Redis come from one machine, and all clients of HTTP do, too. */
const ADDRESS = "10.0.0.1";
const NOWHERE = { host: "", port: 0 };

export class SimulatedDoors implements GatewayDoors {
  readonly #life: ProcessLife;
  readonly #doors: NodeDoors;
  readonly #redis: RedisService;
  #redisPort: RedisPort | undefined;
  #isDraining = false;
  /** By which callers hear of its end. */
  readonly #wires = new Set<ClosedWire>();

  constructor(world: DoorSurroundings) {
    const { id, life, gateway, assembled, tuning, settings, log } = world;
    this.#life = life;
    const around = { ...world, host: id, countsSleep: false };
    const clock = new SdkPlatform(around);
    const connect = (caller: InProcessCaller, events: InProcessEvents): InProcessLink => {
      const ear = world.listen(id);
      return heardBy(ear, gateway, caller, events);
    };
    this.#doors = new NodeDoors(id, connect, log, {
      clock,
      open: (open, options) => connectOn(new DoorPlatform(around, open), options),
    });
    const meter = new InputMeter({ clock: IDLE_METER_CLOCK });
    const { isFair } = settings;
    const rules = {
      redisAdvertise: undefined,
      redisSentinelListen: undefined,
      redisAllowEndless: false,
      redisAllowUnproven: false,
      redisFair: isFair,
      redisRedlock: false,
    };
    this.#redis = new RedisService({
      options: { id, clusterName: "sim", isAccessRequired: false, tuning, log, ...rules },
      listen: NOWHERE,
      ...{ tls: undefined, clients: this.#doors.clients, meter },
      assembled: () => assembled,
      isDraining: () => this.#isDraining,
      ...{ connectionsMax: 1_000, addressConnectionsMax: 1_000 },
      means: {
        clock,
        openPort: (_options, events) => {
          this.#redisPort = new RedisPort(life, clock, meter, events);
          return this.#redisPort;
        },
      },
    });
  }

  /** The node works. */
  serve(): void {
    void this.#redis.start();
    this.#redis.serve();
  }

  connected(wire: ClosedWire): void {
    this.#wires.add(wire);
  }

  answer(words: HttpWords, wire: Wire<HttpTold | SocketEnding>): ServedExchange {
    const exchange = new ServedExchange(words, this.#life, wire);
    void this.#doors.http.serve(exchange);
    return exchange;
  }

  accept(wire: Wire<Uint8Array | SocketEnding>): RedisSocket | undefined {
    this.#wires.add(wire);
    return this.#redisPort?.accept(wire, ADDRESS);
  }

  left(wire: ClosedWire): void {
    this.#wires.delete(wire);
  }

  /** As a node that stops in peace does before its process ends. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.#doors.drain();
    await this.#redis.close();
    await this.#doors.close();
  }

  end(kind: CrashKind): void {
    for (const wire of this.#wires) {
      if (kind === "power") wire.break();
      else wire.send(BROKEN);
    }
    this.#wires.clear();
  }
}

/** Its connections lead to the gateway of the process, and nowhere else. */
class DoorPlatform extends SdkPlatform {
  readonly #open: Platform["open"];

  constructor(world: SdkSurroundings, open: Platform["open"]) {
    super(world);
    this.#open = open;
  }

  override open(url: string, events: TransportEvents): Transport {
    return this.#open(url, events);
  }
}

function heardBy(
  ear: Ear,
  gateway: SimulatedGateway,
  caller: InProcessCaller,
  events: InProcessEvents,
): InProcessLink {
  const link = gateway.connectInProcess(caller, {
    onOpen: () => events.onOpen(),
    onFrame: (frame) => {
      ear.onHeard(frame);
      events.onFrame(frame);
    },
    onClose: (code, reason) => {
      ear.onClosed({ code, reason });
      events.onClose(code, reason);
    },
  });
  return {
    send: (frame) => {
      ear.onSent(frame);
      link.send(frame);
    },
    close: () => link.close(),
    get identity() {
      return link.identity;
    },
  };
}
