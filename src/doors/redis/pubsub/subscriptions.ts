/**
 * The channels that one connection listens to. Messages come from the door: the node to use has
 * changed, a lock has ended for which its clients wait at a channel, or a script of the same identity
 * says so.
 */
import { Buffer } from "node:buffer";
import type { LockClient } from "../ports.js";
import { RefusedCommand } from "../refusals.js";
import type { Protocol, PushReply, RespReply } from "../resp/index.js";
import { Glob } from "./glob.js";

/** The limits of one connection: on channels and patterns, and on patterns, whose costs add up. */
const SUBSCRIPTIONS_MAX = 256;
const PATTERNS_MAX = 32;
const PATTERN_BYTES_MAX = 4 << 10;
export const CHANNEL_BYTES_MAX = 1_024;

/** Who listens, as far as that matters for what there is to hear. */
export interface Subscriber {
  readonly protocol: Protocol;
  readonly database: number;
  readonly held: { readonly client: LockClient; readonly identity: string };
}

/** Where messages come from. */
export interface SubscriptionSource {
  add(target: MessageTarget): void;
  /** It listens to nothing any more. */
  remove(target: MessageTarget): void;
  /** It listens to that from now on. */
  onSubscribed(listener: Subscriber, channelOrPattern: string, target: MessageTarget): void;
  onUnsubscribed(channelOrPattern: string, target: MessageTarget): void;
}

export interface MessageTarget {
  /** As whom it listens. */
  readonly identity: string;
  /** Returns how many subscriptions the message was for. Never throws. */
  deliver(channel: string, message: string): number;
}

/** The connection, as its subscriptions use it. */
export interface PushPort {
  /** Sends a message that answers no command. Never throws. */
  push(message: RespReply): void;
}

export type SubscriptionKind = "channel" | "pattern";

export class Subscriptions implements MessageTarget {
  readonly #port: PushPort;
  readonly #source: SubscriptionSource;
  /** Their bytes, in latin1. */
  readonly #channels = new Set<string>();
  readonly #patterns = new Map<string, Glob>();
  #patternBytes = 0;
  #identity = "";
  #isExclusive = false;

  constructor(port: PushPort, source: SubscriptionSource) {
    this.#port = port;
    this.#source = source;
  }

  get identity(): string {
    return this.#identity;
  }

  get channelCount(): number {
    return this.#channels.size;
  }

  get patternCount(): number {
    return this.#patterns.size;
  }

  get #count(): number {
    return this.#channels.size + this.#patterns.size;
  }

  /** Whether it is a connection of RESP2 with a subscription, which can do nothing else. */
  get isExclusive(): boolean {
    return this.#isExclusive;
  }

  /** Throws `RefusedCommand`, and then listens to none of the names that were new. */
  subscribe(listener: Subscriber, kind: SubscriptionKind, names: readonly Buffer[]): RespReply[] {
    const word = kind === "channel" ? "subscribe" : "psubscribe";
    const texts = names.map((bytes) => bytes.toString("latin1"));
    this.#demandRoom(kind, texts);
    this.#identity = listener.held.identity;
    return texts.map((name, at) => {
      const isNew = !this.#has(name);
      if (kind === "channel") this.#channels.add(name);
      else if (!this.#patterns.has(name)) this.#addPattern(name);
      this.#changed(listener);
      if (isNew) this.#source.onSubscribed(listener, name, this);
      return this.#confirmation(word, names[at] as Buffer);
    });
  }

  /** Without names: from all. */
  unsubscribe(listener: Subscriber, kind: SubscriptionKind, names: readonly Buffer[]): RespReply[] {
    const word = kind === "channel" ? "unsubscribe" : "punsubscribe";
    const all = kind === "channel" ? this.#channels : this.#patterns;
    const left = names.length > 0 ? names : [...all.keys()].map((n) => Buffer.from(n, "latin1"));
    if (left.length === 0) return [this.#confirmation(word, null)];
    return left.map((bytes) => {
      const name = bytes.toString("latin1");
      const wasThere = all.delete(name);
      if (wasThere && kind === "pattern") this.#patternBytes -= name.length;
      if (wasThere && !this.#has(name)) this.#source.onUnsubscribed(name, this);
      this.#changed(listener);
      return this.#confirmation(word, bytes);
    });
  }

  /** The connection speaks for another identity, or by another client. */
  listenAs(listener: Subscriber): void {
    if (this.#count === 0) return;
    this.#identity = listener.held.identity;
    for (const name of new Set([...this.#channels, ...this.#patterns.keys()])) {
      this.#source.onUnsubscribed(name, this);
      this.#source.onSubscribed(listener, name, this);
    }
  }

  clear(): void {
    this.#channels.clear();
    this.#patterns.clear();
    this.#patternBytes = 0;
    this.#isExclusive = false;
    this.#source.remove(this);
  }

  /** Sends the message if the channel is listened to. Returns how often it was. */
  deliver(channel: string, message: string): number {
    const bytes = Buffer.from(channel, "latin1");
    const body = Buffer.from(message, "latin1");
    let count = 0;
    if (this.#channels.has(channel)) {
      this.#port.push({ push: ["message", bytes, body] });
      count += 1;
    }
    for (const [name, pattern] of this.#patterns) {
      if (!pattern.matches(channel)) continue;
      this.#port.push({ push: ["pmessage", Buffer.from(name, "latin1"), bytes, body] });
      count += 1;
    }
    return count;
  }

  #has(name: string): boolean {
    return this.#channels.has(name) || this.#patterns.has(name);
  }

  #addPattern(name: string): void {
    this.#patterns.set(name, new Glob(name));
    this.#patternBytes += name.length;
  }

  #changed(listener: Subscriber): void {
    this.#isExclusive = this.#count > 0 && listener.protocol === 2;
    if (this.#count > 0) this.#source.add(this);
    else this.#source.remove(this);
  }

  #confirmation(word: string, name: Buffer | null): PushReply {
    return { push: [word, name, this.#count] };
  }

  #demandRoom(kind: SubscriptionKind, names: readonly string[]): void {
    const isPattern = kind === "pattern";
    const known = isPattern ? this.#patterns : this.#channels;
    const added = [...new Set(names)].filter((name) => !known.has(name));
    if (added.some((name) => name.length > CHANNEL_BYTES_MAX)) {
      throw new RefusedCommand(`a channel or pattern of more than ${CHANNEL_BYTES_MAX} bytes`);
    }
    if (this.#count + added.length > SUBSCRIPTIONS_MAX) {
      throw new RefusedCommand(`more than ${SUBSCRIPTIONS_MAX} subscriptions of one connection`);
    }
    if (!isPattern) return;
    const bytes = added.reduce((sum, name) => sum + name.length, this.#patternBytes);
    if (this.#patterns.size + added.length > PATTERNS_MAX || bytes > PATTERN_BYTES_MAX) {
      throw new RefusedCommand(
        `more than ${PATTERNS_MAX} patterns of one connection, or more than ` +
          `${PATTERN_BYTES_MAX} bytes of them`,
      );
    }
  }
}
