/**
 * The one address by which all other nodes dial a node, for systems in which a member has the same
 * address for all: each connection is handed to the link of the node that dialled it, so that every
 * directed pair of nodes can still be cut off separately.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { diallingProcess } from "./dialling-process.js";
import type { Link } from "./link.js";
import type { HostPort } from "./network.js";

const LOOPBACK = "127.0.0.1";

export interface Dialler {
  readonly link: Link;
  /** The ids of its processes, as far as they run. */
  readonly pids: () => readonly (number | undefined)[];
}

export class SharedAddress {
  readonly #server: Server;
  readonly #diallers: readonly Dialler[];

  private constructor(server: Server, diallers: readonly Dialler[]) {
    this.#server = server;
    this.#diallers = diallers;
    server.on("connection", (near: Socket) => this.#enter(near));
  }

  /** Listens on a free port of the loopback interface. `diallers`: the nodes that may dial. */
  static async open(diallers: readonly Dialler[]): Promise<SharedAddress> {
    const server = createServer().listen(0, LOOPBACK);
    await once(server, "listening");
    return new SharedAddress(server, diallers);
  }

  get address(): HostPort {
    return { host: LOOPBACK, port: this.#port };
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  #enter(near: Socket): void {
    near.on("error", () => undefined);
    const byPid = new Map(
      this.#diallers.flatMap(({ pids, link }) => pids().map((pid) => [pid ?? 0, link] as const)),
    );
    const pid = diallingProcess(near.remotePort ?? 0, this.#port, [...byPid.keys()]);
    const link = byPid.get(pid ?? -1);
    // The dialling process is gone, or is not a node.
    if (link === undefined) near.destroy();
    else link.take(near);
  }
}
