/**
 * The clients by which a node's doors speak to their own node: one SDK client for each caller that a
 * door has to speak for, opened when it is first needed and closed some time after it was last used.
 * So the order of commands, exactly-once, rights, limits and recovery are the SDK's and the node's.
 *
 * A client never speaks for two callers, and never goes to another node. A token is kept only in its
 * client, and never logged.
 */
import { createHash } from "node:crypto";
import {
  CLIENT_DEFAULTS,
  type Client,
  type ClientSettings,
  connectThrough,
  type Logger,
} from "../client/index.js";
import { type ErrorCode, HoldfastError } from "../errors/index.js";
import type { InProcessCaller, InProcessEvents, InProcessLink } from "../net/index.js";
import { type DoorClock, every, SYSTEM_CLOCK } from "./clock.js";

/** Whom a door speaks for. */
export interface DoorCaller extends InProcessCaller {
  /** The access token that it has shown, unchecked. Not used for one that is local. */
  readonly token: string | undefined;
}

export interface DoorClientsOptions {
  /** Connects to the node, as the caller. */
  readonly connect: (caller: InProcessCaller, events: InProcessEvents) => InProcessLink;
  /** The name of the sessions, such as "doors of node 2". */
  readonly name: string;
  readonly logger?: Logger | undefined;
  /** Clients at a time, over all callers. Default 4,096. */
  readonly clientsMax?: number | undefined;
  /** Clients of one address that are being opened. Default 32. */
  readonly openingMax?: number | undefined;
  /** How long a client stays after its last use, in milliseconds. Default 60,000. */
  readonly idleMs?: number | undefined;
  /**
   * How long the opening of a client, or a call that does not wait, may take before it fails with
   * `UNAVAILABLE`, in milliseconds. Default 5,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Default: the clock of the system. */
  readonly clock?: DoorClock | undefined;
  /** How a client of the SDK is opened. Default: on the platform of Node. */
  readonly open?: typeof connectThrough | undefined;
}

/** A client in use. */
export interface BorrowedClient {
  readonly client: Client;
  /** As whom the node hears it; `undefined`: as a stranger. */
  readonly identity: string | undefined;
  /** Must be called once when the use is over. */
  giveBack(): void;
}

/** It is not dialed: names this process in messages, and may be sent a token. */
const ENDPOINT = "ws://localhost";
const CLOSE_ABNORMAL = 1006;
const CLIENTS_MAX = 4_096;
const OPENING_MAX = 32;
const IDLE_MS = 60_000;
const TIMEOUT_MS = 5_000;
/** How often idle clients are looked for within `idleMs`. */
const LOOKS_PER_IDLE = 4;
/** How long a stop waits for the ends of sessions; afterwards they end by themselves. */
const CLOSE_TIMEOUT_MS = 500;

export class DoorClients {
  readonly #options: DoorClientsOptions;
  readonly #clientsMax: number;
  readonly #openingMax: number;
  readonly #clock: DoorClock;
  readonly #entries = new Map<string, CallerClient>();
  /** Clients that are being opened, by the address of their callers. */
  readonly #opening = new Map<string, number>();
  readonly #endSweeps: () => void;
  #isClosing = false;
  #isClosed = false;

  constructor(options: DoorClientsOptions) {
    this.#options = options;
    const { clientsMax = CLIENTS_MAX, openingMax = OPENING_MAX, idleMs = IDLE_MS } = options;
    this.#clientsMax = clientsMax;
    this.#openingMax = openingMax;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#endSweeps = every(this.#clock, idleMs / LOOKS_PER_IDLE, () => this.#closeIdle(idleMs));
  }

  /** Clients that are open or being opened. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Resolves to the caller's client. Rejects like `connect`: `UNAUTHENTICATED` for a token that the
   * cluster does not know, `FORBIDDEN`, `UNAVAILABLE` while there is no leader or the node stops; and
   * with `BUSY` if there are too many callers.
   */
  async borrow(caller: DoorCaller): Promise<BorrowedClient> {
    if (this.#isClosing) throw new HoldfastError("UNAVAILABLE", "this node is stopping");
    const key = keyOf(caller);
    let entry = this.#entries.get(key);
    // One that the cluster has closed may be let in again, or learns why not.
    if (entry?.client?.closed.aborted === true) entry = undefined;
    entry ??= this.#add(key, caller);
    entry.users += 1;
    try {
      const client = entry.client ?? (await entry.opened);
      return new Use(client, entry, this.#clock);
    } catch (error) {
      entry.users -= 1;
      throw error;
    }
  }

  /** Ends all sessions. Never rejects; takes at most half a second. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#endSweeps();
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    const closed = Promise.all(entries.map((entry) => entry.end()));
    await new Promise<void>((resolve) => {
      const timer = this.#clock.setTimer(CLOSE_TIMEOUT_MS, resolve);
      timer.setKeepsProcess(true);
      closed.then(() => {
        timer.cancel();
        resolve();
      });
    });
    this.#isClosed = true;
  }

  #add(key: string, caller: DoorCaller): CallerClient {
    if (this.#entries.size >= this.#clientsMax && !this.#closeLeastUsed()) {
      throw new HoldfastError("BUSY", "this node speaks for too many callers at the moment");
    }
    const { address } = caller;
    const opening = this.#opening.get(address) ?? 0;
    if (opening >= this.#openingMax) {
      throw new HoldfastError("BUSY", "too many callers of this address begin at once");
    }
    this.#opening.set(address, opening + 1);
    let link: InProcessLink | undefined;
    const opened = this.#open(caller, (connected) => {
      link = connected;
    });
    const entry = new CallerClient(opened, () => link?.identity, this.#clock.monotonicMs());
    this.#entries.set(key, entry);
    const isOver = (): void => {
      const left = (this.#opening.get(address) ?? 1) - 1;
      if (left > 0) this.#opening.set(address, left);
      else this.#opening.delete(address);
    };
    const remove = (): void => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    entry.opened.then(
      ({ closed }) => {
        isOver();
        if (closed.aborted) remove();
        else closed.addEventListener("abort", remove, { once: true });
      },
      () => {
        isOver();
        remove();
      },
    );
    return entry;
  }

  #open(caller: DoorCaller, onLink: (link: InProcessLink) => void): Promise<Client> {
    const { connect, name, logger, timeoutMs = TIMEOUT_MS } = this.#options;
    const { open = connectThrough } = this.#options;
    const settings: ClientSettings = {
      ...CLIENT_DEFAULTS,
      endpoints: [ENDPOINT],
      followLeader: false,
      token: caller.isLocal ? undefined : caller.token,
      name,
      logger,
      connectTimeoutMs: timeoutMs,
    };
    return open((_, events) => {
      // Nothing is served here any more, and no later attempt goes better.
      if (this.#isClosed) return refused(events.onClose);
      const link = connect(caller, events);
      onLink(link);
      return {
        send: (frame) => link.send(frame),
        close: () => link.close(),
        setKeepsProcess: () => {},
      };
    }, settings);
  }

  #closeIdle(idleMs: number): void {
    const now = this.#clock.monotonicMs();
    for (const [key, entry] of this.#entries) {
      if (entry.users === 0 && now - entry.lastUseMs >= idleMs) this.#remove(key, entry);
    }
  }

  /** Returns whether there was one that nobody uses. */
  #closeLeastUsed(): boolean {
    let least: [string, CallerClient] | undefined;
    for (const pair of this.#entries) {
      const [, { users, lastUseMs }] = pair;
      if (users === 0 && (least === undefined || lastUseMs < least[1].lastUseMs)) least = pair;
    }
    if (least === undefined) return false;
    this.#remove(...least);
    return true;
  }

  #remove(key: string, entry: CallerClient): void {
    this.#entries.delete(key);
    void entry.end();
  }
}

/** The client of one caller, open or being opened. */
class CallerClient {
  readonly opened: Promise<Client>;
  /** `undefined` until it is open. */
  client: Client | undefined;
  users = 0;
  lastUseMs: number;
  readonly #identity: () => string | undefined;

  constructor(opened: Promise<Client>, identity: () => string | undefined, nowMs: number) {
    this.#identity = identity;
    this.lastUseMs = nowMs;
    this.opened = opened.then((client) => {
      this.client = client;
      return client;
    });
  }

  get identity(): string | undefined {
    return this.#identity();
  }

  /** Never rejects. */
  async end(): Promise<void> {
    try {
      await (await this.opened).close();
    } catch {
      // It never opened, and its callers know.
    }
  }
}

class Use implements BorrowedClient {
  readonly client: Client;
  #entry: CallerClient | undefined;
  readonly #clock: DoorClock;

  constructor(client: Client, entry: CallerClient, clock: DoorClock) {
    this.client = client;
    this.#entry = entry;
    this.#clock = clock;
  }

  get identity(): string | undefined {
    return this.#entry?.identity;
  }

  giveBack(): void {
    const entry = this.#entry;
    if (entry === undefined) return;
    this.#entry = undefined;
    entry.users -= 1;
    entry.lastUseMs = this.#clock.monotonicMs();
  }
}

/** Callers with the same key are the same, by all that the node can judge or show. */
function keyOf({ token, certifiedName, isEncrypted, isLocal, address }: DoorCaller): string {
  if (isLocal) return "local";
  const shown = token === undefined ? "" : createHash("sha256").update(token).digest("base64");
  return `${address} ${isEncrypted ? "tls" : "plain"} ${shown} ${certifiedName ?? ""}`;
}

/** A connection that does not open. */
function refused(onClose: (code: number, reason: string, refusal: ErrorCode) => void) {
  queueMicrotask(() => onClose(CLOSE_ABNORMAL, "this node is stopping", "UNAVAILABLE"));
  return { send: () => {}, close: () => {}, setKeepsProcess: () => {} };
}
