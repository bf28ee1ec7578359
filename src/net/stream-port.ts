/**
 * A port whose clients send a stream of bytes, over TCP or TLS, with the certificates of the client
 * port. It decides who may connect, and counts: sockets in total, and of each address. What the bytes
 * mean it must not know.
 */
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createSecureServer, type TLSSocket } from "node:tls";
import { type BoundedLog, boundedLog } from "./bounded-log.js";
import { ClientCertificates } from "./gateway/client-certificates.js";
import { ReportedNames } from "./gateway/reported-names.js";
import { AddressTally, addressGroup, isOwnMachine } from "./gateway/socket-limits.js";
import { type ListenAddress, listenOn } from "./listen.js";
import type { InputMeter } from "./meter/input-meter.js";
import { MeteredInput } from "./meter/metered-input.js";
import { startTicker, type Ticker } from "./ticker.js";
import { SecurePort } from "./tls/secure-port.js";
import type { TransportTls } from "./tls/transport.js";

const TICK_MS = 1_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface StreamPortOptions {
  readonly listen: ListenAddress;
  /** `undefined`: plain TCP. */
  readonly tls: TransportTls | undefined;
  /** Sockets at a time, whether or not their handshake has ended; further ones are closed. */
  readonly connectionsMax: number;
  /** From one address, or network of IPv6; clients of this machine are not limited so. */
  readonly addressConnectionsMax: number;
  /** Through which all input comes. */
  readonly meter: InputMeter;
  /** Why somebody was refused. One line for the log. */
  readonly onRefused: (reason: string) => void;
}

/** A client that may send. */
export interface StreamClient {
  readonly socket: Socket;
  /** Who may be heard, and what that costs. */
  readonly input: MeteredInput;
  /** What it comes from, as `addressGroup` has it. */
  readonly address: string;
  readonly isEncrypted: boolean;
  /** The name in its certificate, if that was verified and is for this cluster. */
  readonly certifiedName: string | undefined;
}

export interface StreamPortEvents {
  onClient(client: StreamClient): void;
  /** About once a second, after pending input. */
  onTick(): void;
}

/** Nothing is read of a connection before its meter is there. */
const PLAIN = { noDelay: true, pauseOnConnect: true };

export class StreamPort {
  readonly #options: StreamPortOptions;
  readonly #events: StreamPortEvents;
  readonly #log: BoundedLog;
  readonly #reported = new ReportedNames();
  readonly #addresses = new AddressTally();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #secure: SecurePort<ReturnType<typeof createSecureServer>> | undefined;
  #ticker: Ticker | undefined;
  #port = 0;

  constructor(options: StreamPortOptions, events: StreamPortEvents) {
    const { tls, connectionsMax, onRefused } = options;
    this.#options = options;
    this.#events = events;
    this.#log = boundedLog(onRefused);
    this.#secure = tls === undefined ? undefined : this.#createSecure(tls);
    this.#server = this.#secure?.server ?? createServer(PLAIN);
    this.#server.maxConnections = connectionsMax;
    this.#server.on("drop", () => this.#noteDropped("all addresses together"));
    // With TLS, this comes before the handshake.
    this.#server.on("connection", (socket) => this.#count(socket));
    if (tls === undefined) {
      this.#server.on("connection", (socket) => this.#welcome(socket, undefined, false));
    }
  }

  /** The bound port, 0 before `start`. */
  get port(): number {
    return this.#port;
  }

  /** Rejects with `UNAVAILABLE` when the address cannot be bound. */
  async start(): Promise<void> {
    this.#port = await listenOn(this.#server, this.#options.listen);
    this.#server.on("error", ({ message }) => {
      this.#log(`cannot accept connections: ${message}`);
    });
    this.#ticker = startTicker(TICK_MS, () => {
      this.#secure?.tick();
      this.#events.onTick();
    });
  }

  /** Accepts nobody any more, and destroys the sockets that are left. */
  close(): Promise<void> {
    this.#ticker?.stop();
    this.#secure?.close();
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => {
      if (this.#server.listening) this.#server.close(() => resolve());
      else resolve();
    });
  }

  #createSecure(tls: TransportTls): SecurePort<ReturnType<typeof createSecureServer>> {
    const certificates = new ClientCertificates(tls, this.#log);
    const options = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, noDelay: true };
    const server = createSecureServer({ ...options, ...tls.serverOptions("client") });
    const secure = new SecurePort(tls, "client", server, HANDSHAKE_TIMEOUT_MS, {
      onSecured: (socket, shown) => certificates.meet(socket, shown),
      onFailed: this.#log,
    });
    server.on("secureConnection", (socket: TLSSocket) => {
      const refusal = certificates.judgeClient(socket);
      if (refusal === undefined) this.#welcome(socket, certificates.nameOf(socket), true);
      else socket.destroy();
    });
    return secure;
  }

  #welcome(socket: Socket, certifiedName: string | undefined, isEncrypted: boolean): void {
    if (socket.destroyed) return;
    if (isEncrypted) socket.on("error", () => socket.destroy());
    const address = addressGroup(socket.remoteAddress);
    const { meter } = this.#options;
    const input = new MeteredInput(meter, socket, address, false, certifiedName);
    this.#events.onClient({ socket, input, address, isEncrypted, certifiedName });
    socket.resume();
  }

  #count(socket: Socket): void {
    const address = addressGroup(socket.remoteAddress);
    const { addressConnectionsMax } = this.#options;
    if (!isOwnMachine(address) && this.#addresses.count(address) >= addressConnectionsMax) {
      socket.destroy();
      this.#noteDropped(`the address ${address}`);
      return;
    }
    this.#sockets.add(socket);
    this.#addresses.add(address);
    // Its user hears of errors by the close that follows.
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#addresses.remove(address);
    });
  }

  #noteDropped(source: string): void {
    if (this.#reported.isNew(source)) this.#log(`too many connections from ${source}`);
  }
}
