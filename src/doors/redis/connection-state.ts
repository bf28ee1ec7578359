/**
 * What one connection has said of itself, and what its commands share: identity, database, protocol,
 * the order of its commands, its transaction and its subscriptions. It knows no socket.
 */
import { HoldfastError } from "../../errors/index.js";
import { CommandOrder } from "./command-order.js";
import { ClientEndings, type Endings } from "./locks/endings.js";
import { LockSpace, type LockSpaceRules } from "./locks/lock-space.js";
import type { Callers, DoorNode, HeldClient } from "./ports.js";
import type { Publisher, Subscriptions } from "./pubsub/index.js";
import type { Protocol, RespReply } from "./resp/index.js";
import type { ScriptLibrary } from "./scripts/index.js";
import { Transaction } from "./transaction.js";

/** What a script says as it releases a lock goes to the listeners of its identity. */
export interface ReleasePublisher {
  publishRelease(channel: string, message: string): void;
}

/** The rules of the door, which all connections share. */
export interface DoorRules extends LockSpaceRules {
  /** DEL and EXPIRE may end and move the lock of any value. */
  readonly allowsUnproven: boolean;
  /** Its port answers as a sentinel, and about nothing else. */
  readonly isSentinel: boolean;
  readonly scripts: ScriptLibrary;
  readonly endings: Endings;
  readonly publisher: Publisher;
  /** Says once that something was asked for that the door does not do. */
  readonly noteRefused: (what: string, text: string) => void;
}

/** The rules for one connection, which publishes as who it is. */
export interface ConnectionRules extends Omit<DoorRules, "publisher"> {
  readonly publisher: ReleasePublisher;
}

export interface ConnectionPort {
  readonly id: number;
  readonly address: string;
  readonly isEncrypted: boolean;
  readonly certifiedName: string | undefined;
  /** Sends a message that answers no command. Never throws. */
  push(message: RespReply): void;
  /** It has been found out as whom it speaks; `undefined`: it has said nothing. */
  identify(identity: string | undefined): void;
  /** For the newest command: when all others have their replies; `undefined`: they have. */
  repliesBefore(): Promise<void> | undefined;
  /** Ends the connection after the replies before this one. */
  endAfterReplies(): void;
  /** Ends the connection now. */
  cutOff(reason: string): void;
}

/** The identity of a client that is not known. */
const NOBODY = "anonymous";

export class ConnectionState {
  readonly port: ConnectionPort;
  readonly node: DoorNode;
  readonly rules: ConnectionRules;
  readonly order = new CommandOrder();
  readonly transaction = new Transaction();
  readonly subscriptions: Subscriptions;
  readonly endings: ClientEndings;
  readonly #callers: Callers;
  protocol: Protocol = 2;
  /** As the client calls itself. */
  name = "";
  library = { name: "", version: "" };
  #database = 0;
  #held: HeldClient | undefined;
  #locks: LockSpace | undefined;
  #isSignedIn = false;
  /** Its certificate names nobody. */
  #isNobody = false;
  #meeting: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    port: ConnectionPort,
    node: DoorNode,
    callers: Callers,
    rules: DoorRules,
    subscriptions: Subscriptions,
  ) {
    this.port = port;
    this.node = node;
    this.#callers = callers;
    this.rules = {
      ...rules,
      publisher: {
        publishRelease: (channel, message) =>
          rules.publisher.publishRelease(this, channel, message),
      },
    };
    this.subscriptions = subscriptions;
    this.endings = new ClientEndings(rules.endings, () => this.#client);
  }

  /** It is open: whom a certificate names is looked up at once, since strangers have little time. */
  begin(): void {
    // Its first command asks again, and hears of a failure.
    if (this.isStranger && this.isUnjudged) this.judge().catch(() => {});
  }

  /**
   * Whether it has a certificate of which is not known yet whether the cluster knows the name in it. A
   * name that it does not know is nobody's.
   */
  get isUnjudged(): boolean {
    const isShown = this.port.certifiedName !== undefined;
    return isShown && this.#held === undefined && !this.#isNobody;
  }

  /** Finds out whom its certificate names. */
  async judge(): Promise<void> {
    try {
      await this.meet();
    } catch (error) {
      // Where nobody may do anything, a nobody gets no client.
      const code = error instanceof HoldfastError ? error.code : undefined;
      if (code !== "FORBIDDEN" && code !== "UNAUTHENTICATED") throw error;
      this.#isNobody = true;
    }
  }

  /** Whether it has shown who it is. */
  get isKnown(): boolean {
    return this.#isSignedIn;
  }

  /** Whether limits on strangers apply. */
  get isStranger(): boolean {
    return !this.#isSignedIn && !this.node.isOpen;
  }

  /** Whether it is nobody to this cluster, and may only say who it is. */
  get mustSignIn(): boolean {
    return this.isStranger && !this.node.admitsAnonymous;
  }

  get database(): number {
    return this.#database;
  }

  set database(database: number) {
    this.#database = database;
    this.#locks = undefined;
  }

  /** Whether commands that need a client may begin; otherwise `meet` first. */
  get isMet(): boolean {
    return this.#held !== undefined;
  }

  /** The locks of its database, for its identity. Needs `isMet`. */
  get locks(): LockSpace {
    this.#locks ??= this.#locksIn(this.#database);
    return this.#locks;
  }

  /** The leases of another database. */
  locksOf(database: number): LockSpace {
    return database === this.#database ? this.locks : this.#locksIn(database);
  }

  #locksIn(database: number): LockSpace {
    return new LockSpace(this.held, database, this.order, this.rules, this.endings);
  }

  /** Who the client is, as far as that tells kinds of clients apart. */
  get #client(): string {
    const { address } = this.port;
    const host = address.slice(0, address.lastIndexOf(":"));
    const { name, version } = this.library;
    return `${this.#held?.identity ?? ""} ${host} ${name} ${version}`;
  }

  get held(): HeldClient {
    if (this.#held === undefined) throw new HoldfastError("UNAVAILABLE", "no client yet");
    return this.#held;
  }

  /** Finds the client of what the connection has shown so far. */
  async meet(): Promise<void> {
    if (this.#held !== undefined) return;
    this.#meeting ??= this.signOut().finally(() => {
      this.#meeting = undefined;
    });
    await this.#meeting;
  }

  /** The connection is whom its certificate names, or nobody. */
  async signOut(): Promise<void> {
    await this.#become(undefined);
    this.#isSignedIn = this.port.certifiedName !== undefined && this.held.identity !== NOBODY;
  }

  /**
   * The connection shows a token. `name`: of the identity that it must be of; `undefined`: any. Rejects
   * with `UNAUTHENTICATED`, and the connection is what it was before.
   */
  async signIn(token: string, name: string | undefined): Promise<void> {
    await this.#become(token, name);
    this.#isSignedIn = true;
  }

  async #become(token: string | undefined, name?: string): Promise<void> {
    const { certifiedName, address, isEncrypted } = this.port;
    const held = await this.#callers.clientOf({ token, certifiedName, address, isEncrypted });
    const isOther = name !== undefined && held.identity !== name;
    if (this.#isClosed || isOther) {
      held.release();
      throw new HoldfastError("UNAUTHENTICATED", "the access token is of another identity");
    }
    this.#forget();
    this.#held = held;
    this.port.identify(held.identity);
    this.subscriptions.listenAs(this);
  }

  /** The cluster has closed its client, for example because its credential was removed. */
  get isRevoked(): boolean {
    return this.#held?.client.closed.aborted === true;
  }

  /** It is again what it was when it connected. */
  reset(): void {
    this.#forget();
    this.#isSignedIn = false;
    this.#isNobody = false;
    this.port.identify(this.port.certifiedName);
    this.#database = 0;
    this.protocol = 2;
    this.name = "";
    this.transaction.discard();
    this.transaction.unwatch();
    this.subscriptions.clear();
    this.endings.reset();
  }

  close(): void {
    this.#isClosed = true;
    this.subscriptions.clear();
    this.#forget();
  }

  #forget(): void {
    this.#held?.release();
    this.#held = undefined;
    this.#locks = undefined;
  }
}
