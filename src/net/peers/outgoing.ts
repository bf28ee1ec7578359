/**
 * The link that this node dialed to one peer, and the only one on which it sends to that peer.
 *
 * States: waiting → connecting → greeting → up → waiting …, and closed. Each epoch begins with
 * exactly one `onUp` and ends with exactly one `onDown`; failed attempts in between are not
 * reported. Messages sent while the link is not up are dropped: the protocol above repeats what
 * matters.
 */
import type { X509Certificate } from "node:crypto";
import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { TLSSocket } from "node:tls";
import { endMsOf } from "../../certificates/index.js";
import { assert } from "../../errors/index.js";
import type { NodeId } from "../../raft/index.js";
import { DIAL_OPTIONS } from "../../reach/index.js";
import type { BoundedLog } from "../bounded-log.js";
import { formatAddress } from "../listen.js";
import { networkOf } from "../strangers.js";
import { outgoingProblem } from "../tls/problems.js";
import { CertificateError, type TransportTls } from "../tls/transport.js";
import type { TrafficMeter } from "../traffic-meter.js";
import type { PeerAddress, PeerEvents, PeerMessage } from "../types.js";
import type { PeerFramePool } from "./frame.js";
import { encodeHello, PEER_CLOSE, type PeerCloseCode } from "./hello.js";
import { FROM_DIALED, foreignLanguage, type LinkClose } from "./link-frame.js";
import { CLOSED_WITHOUT_WORDS, LinkSocket } from "./link-socket.js";
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
  #socket: LinkSocket | undefined;
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
    if (!URL.canParse(`http://${formatAddress(this.address)}`)) {
      // The members of a cluster are data: one bad address must not end every node.
      this.#lose(false, this.#context.tuning.refusedRedialMs);
      this.#refused(`cannot dial ${this.#name}: this is not an address`);
      return;
    }
    this.#state = "connecting";
    this.#silentTicks = 0;
    this.#attempts += 1;
    this.#socket?.destroy();
    this.#socket = this.#connect();
  }

  /** The network in which the peer was last reached, in the form of `networkOf`; empty before. */
  get network(): string {
    return this.#network;
  }

  /** Bytes that the kernel has not taken yet; 0 unless the link is up. */
  get bufferedBytes(): number {
    const socket = this.#socket;
    if (this.#state !== "up" || socket === undefined) return 0;
    return socket.bufferedBytes + this.#outbox.bytes;
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
    else if (this.#state === "up") {
      // The first of several pings without an answer.
      if (this.#silentTicks === 1) this.#pingedMs = performance.now();
      this.#socket?.ping();
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
    socket?.close(code, reason, this.#context.tuning.closeGraceMs);
  }

  /** Like `close`, but reports the link as down if it was up. */
  end(code: PeerCloseCode, reason: string): void {
    const epoch = this.#epoch;
    this.close(code, reason);
    if (epoch !== 0) this.#context.events.onDown(this.#peer, epoch, false);
  }

  #connect(): LinkSocket {
    const { tls, tuning } = this.#context;
    const dialed = { ...this.address, peer: this.#peer };
    const stream = tls?.dial(dialed) ?? connect({ ...DIAL_OPTIONS, ...this.address });
    const socket = new LinkSocket(stream, {
      // The answer to the hello comes once, and after it only answers to pings.
      onFrame: (_, body) =>
        this.#state === "up" ? this.#ponged() : this.#greeted(socket, stream, body),
      onForeign: (first) => this.#notAPeer(socket, first),
      onBad: (code, reason) => this.#refuse(socket, code, reason, reason),
      onEnd: (end, error) => this.#ended(end, error, socket.isHeard),
    });
    const patience = setTimeout(() => this.#giveUp(), tuning.dialTimeoutMs);
    // A certificate that is not the peer's is refused before this, so such a process hears nothing.
    stream.once(tls === undefined ? "connect" : "secureConnect", () => {
      clearTimeout(patience);
      this.#greet(socket, stream);
    });
    stream.once("close", () => clearTimeout(patience));
    return socket;
  }

  #greet(socket: LinkSocket, stream: Socket): void {
    if (stream instanceof TLSSocket) {
      this.#certificate = stream.getPeerX509Certificate();
      assert(this.#certificate !== undefined, () => "a peer without a certificate was let through");
    }
    this.#state = "greeting";
    socket.greet(encodeHello(this.#context.identities.own, this.#peer));
  }

  #ponged(): void {
    // `silentTicks` is 0 after a second pong: what it answers was measured.
    if (this.#silentTicks > 0) {
      this.#context.events.onRoundTrip?.(this.#peer, performance.now() - this.#pingedMs);
    }
    this.#silentTicks = 0;
  }

  #greeted(socket: LinkSocket, stream: Socket, hello: Uint8Array): void {
    const { identities, events, tls } = this.#context;
    const peer = this.#peer;
    // The certificate of another node was refused in the handshake.
    const admitted = identities.admit(hello, peer, tls === undefined ? 0 : peer);
    if ("code" in admitted) {
      this.#refuse(socket, admitted.code, admitted.reason, admitted.detail);
      return;
    }
    socket.accept(FROM_DIALED);
    this.#network = networkOf(stream.remoteAddress);
    this.#state = "up";
    this.#silentTicks = 0;
    this.#attempts = 0;
    this.#isWelcome = false;
    this.#lastRefusal = "";
    this.#epoch = this.#context.nextEpoch();
    events.onUp(peer, this.#epoch);
  }

  /** The connection has ended, and this side did not end it. */
  #ended(
    { code, reason }: LinkClose,
    error: NodeJS.ErrnoException | undefined,
    isHeard: boolean,
  ): void {
    const tlsProblem = error === undefined || isHeard ? undefined : tlsProblemOf(error);
    if (tlsProblem !== undefined) {
      this.#noTls(tlsProblem);
      return;
    }
    const isRefusal = code >= 4000 || code === PEER_CLOSE.badFrame;
    // A process that still gives a reason has not exited, and one that cannot be reached need not
    // have.
    const isGone = code === PEER_CLOSE.goingAway || code === CLOSED_WITHOUT_WORDS;
    const closed = isGone && (error?.code === undefined || ENDED_BY_PEER.has(error.code));
    const isLasting = isRefusal && !PASSING.has(code);
    this.#lose(closed, isLasting ? this.#context.tuning.refusedRedialMs : 0);
    if (isRefusal && code !== PEER_CLOSE.unproven)
      this.#refused(`link refused by ${this.#name}: ${reason}`);
    else if (closed && !isHeard && this.#attempts > BROKEN_OFF_MAX)
      this.#refused(`${this.#name} breaks off connections before it answers: ${this.#guess}`);
  }

  /** The other side could not agree on TLS with this one, or is not the node that it should be. */
  #noTls(problem: string): void {
    this.#lose(false, this.#context.tuning.refusedRedialMs);
    this.#refused(`cannot link to ${this.#name}: it ${problem}`);
  }

  /** Ends a link that never was up, or on which the peer said what it may not say. */
  #refuse(socket: LinkSocket, code: PeerCloseCode, reason: string, detail: string): void {
    const { refusedRedialMs, closeGraceMs } = this.#context.tuning;
    this.#lose(false, refusedRedialMs);
    socket.close(code, reason, closeGraceMs);
    this.#refused(`link to ${this.#name} refused: ${detail}`);
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
    const { closeGraceMs } = this.#context.tuning;
    socket?.close(PEER_CLOSE.certificate, `the certificate ${problem}`, closeGraceMs);
    this.#refused(`link to ${this.#name} ended: its certificate ${problem}`);
  }

  /** Something other than a peer port answered. */
  #notAPeer(socket: LinkSocket, first: number): void {
    socket.destroy();
    const language = foreignLanguage(first);
    if (language === "TLS") this.#noTls("speaks TLS, and this node plain text");
    else {
      this.#lose(false, this.#context.tuning.refusedRedialMs);
      this.#refused(`no peer port at ${this.#name}: it speaks ${language ?? "something else"}`);
    }
  }

  /** Ends a link that does not answer or does not drain. A close frame would not get through. */
  #giveUp(): void {
    const socket = this.#socket;
    this.#lose(false, 0);
    socket?.destroy();
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

  #detach(): LinkSocket | undefined {
    const socket = this.#socket;
    this.#outbox.clear();
    this.#socket = undefined;
    this.#certificate = undefined;
    this.#epoch = 0;
    return socket;
  }

  /** Returns false if there was nothing to send. */
  #flush(isLast = false): boolean {
    const socket = this.#socket;
    return socket !== undefined && this.#outbox.flush(socket, isLast);
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

function tlsProblemOf(error: Error): string | undefined {
  return error instanceof CertificateError ? error.message : outgoingProblem(error);
}
