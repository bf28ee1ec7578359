/**
 * The channels that one connection listens to. Messages come from the door: the node to use has
 * changed, or a lock has ended for which its clients wait at a channel. Nobody else can publish.
 */
import { Buffer } from "node:buffer";
import { Glob } from "./glob.js";
import type { LockClient } from "./ports.js";
import { RefusedCommand } from "./refusals.js";
import type { Protocol, PushReply, Reply } from "./resp/index.js";

const CHANNELS_MAX = 256;
const CHANNEL_BYTES_MAX = 1_024;

/** Who listens, as far as that matters for what there is to hear. */
export interface Listener {
  readonly protocol: Protocol;
  readonly database: number;
  readonly held: { readonly client: LockClient; readonly identity: string };
}

/** Where messages come from. */
export interface SubscriptionSource {
  add(subscriptions: MessageTarget): void;
  remove(subscriptions: MessageTarget): void;
  /** Somebody listens to it from now on. */
  onSubscribed(listener: Listener, channelOrPattern: string, target: MessageTarget): void;
}

/** Returns how many subscriptions the message was for. */
export interface MessageTarget {
  deliver(channel: string, message: string): number;
}

export type SubscriptionKind = "channel" | "pattern";

export class Subscriptions implements MessageTarget {
  readonly #push: (message: Reply) => void;
  readonly #source: SubscriptionSource;
  /** Their bytes, in latin1. */
  readonly #channels = new Set<string>();
  readonly #patterns = new Map<string, Glob>();
  #isExclusive = false;

  constructor(push: (message: Reply) => void, source: SubscriptionSource) {
    this.#push = push;
    this.#source = source;
  }

  get channelCount(): number {
    return this.#channels.size;
  }

  get patternCount(): number {
    return this.#patterns.size;
  }

  /** Whether it is a connection of RESP2 with a subscription, which can do nothing else. */
  get isExclusive(): boolean {
    return this.#isExclusive;
  }

  subscribe(listener: Listener, kind: SubscriptionKind, names: readonly Buffer[]): Reply[] {
    return names.map((bytes) => {
      const name = bytes.toString("latin1");
      const isNew = !(kind === "channel" ? this.#channels.has(name) : this.#patterns.has(name));
      if (isNew) this.#demandRoom(name);
      if (kind === "channel") this.#channels.add(name);
      else this.#patterns.set(name, new Glob(name));
      this.#changed(listener);
      if (isNew) this.#source.onSubscribed(listener, name, this);
      return this.#confirmation(kind === "channel" ? "subscribe" : "psubscribe", bytes);
    });
  }

  /** Without names: from all. */
  unsubscribe(listener: Listener, kind: SubscriptionKind, names: readonly Buffer[]): Reply[] {
    const word = kind === "channel" ? "unsubscribe" : "punsubscribe";
    const all = kind === "channel" ? this.#channels : this.#patterns;
    const left = names.length > 0 ? names : [...all.keys()].map((n) => Buffer.from(n, "latin1"));
    if (left.length === 0) return [this.#confirmation(word, null)];
    return left.map((bytes) => {
      all.delete(bytes.toString("latin1"));
      this.#changed(listener);
      return this.#confirmation(word, bytes);
    });
  }

  clear(): void {
    this.#channels.clear();
    this.#patterns.clear();
    this.#isExclusive = false;
    this.#source.remove(this);
  }

  /** Sends the message if the channel is listened to. Returns how often it was. */
  deliver(channel: string, message: string): number {
    const bytes = Buffer.from(channel, "latin1");
    const body = Buffer.from(message, "latin1");
    let count = 0;
    if (this.#channels.has(channel)) {
      this.#push({ push: ["message", bytes, body] });
      count += 1;
    }
    for (const [name, pattern] of this.#patterns) {
      if (!pattern.matches(channel)) continue;
      this.#push({ push: ["pmessage", Buffer.from(name, "latin1"), bytes, body] });
      count += 1;
    }
    return count;
  }

  #changed(listener: Listener): void {
    const count = this.#channels.size + this.#patterns.size;
    this.#isExclusive = count > 0 && listener.protocol === 2;
    if (count > 0) this.#source.add(this);
    else this.#source.remove(this);
  }

  #confirmation(word: string, name: Buffer | null): PushReply {
    return { push: [word, name, this.#channels.size + this.#patterns.size] };
  }

  #demandRoom(name: string): void {
    if (name.length > CHANNEL_BYTES_MAX)
      throw new RefusedCommand("the name of a channel is too long");
    if (this.#channels.size + this.#patterns.size < CHANNELS_MAX) return;
    throw new RefusedCommand(`more than ${CHANNELS_MAX} subscriptions of one connection`);
  }
}
