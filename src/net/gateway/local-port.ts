/**
 * The client port's other entrance: the same pages and the same protocol on the socket in the node's
 * data directory. Those who connect here have no address and no certificate, and the limits on strangers
 * do not count them. A browser cannot open it, but a proxy in front of it could let one in, so `Host`
 * and `Origin` are checked as anywhere.
 */
import { createServer, type Server } from "node:http";
import { answerBadInput } from "../bad-input.js";
import { TURN_OPTIONS } from "../http/http.js";
import type { RequestHandler, RequestTurns } from "../http/request-turns.js";
import { closeServer } from "../listen.js";
import { takeWebSockets, type UpgradeListener } from "../upgrades.js";
import { LocalSocket } from "./local-socket.js";

/** Enough for operators; the descriptors are of those that clients leave. */
const SOCKETS_MAX = 64;

export interface LocalPortEvents {
  /** Before anybody can connect to it. */
  onServer(server: Server): void;
  readonly onRequest: RequestHandler;
  readonly onUpgrade: UpgradeListener;
}

export class LocalPort {
  readonly #server: Server;
  readonly #socket: LocalSocket;

  private constructor(server: Server, socket: LocalSocket) {
    this.#server = server;
    this.#socket = socket;
  }

  /** Rejects like `LocalSocket.listen`. */
  static async open(
    directory: string,
    idleMs: number,
    turns: RequestTurns,
    { onServer, onRequest, onUpgrade }: LocalPortEvents,
  ): Promise<LocalPort> {
    const server = createServer(TURN_OPTIONS);
    takeWebSockets(server, onUpgrade);
    answerBadInput(server);
    onServer(server);
    turns.serve(server, onRequest);
    server.maxConnections = SOCKETS_MAX;
    server.setTimeout(idleMs);
    return new LocalPort(server, await LocalSocket.listen(server, directory));
  }

  /** A later error of the server itself. */
  onError(listener: (error: Error) => void): void {
    this.#server.on("error", listener);
  }

  async close(): Promise<void> {
    try {
      await this.#socket.remove();
    } finally {
      await closeServer(this.#server);
    }
  }
}
