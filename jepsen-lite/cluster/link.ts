/**
 * A TCP proxy before one port, for one party that dials it. Each of its two directions can be cut
 * and slowed separately. Bytes that are sent into a cut wait as they do with TCP: they arrive late
 * when the way opens again, or are lost when the link is reset. It never reorders, alters or
 * invents bytes.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Lane, type Road } from "./link-lane.js";
import type { HostPort } from "./network.js";

/** `forth`: from the dialling side to the port behind the proxy. */
export type Direction = "forth" | "back";

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  readonly lanes: readonly Lane[];
}

const LOOPBACK = "127.0.0.1";

export class Link {
  readonly port: number;
  readonly #server: Server;
  readonly #target: HostPort;
  readonly #roads: Readonly<Record<Direction, Road>> = { forth: openRoad(), back: openRoad() };
  readonly #pairs = new Set<Pair>();

  private constructor(server: Server, target: HostPort) {
    this.#server = server;
    this.#target = target;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (near: Socket) => this.take(near));
  }

  /** Listens on a free port of the loopback interface. */
  static async to(target: HostPort): Promise<Link> {
    const server = createServer().listen(0, LOOPBACK);
    await once(server, "listening");
    return new Link(server, target);
  }

  get address(): HostPort {
    return { host: LOOPBACK, port: this.port };
  }

  cut(direction: Direction): void {
    this.#change(direction, { isCut: true });
  }

  /** Waiting bytes are sent, or with `reset` lost with their connections. */
  open(direction: Direction, reset: boolean): void {
    if (reset && this.#roads[direction].isCut) this.reset();
    this.#change(direction, { isCut: false });
  }

  /** Both 0: no delay and no limit. */
  slow(direction: Direction, delayMs: number, bytesPerSecondMax: number): void {
    this.#change(direction, { delayMs, bytesPerSecondMax });
  }

  /** Every connection ends with RST on both sides. */
  reset(): void {
    for (const { near, far } of this.#pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.reset();
    await closed;
  }

  /** Connects a connection to the port behind the proxy; it may have arrived elsewhere. */
  take(near: Socket): void {
    const far = connect(this.#target.port, this.#target.host);
    near.setNoDelay(true);
    far.setNoDelay(true);
    const lanes = [
      new Lane(near, far, this.#roads.forth),
      new Lane(far, near, this.#roads.back),
    ] as const;
    const pair = { near, far, lanes };
    this.#pairs.add(pair);
    const leave = () => {
      if (near.destroyed && far.destroyed) this.#pairs.delete(pair);
    };
    near.on("close", leave);
    far.on("close", leave);
  }

  #change(direction: Direction, change: Partial<Road>): void {
    Object.assign(this.#roads[direction], change);
    for (const { lanes } of this.#pairs) for (const lane of lanes) lane.pump();
  }
}

function openRoad(): Road {
  return { isCut: false, delayMs: 0, bytesPerSecondMax: 0 };
}
