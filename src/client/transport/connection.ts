/**
 * Finds a node that serves and keeps one connection to it. A search tries every known endpoint and
 * prefers the leader that a `hello` names; after a loss, a session takes the first node that serves.
 * A node that knows of no leader is used only if nothing better was found, and nodes that failed a
 * moment ago are tried last. When the connection ends, the other nodes are tried at once, each for
 * the first time without a pause; after that come jittered pauses that grow while no node serves. A
 * node that falls silent while something is awaited from it is left (`link-liveness.ts`). This class
 * knows nothing of sessions; it passes the messages after `hello` to its events.
 */
import { type ErrorCode, HoldfastError } from "../../errors/index.js";
import { decodeServerFrame } from "../../net/framing/index.js";
import { type Hello, MESSAGE, PROTOCOL_VERSION, type ServerMessage } from "../../protocol/index.js";
import { isProtected } from "../../reach/portable.js";
import type { ClientLog } from "./client-log.js";
import { wayOut } from "./default-endpoints.js";
import { DialPatience } from "./dial-patience.js";
import { type Endpoints, isLocal, socketUrl } from "./endpoints.js";
import { LinkLiveness } from "./link-liveness.js";
import type { Platform, Transport } from "./platform.js";
import {
  readToken,
  refusalIn,
  type SignInRefusal,
  sendToken,
  type TokenSource,
} from "./sign-in.js";

const PAUSE_MS_MIN = 20;
const PAUSE_MS_MAX = 1_000;
/** A node that served this long was worth its search: the next search begins without a pause. */
const STEADY_MS = 1_000;
/**
 * When the leader fails, all its clients come to the other nodes at once. Each stays with the first one
 * that serves, because another handshake of each would keep the last of them waiting; it moves to the
 * leader after this time or up to twice as long, so that they do not all move together.
 */
const FOLLOW_AFTER_MS = 30_000;

const CLOSE = { normal: 1000, protocolError: 1002, never: 1006 } as const;
/**
 * Codes with which a node says that the client is at fault. Once may be an accident (a paused
 * process asks too late, a proxy damages a frame); if it is repeated, it is true, and other nodes
 * would say the same.
 */
const REFUSAL_CODES: ReadonlySet<number> = new Set([1002, 1008]);
const REFUSALS_MAX = 3;
/** An older refusal is forgotten. */
const REFUSAL_MEMORY_MS = 10_000;

/** Why a node is not used. */
export interface Objection {
  readonly why: string;
  /** It is used if no other node of this search serves. */
  readonly isLastResort: boolean;
}

export interface ConnectionEvents {
  /** Why this node must not be used, or `undefined`. Called before any other event of the node. */
  objection(hello: Hello): Objection | undefined;
  onReady(hello: Hello): void;
  /** The messages of one frame, after `hello`. */
  onMessages(messages: readonly ServerMessage[], from: number): void;
  /** The connection that was ready is gone; a search is under way. */
  onLost(): void;
  /** No node will serve this client: it breaks the protocol or is not allowed. */
  onRefused(error: HoldfastError): void;
  /**
   * Whether clients of this kind are many: after a loss, each takes the first node that serves, and
   * moves to the leader later. False for connections that may need the node that they have.
   */
  readonly isOneOfMany: boolean;
  /**
   * `onTurnBegin` comes before, and `onTurnEnd` after, all of the above, whenever the network
   * calls.
   */
  onTurnBegin(): void;
  onTurnEnd(): void;
}

interface Link {
  readonly url: string;
  transport: Transport | undefined;
  /** The token was asked for or sent, and the next `hello` is for its identity. */
  isSigningIn: boolean;
  isReady: boolean;
}

export class Connection {
  readonly #platform: Platform;
  readonly #endpoints: Endpoints;
  readonly #events: ConnectionEvents;
  readonly #nowMs: () => number;
  readonly #patience: DialPatience;
  readonly #token: TokenSource | undefined;
  readonly #log: ClientLog;
  /** What was logged of each endpoint since a node last served: repetitions are for debugging. */
  readonly #complaints = new Map<string, string>();
  /** The one connection that counts; events of any other are ignored. */
  #link: Link | undefined;
  #isStopped = true;
  #keepsProcess = true;
  /** The endpoints that this search still has to try. */
  #candidates: string[] = [];
  /** Not tried again when another node names them: tried in this search, or failed a moment ago. */
  readonly #tried = new Set<string>();
  /** All that were ever tried. */
  readonly #dialed = new Set<string>();
  /** Knew of no leader, or of a better node: used if no candidate is left. */
  #fallbacks: string[] = [];
  /** Failed a moment ago: tried if there is no fallback either. */
  #lastResorts: string[] = [];
  #acceptsAny = false;
  /** Objected to, and used if nothing else is left: nodes of a cluster that is not the session's. */
  #strangers: string[] = [];
  #acceptsStrangers = false;
  /** This search began when a node was lost that had served. */
  #isReturning = false;
  /** When a client that returned moves to the leader; `Infinity`: never. */
  #followDueMs = Number.POSITIVE_INFINITY;
  /** Searches begun since a node last served for a while. */
  #searches = 0;
  /** When the node behind the connection began to serve; `Infinity` while it does not. */
  #servedSinceMs = Number.POSITIVE_INFINITY;
  #refusals = 0;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** The largest frame that the node accepts. */
  frameBytesMax = 0;
  /** When the search goes on, because of a pause or of a node that does not say `hello`. */
  #searchDueMs = Number.POSITIVE_INFINITY;
  readonly #liveness = new LinkLiveness();
  #lastFailure = "";

  constructor(
    platform: Platform,
    endpoints: Endpoints,
    nowMs: () => number,
    patienceMs: number,
    token: TokenSource | undefined,
    log: ClientLog,
    events: ConnectionEvents,
  ) {
    this.#platform = platform;
    this.#endpoints = endpoints;
    this.#nowMs = nowMs;
    this.#patience = new DialPatience(patienceMs);
    this.#token = token;
    this.#log = log;
    this.#events = events;
  }

  /** Why no node serves at the moment, for the error of a caller that gives up. */
  get lastFailure(): string {
    return this.noLeader ?? this.#lastFailure;
  }

  /** For somebody who has just begun, and may have named the wrong nodes or none. */
  whyNobodyServes(given: readonly string[]): string {
    if (this.noLeader !== undefined) return this.noLeader;
    const tried = [...this.#dialed].sort();
    const others = tried.length > 1 ? ` (tried ${tried.join(", ")})` : "";
    return this.#lastFailure + others + wayOut(given);
  }

  /** The same, if the reason is that there is no leader. */
  get noLeader(): string | undefined {
    return this.#endpoints.noLeader;
  }

  /** The endpoint of the node that serves; "" while there is none. */
  get endpoint(): string {
    return this.#link?.isReady === true ? this.#link.url : "";
  }

  get isReady(): boolean {
    return this.#link?.isReady === true;
  }

  /** When `onAlarm` has something to do. */
  get dueMs(): number {
    return this.isReady ? Math.min(this.#liveness.dueMs, this.#followDueMs) : this.#searchDueMs;
  }

  /** Whether the node owes an answer or is to say when something happens. */
  setAwaited(isAwaited: boolean): void {
    this.#liveness.setAwaited(isAwaited, this.#nowMs());
  }

  start(): void {
    this.#isStopped = false;
    this.#isReturning = false;
    this.#searches = 0;
    this.#search();
  }

  /** Closes forever. No event follows. */
  stop(code: number = CLOSE.normal, reason = ""): void {
    this.#isStopped = true;
    this.#searchDueMs = Number.POSITIVE_INFINITY;
    this.#drop(code, reason);
  }

  send(frame: Uint8Array): void {
    this.#link?.transport?.send(frame);
  }

  /** The node behind the connection serves. */
  served(): void {
    this.#servedSinceMs = this.#nowMs();
    this.#patience.served();
    this.#endpoints.served();
    // If it stops answering now, an older failure is not the reason.
    if (this.#link !== undefined) this.#note(this.#link, "does not answer");
  }

  /** The node behind the connection answers but cannot serve; `why` says why. */
  servesNot(why: string): void {
    this.#endpoints.served();
    if (this.#link !== undefined) this.#note(this.#link, why);
  }

  /** Leaves this node for another one. */
  move(reason: string): void {
    const link = this.#link;
    if (link?.isReady !== true) return;
    this.#drop(CLOSE.normal, "");
    this.#log.info("moves to another node", { endpoint: link.url, why: reason });
    this.#lost(link, reason);
  }

  setKeepsProcess(keeps: boolean): void {
    this.#keepsProcess = keeps;
    this.#link?.transport?.setKeepsProcess(keeps);
  }

  onAlarm(nowMs: number): void {
    const link = this.#link;
    if (link?.isReady === true) {
      const silentMs = this.#liveness.onAlarm(nowMs, link.transport);
      if (silentMs !== undefined) this.#onSilence(link, silentMs);
      else if (nowMs >= this.#followDueMs) this.#follow(link);
      return;
    }
    if (nowMs < this.#searchDueMs) return;
    const lookAgainMs = link === undefined ? undefined : this.#patience.secondLook(nowMs);
    this.#searchDueMs = lookAgainMs ?? Number.POSITIVE_INFINITY;
    if (link === undefined) {
      this.#search();
    } else if (lookAgainMs === undefined) {
      this.#drop(CLOSE.normal, "");
      this.#failed(link, "no answer in time");
    }
  }

  /** Moves to the leader, if that is another node. */
  #follow(link: Link): void {
    this.#followDueMs = Number.POSITIVE_INFINITY;
    if (!this.#endpoints.leadsElsewhere(link.url)) return;
    this.#drop(CLOSE.normal, "");
    this.#log.debug("moves to the leader", { endpoint: link.url });
    this.#lost(link, "another node leads", false);
  }

  #onSilence(link: Link, silentMs: number): void {
    this.#drop(CLOSE.normal, "");
    this.#endpoints.fellSilent(link.url);
    const why = "does not answer any more";
    this.#log.warn("connection lost", { endpoint: link.url, why, silentMs: Math.round(silentMs) });
    this.#lost(link, why);
  }

  #search(): void {
    const { promising, failed } = this.#endpoints.searchOrder(this.#nowMs());
    this.#searches += 1;
    this.#tried.clear();
    this.#fallbacks = [];
    this.#acceptsAny = false;
    this.#strangers = [];
    this.#acceptsStrangers = false;
    if (promising.length === 0) {
      this.#candidates = failed;
      this.#lastResorts = [];
    } else {
      this.#candidates = promising;
      this.#lastResorts = failed;
      for (const url of failed) this.#tried.add(url);
    }
    this.#dialNext();
  }

  #dialNext(): void {
    let url = this.#candidates.shift();
    while (url !== undefined && this.#tried.has(url)) url = this.#candidates.shift();
    if (url === undefined) {
      this.#acceptsAny = true;
      url = this.#fallbacks.shift() ?? this.#lastResorts.shift();
    }
    if (url === undefined) {
      this.#acceptsStrangers = true;
      url = this.#strangers.shift();
    }
    if (url === undefined) this.#pause();
    else this.#dial(url);
  }

  #dial(url: string): void {
    this.#tried.add(url);
    this.#dialed.add(url);
    const link: Link = { url, transport: undefined, isSigningIn: false, isReady: false };
    this.#link = link;
    if (this.#lastFailure === "") this.#note(link, "does not answer");
    this.#searchDueMs = this.#patience.begin(this.#nowMs());
    const onProgress = (): void => this.#progressed(link);
    link.transport = this.#platform.open(socketUrl(url), {
      onProgress,
      onOpen: onProgress,
      onFrame: (frame) => {
        this.#turn(link, () => this.#onFrame(link, frame));
      },
      onClose: (code, reason, refusal) => {
        this.#turn(link, () => this.#onClose(link, code, reason, refusal));
      },
    });
    link.transport.setKeepsProcess(this.#keepsProcess);
  }

  /** The node is there: it gets more time for the rest. */
  #progressed(link: Link): void {
    if (this.#link !== link || link.isReady) return;
    this.#searchDueMs = this.#patience.begin(this.#nowMs());
  }

  #turn(link: Link, work: () => void): void {
    if (this.#link !== link) return;
    this.#events.onTurnBegin();
    // The beginning of a turn may run listeners, and these may close the client.
    if (this.#link === link) work();
    this.#events.onTurnEnd();
  }

  #onFrame(link: Link, frame: Uint8Array): void {
    this.#liveness.heard(this.#nowMs());
    let messages: ServerMessage[];
    try {
      messages = decodeServerFrame(frame);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.#drop(CLOSE.protocolError, text.slice(0, 120));
      const why = `sent a broken frame: ${text}`;
      this.#log.warn("connection lost", { endpoint: link.url, why });
      this.#lost(link, why);
      return;
    }
    let from = 0;
    while (!link.isReady && this.#link === link && from < messages.length) {
      this.#onFirst(link, messages[from] as ServerMessage);
      from += 1;
    }
    if (this.#link === link && link.isReady && from < messages.length) {
      this.#events.onMessages(messages, from);
    }
  }

  /** A message before the connection is ready. */
  #onFirst(link: Link, message: ServerMessage): void {
    if (message.kind === MESSAGE.hello) this.#onHello(link, message);
    else if (link.isSigningIn) {
      const refusal = refusalIn(message);
      if (refusal !== undefined) this.#onTokenRefused(link, refusal);
    } else {
      this.#drop(CLOSE.protocolError, "hello expected");
      this.#failed(link, "its first message is not a hello");
    }
  }

  #onHello(link: Link, hello: Hello): void {
    const objection = this.#objection(hello);
    if (objection !== undefined && !(objection.isLastResort && this.#acceptsStrangers)) {
      this.#drop(CLOSE.normal, "");
      if (objection.isLastResort) this.#strangers.push(link.url);
      this.#failed(link, objection.why);
      return;
    }
    // Through the socket in a node's directory the client is `local`, and no one else.
    if (this.#token !== undefined && !link.isSigningIn && !isLocal(link.url)) {
      this.#signIn(link, this.#token);
      return;
    }
    // Not before: nodes of another cluster have the same ids.
    this.#endpoints.identify(link.url, hello);
    this.#endpoints.learn(hello.endpoints, hello.leaderId);
    const better = this.#acceptsAny ? undefined : this.#betterThan(link, hello);
    if (better === undefined) {
      this.#ready(link, hello);
      return;
    }
    this.#log.debug("looks for a better node", { endpoint: link.url, leader: hello.leaderId });
    this.#drop(CLOSE.normal, "");
    this.#fallbacks.push(link.url);
    if (better !== "") this.#candidates.unshift(better);
    this.#dialNext();
  }

  #objection(hello: Hello): Objection | undefined {
    if (hello.version === PROTOCOL_VERSION) return this.#events.objection(hello);
    const why =
      `speaks version ${hello.version} of the protocol, and this client version ` +
      `${PROTOCOL_VERSION}: update the older of the two`;
    return { why, isLastResort: false };
  }

  #ready(link: Link, hello: Hello): void {
    link.isReady = true;
    this.#searchDueMs = Number.POSITIVE_INFINITY;
    this.frameBytesMax = hello.frameBytesMax;
    this.#complaints.clear();
    const { nodeId: node, leaderId: leader, clusterId: cluster } = hello;
    const isToFollow = this.#isReturning && this.#endpoints.followsLeader && leader !== node;
    this.#followDueMs = isToFollow
      ? this.#nowMs() + FOLLOW_AFTER_MS * (1 + this.#platform.random())
      : Number.POSITIVE_INFINITY;
    this.#log.info("connected", { endpoint: link.url, node, leader, cluster });
    this.#note(link, hello.leaderId === 0 ? "knows of no leader" : "does not answer");
    this.#events.onReady(hello);
  }

  #signIn(link: Link, source: TokenSource): void {
    if (!isProtected(link.url)) {
      this.#drop(CLOSE.normal, "");
      this.#failed(link, "an access token is sent through wss: only, except on this machine");
      return;
    }
    link.isSigningIn = true;
    readToken(source).then(
      (token) => {
        if (this.#link === link && link.transport !== undefined) sendToken(link.transport, token);
      },
      (error: unknown) => {
        this.#turn(link, () => this.#onNoToken(link, error));
      },
    );
  }

  /** The function that gives the token failed, or what it gave cannot be one. */
  #onNoToken(link: Link, error: unknown): void {
    this.#drop(CLOSE.normal, "");
    const isUseless = error instanceof HoldfastError && error.code === "INVALID_ARGUMENT";
    if (isUseless && this.#isRefusedForGood()) this.#refuse(error);
    else this.#failed(link, `no access token: ${String(error)}`);
  }

  #onTokenRefused(link: Link, { isUnknown, why }: SignInRefusal): void {
    this.#drop(CLOSE.normal, "");
    if (isUnknown && this.#isRefusedForGood()) {
      const text = `${link.url} refused the access token: ${why}`;
      const details = { endpoint: link.url, reason: why };
      this.#refuse(new HoldfastError("UNAUTHENTICATED", text, { details }));
    } else this.#failed(link, why);
  }

  /** The leader's URL if it was not tried yet; "" for any other that is left; `undefined`: stay. */
  #betterThan(link: Link, hello: Hello): string | undefined {
    if (hello.leaderId === hello.nodeId || !this.#endpoints.followsLeader) return undefined;
    if (hello.leaderId === 0) {
      this.#note(link, "knows of no leader");
      return "";
    }
    if (this.#isReturning) return undefined;
    const urls = this.#endpoints.urlsOf(hello.leaderId);
    return urls.some((url) => this.#tried.has(url)) ? undefined : urls[0];
  }

  #onClose(link: Link, code: number, reason: string, refusal?: ErrorCode): void {
    this.#link = undefined;
    const what = closeText(code, reason);
    const error = REFUSAL_CODES.has(code) ? "PROTOCOL" : refusal;
    if (error !== undefined && this.#isRefusedForGood()) {
      const text = `${link.url} refused this client: ${what}`;
      const details = { endpoint: link.url, closeCode: code, reason };
      this.#refuse(new HoldfastError(error, text, { details }));
    } else if (link.isReady) {
      this.#endpoints.fellSilent(link.url);
      this.#log.warn("connection lost", { endpoint: link.url, why: what });
      this.#lost(link, what);
    } else {
      this.#failed(link, what);
    }
  }

  #refuse(error: HoldfastError): void {
    this.#isStopped = true;
    this.#searchDueMs = Number.POSITIVE_INFINITY;
    this.#log.error("the cluster refuses this client", { code: error.code, why: error.message });
    this.#events.onRefused(error);
  }

  #isRefusedForGood(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#refusedAtMs > REFUSAL_MEMORY_MS) this.#refusals = 0;
    this.#refusedAtMs = nowMs;
    this.#refusals += 1;
    return this.#refusals >= REFUSALS_MAX;
  }

  /** An attempt of this search failed. */
  #failed(link: Link, why: string): void {
    this.#note(link, why);
    const isNews = this.#complaints.get(link.url) !== why;
    this.#complaints.set(link.url, why);
    this.#log[isNews ? "warn" : "debug"]("a node does not serve", { endpoint: link.url, why });
    this.#endpoints.fellSilent(link.url);
    this.#endpoints.failed(link.url, this.#nowMs());
    if (!this.#isStopped) this.#dialNext();
  }

  /**
   * A connection that was ready is gone. If the node served well, a new search begins. Otherwise
   * the search that found it continues. So clients that are redirected in circles, or that find
   * nodes failing one after the other, come to the end of the search and pause.
   */
  #lost(link: Link, why: string, isReturning = true): void {
    const nowMs = this.#nowMs();
    const wasSteady = nowMs - this.#servedSinceMs >= STEADY_MS;
    this.#servedSinceMs = Number.POSITIVE_INFINITY;
    this.#note(link, why);
    this.#endpoints.failed(link.url, nowMs);
    this.#events.onLost();
    if (this.#isStopped) return;
    if (wasSteady) {
      this.#isReturning = isReturning && this.#events.isOneOfMany;
      this.#searches = 0;
      this.#search();
    } else {
      this.#resumeSearch();
    }
  }

  /** Nodes that were passed over for the lost one are candidates again. */
  #resumeSearch(): void {
    for (const url of this.#fallbacks) this.#tried.delete(url);
    this.#candidates.push(...this.#fallbacks);
    this.#fallbacks = [];
    this.#acceptsAny = false;
    this.#dialNext();
  }

  #note(link: Link, why: string): void {
    this.#lastFailure = `${link.url}: ${why}`;
  }

  #pause(): void {
    const base = Math.min(PAUSE_MS_MIN * 2 ** Math.min(this.#searches, 10), PAUSE_MS_MAX);
    this.#searchDueMs = this.#nowMs() + base * (0.5 + this.#platform.random() / 2);
  }

  #drop(code: number, reason: string): void {
    const link = this.#link;
    this.#link = undefined;
    link?.transport?.close(code, reason);
  }
}

/** Without the code of a connection that was not closed by anyone, which says nothing. */
function closeText(code: number, reason: string): string {
  if (reason === "") return `closed with code ${code}`;
  return code === CLOSE.never ? reason : `${reason} (code ${code})`;
}
