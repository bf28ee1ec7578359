/**
 * Checks the certificates at a TLS server, of HTTPS or of plain streams. It gives the server new
 * credentials when the node gets them, and ends connections whose certificate has expired or is not
 * trusted any more. `endBy` sets how a connection is ended; by default its socket is destroyed.
 *
 * It does not limit how many handshakes are unfinished: its user does, from the event `connection`.
 */
import type { X509Certificate } from "node:crypto";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Server, TLSSocket } from "node:tls";
import { endMsOf } from "../../certificates/index.js";
import { certificateProblem, incomingProblem } from "./problems.js";
import type { TlsPort, TransportTls } from "./transport.js";

const RECHECKED_PER_TURN_MAX = 64;

/** The certificate that the other side has shown. */
export interface ShownCertificate {
  readonly certificate: X509Certificate;
  /** Why it is not accepted, in words that follow "it". */
  readonly problem: string | undefined;
}

/** A connection whose other side has shown a certificate that is accepted. */
interface CertifiedSocket {
  /** With its intermediates, which Node.js hands out only once for each connection. */
  readonly certificate: X509Certificate;
  readonly endMs: number;
  end(reason: string): void;
}

export interface SecurePortEvents {
  /** Called before anything is read from the connection. May destroy it. */
  onSecured(socket: TLSSocket, shown: ShownCertificate | undefined): void;
  /** A handshake failed. One line for the log. */
  onFailed(reason: string): void;
}

export interface HandshakeCounts {
  completed: number;
  failed: number;
}

export class SecurePort<S extends Server = HttpsServer> {
  readonly server: S;
  readonly handshakes: HandshakeCounts = { completed: 0, failed: 0 };
  readonly #tls: TransportTls;
  readonly #port: TlsPort;
  readonly #events: SecurePortEvents;
  readonly #certified = new Map<TLSSocket, CertifiedSocket>();
  /** Not later than the first of their ends. */
  #nextEndMs = Number.POSITIVE_INFINITY;
  /** Sockets whose handshake has not ended. */
  readonly #unfinished = new Set<Socket>();
  /** Until then, handshakes that began with older credentials may still end. */
  #isMixedUntilMs = 0;
  readonly #handshakeTimeoutMs: number;
  readonly #forgetTls: () => void;

  /**
   * @param server made with `tls.serverOptions(port)`, and with nothing accepted yet
   * @param handshakeTimeoutMs the server's own
   */
  constructor(
    tls: TransportTls,
    port: TlsPort,
    server: S,
    handshakeTimeoutMs: number,
    events: SecurePortEvents,
  ) {
    this.#tls = tls;
    this.#port = port;
    this.#events = events;
    this.#handshakeTimeoutMs = handshakeTimeoutMs;
    this.server = server;
    server.on("connection", (socket: Socket) => {
      this.#unfinished.add(socket);
      socket.once("close", () => this.#unfinished.delete(socket));
    });
    server.prependListener("secureConnection", (socket) => this.#secured(socket));
    server.on("tlsClientError", (error, socket) => this.#failed(error, socket));
    this.#forgetTls = tls.onReplaced((trustsLess) => this.#follow(trustsLess));
  }

  /** Sets how `socket` is ended when its certificate expires or is not trusted any more. */
  endBy(socket: Duplex, end: (reason: string) => void): void {
    const certified = this.#certified.get(socket as TLSSocket);
    if (certified !== undefined) certified.end = end;
  }

  /** Ends connections whose certificate has expired. To be called every few seconds or more often. */
  tick(): void {
    const nowMs = this.#tls.wallMs();
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const [socket, { endMs, end }] of [...this.#certified]) {
      if (endMs > nowMs) this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
      else this.#end(socket, end, "the certificate has expired");
    }
  }

  /** Destroys unfinished handshakes, which closing the server does not. */
  close(): void {
    this.#forgetTls();
    for (const socket of this.#unfinished) socket.destroy();
  }

  #secured(socket: TLSSocket): void {
    this.handshakes.completed += 1;
    // Node.js may report a resumed session as authorized although it shows no certificate.
    const certificate = socket.isSessionReused() ? undefined : socket.getPeerX509Certificate();
    if (certificate === undefined) {
      this.#events.onSecured(socket, undefined);
      return;
    }
    const problem = socket.authorized ? this.#problemNow(certificate) : problemOf(socket);
    if (problem === undefined) this.#keep(socket, certificate);
    this.#events.onSecured(socket, { certificate, problem });
  }

  /** For a certificate that the credentials accepted with which its handshake began. */
  #problemNow(certificate: X509Certificate): string | undefined {
    const isSure = performance.now() >= this.#isMixedUntilMs;
    if (isSure || this.#tls.isTrusted(this.#port, certificate)) return undefined;
    return "has a certificate that is not trusted any more";
  }

  #keep(socket: TLSSocket, certificate: X509Certificate): void {
    const endMs = endMsOf(certificate);
    this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
    this.#certified.set(socket, { certificate, endMs, end: () => socket.destroy() });
    socket.once("close", () => this.#certified.delete(socket));
  }

  #failed(error: Error, socket: TLSSocket): void {
    this.handshakes.failed += 1;
    const hasShown = (socket.authorizationError ?? undefined) !== undefined;
    const problem = hasShown ? problemOf(socket) : incomingProblem(error);
    if (problem !== undefined) this.#events.onFailed(`${addressOf(socket)} ${problem}`);
  }

  /** The node has new credentials. */
  #follow(trustsLess: boolean): void {
    this.server.setSecureContext(this.#tls.contextOptions(this.#port));
    if (!trustsLess) return;
    this.#isMixedUntilMs = performance.now() + this.#handshakeTimeoutMs;
    this.#recheck([...this.#certified.keys()]);
  }

  /** Only some in each turn of the event loop, because ten thousand signatures take seconds. */
  #recheck(sockets: readonly TLSSocket[]): void {
    for (const socket of sockets.slice(0, RECHECKED_PER_TURN_MAX)) {
      const certified = this.#certified.get(socket);
      if (certified === undefined) continue;
      if (this.#tls.isTrusted(this.#port, certified.certificate)) continue;
      this.#end(socket, certified.end, "the certificate is not trusted any more");
    }
    const rest = sockets.slice(RECHECKED_PER_TURN_MAX);
    if (rest.length > 0) setImmediate(() => this.#recheck(rest));
  }

  #end(socket: TLSSocket, end: (reason: string) => void, reason: string): void {
    this.#certified.delete(socket);
    end(reason);
  }
}

function problemOf({ authorizationError }: TLSSocket): string {
  return `has a certificate that ${certificateProblem(String(authorizationError))}`;
}

function addressOf({ remoteAddress = "an unknown address" }: TLSSocket): string {
  return remoteAddress;
}
