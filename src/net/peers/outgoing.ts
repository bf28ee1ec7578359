/**
 * The link that this node dialed to one peer, and the only one on which it sends to that peer.
 *
 * States: waiting → connecting → greeting → up → waiting …, and closed. Each epoch begins with
 * exactly one `onUp` and ends with exactly one `onDown`; failed attempts in between are not
 * reported. Messages sent while the link is not up are dropped: the protocol above repeats what
 * matters.
 */
import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { performance } from "node:perf_hooks";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { endMsOf } from "../../certificates/index.js";
import { assert } from "../../errors/index.js";
import type { NodeId } from "../../raft/index.js";
import { DIAL_OPTIONS } from "../../reach/index.js";
import type { BoundedLog } from "../bounded-log.js";
import { closeSocket } from "../close-socket.js";
import { formatAddress } from "../listen.js";
import { networkOf } from "../strangers.js";
import { outgoingProblem } from "../tls/problems.js";
import { CertificateError, type TransportTls } from "../tls/transport.js";
import type { TrafficMeter } from "../traffic-meter.js";
import type { PeerAddress, PeerEvents, PeerMessage } from "../types.js";
import type { PeerFramePool } from "./frame.js";
import {
  encodeHello,
  HELLO_BYTES_MAX,
  PEER_CLOSE,
  PEER_SUBPROTOCOL,
  type PeerCloseCode,
} from "./hello.js";
import { type PeerLinksTuning, SILENT_TICKS_MAX } from "./options.js";
import { PeerOutbox } from "./outbox.js";
import type { PeerIdentities } from "./peer-identities.js";

type State = "waiting" | "connecting" | "greeting" | "up" | "closed";

/** What all links of a node share. */
export interface LinkContext {
  readonly identities: PeerIdentities;
  readonly events: PeerEvents;
  /** The log of links that this node dials. */
  readonly log: BoundedLog;
  readonly tuning: PeerLinksTuning;
  readonly pool: PeerFramePool;
  readonly meter: TrafficMeter;
  /** `undefined`: links are in plain text. */
  readonly tls: TransportTls | undefined;
  nextEpoch(): number;
}

/** Masked like everything that a client sends, by `zeroMask`. */
const HELLO_OPTIONS = { binary: true, compress: false, mask: true, fin: true } as const;
/** The code that `ws` reports for a connection that ended without a close frame. */
const CLOSED_WITHOUT_WORDS = 1006;
/** Refusals that end without an operator. */
const PASSING: ReadonlySet<number> = new Set([
  PEER_CLOSE.silent,
  PEER_CLOSE.damaged,
  PEER_CLOSE.unproven,
]);
/** The attempts that the other side may break off, as when it starts or stops, before it is logged. */
const BROKEN_OFF_MAX = 2;
/** Socket errors that only the other process causes, or its machine on its behalf. */
const ENDED_BY_PEER: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);

export class OutgoingLink {
  readonly address: PeerAddress;
  readonly #peer: NodeId;
  readonly #context: LinkContext;
  #state: State = "waiting";
  /** Set exactly while the state is connecting, greeting or up. */
  #socket: WebSocket | undefined;
  /** The stream of `#socket`, set once the state is greeting. */
  #stream: Socket | undefined;
  /** The peer's certificate, from its handshake until the socket is given up; none without TLS. */
  #certificate: X509Certificate | undefined;
  /** The network in which the peer was last reached. */
  #network = "";
  /** The epoch of the link while it is up; otherwise 0. */
  #epoch = 0;
  #silentTicks = 0;
  /** When the first ping was sent that was not answered. */
  #pingedMs = 0;
  /** Attempts since the link was last up. */
  #attempts = 0;
  #redial: NodeJS.Timeout | undefined;
  /**
   * Whether the peer connected to this node during the greeting, so that it would not refuse it
   * now: a refusal that still arrives is out of date.
   */
  #isWelcome = false;
  /** Empty unless the link is up. */
  readonly #outbox: PeerOutbox;
  #lastRefusal = "";

  constructor(peer: NodeId, address: PeerAddress, context: LinkContext) {
    this.#peer = peer;
    this.address = address;
    this.#context = context;
    this.#outbox = new PeerOutbox(context.pool, context.meter, () => this.flush());
  }

  /**
   * Dials now, unless a connection is up or being greeted; abandons an attempt that hangs. It runs
   * after the usual pause, and when the peer has just connected to this node.
   */
  dial(): void {
    this.#isWelcome = this.#state === "greeting";
    if (this.#state !== "waiting" && this.#state !== "connecting") return;
    clearTimeout(this.#redial);
    const hanging = this.#socket;
    const socket = this.#connect();
    if (socket === undefined) return;
    this.#socket = socket;
    this.#stream = undefined;
    this.#state = "connecting";
    this.#silentTicks = 0;
    this.#attempts += 1;
    hanging?.terminate();
    this.#listen(socket);
  }

  /** The network in which the peer was last reached, in the form of `networkOf`; empty before. */
  get network(): string {
    return this.#network;
  }

  /** Bytes that the kernel has not taken yet; 0 unless the link is up. */
  get bufferedBytes(): number {
    const socket = this.#socket;
    if (this.#state !== "up" || socket === undefined) return 0;
    return socket.bufferedAmount + this.#outbox.bytes;
  }

  send(group: number, message: PeerMessage): void {
    if (this.#state !== "up") return;
    if (this.#outbox.add(group, message) && this.#isOverfull()) this.#giveUp();
  }

  flush(): void {
    if (this.#flush() && this.#isOverfull()) this.#giveUp();
  }

  /** Pings, and gives up the link if the peer has been silent for too long. */
  tick(): void {
    if (this.#state !== "up" && this.#state !== "greeting") return;
    this.#silentTicks += 1;
    if (this.#silentTicks > SILENT_TICKS_MAX) this.#giveUp();
    else if (this.#hasExpired()) this.#refuseCertificate("has expired");
    else if (this.#socket !== undefined) {
      // The first of several pings without an answer.
      if (this.#silentTicks === 1) this.#pingedMs = performance.now();
      this.#socket.ping();
    }
  }

  /** This node has new TLS credentials: ends the link if they do not accept it, and dials again. */
  recheck(): void {
    const certificate = this.#certificate;
    if (certificate === undefined) this.dial();
    else if (this.#context.tls?.isTrusted("peer", certificate) === false)
      this.#refuseCertificate("is not trusted any more");
  }

  /** Sends what is waiting and closes the link with a reason. Reports nothing from here on. */
  close(code: PeerCloseCode, reason: string): void {
    this.#flush(true);
    const socket = this.#detach();
    clearTimeout(this.#redial);
    this.#state = "closed";
    if (socket === undefined) return;
    closeSocket(socket, code, reason, this.#context.tuning.closeGraceMs);
  }

  /** Like `close`, but reports the link as down if it was up. */
  end(code: PeerCloseCode, reason: string): void {
    const epoch = this.#epoch;
    this.close(code, reason);
    if (epoch !== 0) this.#context.events.onDown(this.#peer, epoch, false);
  }

  /** The socket of a new attempt; `undefined` if the address cannot be part of a URL. */
  #connect(): WebSocket | undefined {
    const { tls, tuning } = this.#context;
    const { dialTimeoutMs } = tuning;
    const scheme = tls === undefined ? "ws" : "wss";
    const dialed = { ...this.address, peer: this.#peer, timeoutMs: dialTimeoutMs };
    try {
      return new WebSocket(`${scheme}://${formatAddress(this.address)}/peer`, PEER_SUBPROTOCOL, {
        ...(tls === undefined ? {} : { createConnection: () => tls.dial(dialed) }),
        ...DIAL_OPTIONS,
        perMessageDeflate: false,
        maxPayload: HELLO_BYTES_MAX,
        handshakeTimeout: dialTimeoutMs,
        // A mask of zeros saves a pass over the bytes. Masks protect proxies that mistake WebSocket
        // frames for HTTP, and there are no such proxies between nodes.
        generateMask: zeroMask,
      });
    } catch (error) {
      // The members of a cluster are data: one bad address must not end every node.
      if (!(error instanceof SyntaxError)) throw error;
      this.#lose(false, this.#context.tuning.refusedRedialMs);
      this.#refused(`cannot dial ${this.#name}: ${error.message}`);
      return undefined;
    }
  }

  #listen(socket: WebSocket): void {
    let errorCode = "";
    let httpStatus = 0;
    let tlsProblem: string | undefined;
    socket.on("error", (error: NodeJS.ErrnoException) => {
      errorCode = error.code ?? "";
      tlsProblem = error instanceof CertificateError ? error.message : outgoingProblem(error);
    });
    socket.on("upgrade", (response) => {
      if (this.#socket === socket) this.#upgraded(response.socket);
      // `ws` reports this only when its own side of the connection is closed too, turns later.
      const onGone = (code: string): void => {
        if (this.#socket !== socket || socket.readyState !== WebSocket.OPEN) return;
        this.#ended(CLOSED_WITHOUT_WORDS, "", code);
        socket.terminate();
      };
      response.socket.on("end", () => onGone(""));
      response.socket.on("error", (error: NodeJS.ErrnoException) => {
        errorCode = error.code ?? "";
        onGone(errorCode);
      });
    });
    socket.on("unexpected-response", (_request, response) => {
      httpStatus = response.statusCode ?? 0;
      socket.terminate();
    });
    socket.on("open", () => {
      if (this.#socket !== socket) return;
      this.#state = "greeting";
      socket.send(encodeHello(this.#context.identities.own, this.#peer), HELLO_OPTIONS);
    });
    socket.on("pong", () => {
      if (this.#socket !== socket) return;
      // `silentTicks` is 0 after a second pong: what it answers was measured.
      if (this.#silentTicks > 0 && this.#state === "up") {
        const { events } = this.#context;
        events.onRoundTrip?.(this.#peer, performance.now() - this.#pingedMs);
      }
      this.#silentTicks = 0;
    });
    socket.on("message", (data) => {
      if (this.#socket === socket) this.#greeted(socket, data as Buffer);
    });
    socket.on("close", (code, reason) => {
      if (this.#socket !== socket) return;
      if (tlsProblem !== undefined && this.#state === "connecting") this.#noTls(tlsProblem);
      else if (httpStatus === 0) this.#ended(code, reason.toString(), errorCode);
      else this.#notAPeer(httpStatus);
    });
  }

  #upgraded(stream: Socket): void {
    this.#stream = stream;
    if (this.#context.tls === undefined) return;
    this.#certificate = (stream as TLSSocket).getPeerX509Certificate();
    assert(this.#certificate !== undefined, () => "a peer without a certificate was let through");
  }

  /** Handles the hello, which is the only message that the peer may send on this link. */
  #greeted(socket: WebSocket, data: Buffer): void {
    const { identities, events, tuning, tls } = this.#context;
    const peer = this.#peer;
    if (this.#state !== "greeting") {
      this.#lose(false, tuning.refusedRedialMs);
      const reason = "the peer may send only a hello on this link";
      closeSocket(socket, PEER_CLOSE.badFrame, reason, tuning.closeGraceMs);
      this.#refused(`node ${peer} sent a message on the link this node sends on`);
      return;
    }
    // The certificate of another node was refused in the handshake.
    const admitted = identities.admit(data, peer, tls === undefined ? 0 : peer);
    if ("code" in admitted) {
      this.#lose(false, tuning.refusedRedialMs);
      closeSocket(socket, admitted.code, admitted.reason, tuning.closeGraceMs);
      this.#refused(`link to ${this.#name} refused: ${admitted.detail}`);
      return;
    }
    this.#network = networkOf(this.#stream?.remoteAddress);
    this.#state = "up";
    this.#silentTicks = 0;
    this.#attempts = 0;
    this.#isWelcome = false;
    this.#lastRefusal = "";
    this.#epoch = this.#context.nextEpoch();
    events.onUp(peer, this.#epoch);
  }

  /** The socket has closed, and this side did not close it. */
  #ended(code: number, reason: string, errorCode: string): void {
    const isRefusal = code >= 4000 || code === PEER_CLOSE.badFrame;
    // A process that still gives a reason has not exited, and one that cannot be reached need not
    // have.
    const isGone = code === PEER_CLOSE.goingAway || code === 1005 || code === CLOSED_WITHOUT_WORDS;
    const closed = isGone && (errorCode === "" || ENDED_BY_PEER.has(errorCode));
    const isLasting = isRefusal && !PASSING.has(code);
    const isBrokenOff = this.#state === "connecting" && errorCode === "ECONNRESET";
    this.#lose(closed, isLasting ? this.#context.tuning.refusedRedialMs : 0);
    if (isRefusal && code !== PEER_CLOSE.unproven)
      this.#refused(`link refused by ${this.#name}: ${reason}`);
    else if (isBrokenOff && this.#attempts > BROKEN_OFF_MAX)
      this.#refused(`${this.#name} breaks off connections before it answers: ${this.#guess}`);
  }

  /** The other side could not agree on TLS with this one, or is not the node that it should be. */
  #noTls(problem: string): void {
    this.#lose(false, this.#context.tuning.refusedRedialMs);
    this.#refused(`cannot link to ${this.#name}: it ${problem}`);
  }

  #hasExpired(): boolean {
    const { tls } = this.#context;
    const certificate = this.#certificate;
    return tls !== undefined && certificate !== undefined && tls.wallMs() >= endMsOf(certificate);
  }

  /** Ends a link whose certificate was good when it began. */
  #refuseCertificate(problem: string): void {
    const socket = this.#socket;
    this.#lose(false, 0);
    if (socket !== undefined) {
      const { closeGraceMs } = this.#context.tuning;
      closeSocket(socket, PEER_CLOSE.certificate, `the certificate ${problem}`, closeGraceMs);
    }
    this.#refused(`link to ${this.#name} ended: its certificate ${problem}`);
  }

  /** Something other than a peer, or a peer that is stopping (503), answered the upgrade. */
  #notAPeer(httpStatus: number): void {
    const isPassing = httpStatus === 503;
    this.#lose(false, isPassing ? 0 : this.#context.tuning.refusedRedialMs);
    if (!isPassing) this.#refused(`no peer port at ${this.#name}: HTTP status ${httpStatus}`);
  }

  /** Ends a link that does not answer or does not drain. A close frame would not get through. */
  #giveUp(): void {
    const socket = this.#socket;
    this.#lose(false, 0);
    socket?.terminate();
  }

  /**
   * Abandons the socket, schedules the next attempt, then reports. With `pauseMs` 0 it uses the
   * usual backoff.
   */
  #lose(closed: boolean, pauseMs: number): void {
    const { events, tuning } = this.#context;
    const epoch = this.#epoch;
    this.#detach();
    this.#state = "waiting";
    const backoffMs = Math.min(tuning.redialMaxMs, tuning.redialMinMs * 2 ** this.#attempts);
    const isLong = pauseMs > 0 && !this.#isWelcome;
    const spreadMs = (isLong ? pauseMs : backoffMs) - tuning.redialMinMs;
    const delayMs = tuning.redialMinMs + Math.max(0, spreadMs) * (0.5 + Math.random() / 2);
    this.#redial = setTimeout(() => this.dial(), delayMs);
    if (epoch !== 0) events.onDown(this.#peer, epoch, closed);
  }

  #detach(): WebSocket | undefined {
    const socket = this.#socket;
    this.#outbox.clear();
    this.#socket = undefined;
    this.#stream = undefined;
    this.#certificate = undefined;
    this.#epoch = 0;
    return socket;
  }

  /** Returns false if there was nothing to send. */
  #flush(isLast = false): boolean {
    const socket = this.#socket;
    const stream = this.#stream;
    if (socket === undefined || stream === undefined) return false;
    return this.#outbox.flush(socket, stream, isLast);
  }

  #isOverfull(): boolean {
    return this.#outbox.capacity > this.#context.tuning.bufferedBytesMax;
  }

  get #guess(): string {
    return this.#context.tls === undefined
      ? "it may speak TLS, and this node speaks plain text"
      : "it may not accept the certificate of this node, and its log says why";
  }

  get #name(): string {
    return `node ${this.#peer} (${formatAddress(this.address)})`;
  }

  /** Reports a refusal once, not with every attempt that gets it. */
  #refused(reason: string): void {
    if (reason === this.#lastRefusal) return;
    this.#lastRefusal = reason;
    this.#context.log(reason);
  }
}

function zeroMask(mask: Buffer): void {
  mask.fill(0);
}
