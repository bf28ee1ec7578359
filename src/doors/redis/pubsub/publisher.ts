/**
 * Who listens on this node, and the messages that the door publishes to them.
 *
 * Spring's lock registry wakes its waiters by a message at the channel `REGISTRY-channel`: the name of
 * the lock that is free. In Redis the release sends it. Here releases come to any node, and locks also
 * end by their expiry, so the node of a listener watches the locks of that registry, and sends the
 * message at every end. The cluster judges what its identity may observe. Redisson wakes the waiters of one
 * lock at a channel of that lock, by the message `0`; its node watches that lock in the same way.
 *
 * A message never reaches a listener of another identity, but for what the node itself says.
 */
import type { Buffer } from "node:buffer";
import type { Watch } from "../../../client/index.js";
import { HoldfastError } from "../../../errors/index.js";
import { keyOfRedisName } from "../../../protocol/index.js";
import type { DoorClock } from "../../clock.js";
import { redisKeyOf } from "../names.js";
import type { LockClient } from "../ports.js";
import {
  CHANNEL_BYTES_MAX,
  type MessageTarget,
  type Subscriber,
  type SubscriptionSource,
} from "./subscriptions.js";

/** Registries that are watched on one node, and for one connection. */
const WATCHES_MAX = 1_024;
const CONNECTION_WATCHES_MAX = 16;
/** Before a watch that has failed begins again. */
const PAUSE_MS = 1_000;
/** The limit on a message that a script sends. */
const MESSAGE_BYTES_MAX = 4 << 10;
const REGISTRY_CHANNEL = /^([^*?[\]\\]+)-channel$/;
/** The channel of one lock of Redisson, whose name stands in braces, or has braces itself. */
const LOCK_CHANNEL = /^redisson_(?:lock__channel|rwlock):(?:\{([^{}]+)\}|(.*\{.*))$/s;
const UNLOCKED = "0";
/** At such channels clients believe what they hear of the cluster. */
const NODE_CHANNEL = "+";

/** Who publishes. */
export type Publishing = Pick<Subscriber, "database"> & {
  readonly held: Pick<Subscriber["held"], "identity">;
};

/** Which locks a channel is about. */
type Watched =
  /** All with that prefix; the message is the name of the one that ended. */
  | { readonly prefix: string }
  /** One key; the message is always the same. */
  | string;

class RegistryWatch {
  readonly name: string;
  readonly channel: string;
  readonly watched: Watched;
  /** Each with its own client; one of these is used. */
  readonly targets = new Map<MessageTarget, LockClient>();
  #client: LockClient | undefined;
  #turn = new AbortController();

  constructor(name: string, channel: string, watched: Watched) {
    this.name = name;
    this.channel = channel;
    this.watched = watched;
  }

  /** The client of a listener, to be used until `signal` says that nobody listens by it any more. */
  begin(): { readonly client: LockClient; readonly signal: AbortSignal } | undefined {
    const clients = [...this.targets.values()];
    const client = clients.find(({ closed }) => !closed.aborted) ?? clients[0];
    this.#client = client;
    this.#turn = new AbortController();
    return client && { client, signal: this.#turn.signal };
  }

  leave(target: MessageTarget): void {
    this.targets.delete(target);
    for (const client of this.targets.values()) if (client === this.#client) return;
    this.#turn.abort();
  }
}

export class Publisher implements SubscriptionSource {
  readonly #targets = new Set<MessageTarget>();
  readonly #watches = new Map<string, RegistryWatch>();
  /** The watches of each target, by the channels for which they are. */
  readonly #watched = new Map<MessageTarget, Map<string, RegistryWatch>>();
  readonly #clock: DoorClock;

  constructor(clock: DoorClock) {
    this.#clock = clock;
  }

  /** Registries that are watched. */
  get watchCount(): number {
    return this.#watches.size;
  }

  add(target: MessageTarget): void {
    this.#targets.add(target);
  }

  remove(target: MessageTarget): void {
    this.#targets.delete(target);
    for (const channel of [...(this.#watched.get(target)?.keys() ?? [])]) {
      this.onUnsubscribed(channel, target);
    }
  }

  onSubscribed(
    { database, held }: Subscriber,
    channelOrPattern: string,
    target: MessageTarget,
  ): void {
    const watched = watchedBy(channelOrPattern, database);
    if (watched === undefined) return;
    const own = this.#watched.get(target) ?? new Map<string, RegistryWatch>();
    if (own.size >= CONNECTION_WATCHES_MAX) return;
    const name = watchName(held.identity, database, channelOrPattern);
    const known = this.#watches.get(name);
    if (known === undefined && this.#watches.size >= WATCHES_MAX) return;
    const watch = known ?? new RegistryWatch(name, channelOrPattern, watched);
    watch.targets.set(target, held.client);
    own.set(channelOrPattern, watch);
    this.#watched.set(target, own);
    if (known !== undefined) return;
    this.#watches.set(name, watch);
    void follow(watch, this.#clock);
  }

  onUnsubscribed(channelOrPattern: string, target: MessageTarget): void {
    const own = this.#watched.get(target);
    const watch = own?.get(channelOrPattern);
    if (own === undefined || watch === undefined) return;
    own.delete(channelOrPattern);
    if (own.size === 0) this.#watched.delete(target);
    watch.leave(target);
    if (watch.targets.size === 0) this.#watches.delete(watch.name);
  }

  /** Sends what the node itself says to all listeners of the channel. */
  announce(channel: string, message: string): void {
    for (const target of [...this.#targets]) target.deliver(channel, message);
  }

  /**
   * Sends what a release says to the listeners of its identity, unless they hear of it by the end of
   * the lock. What is too long, or sounds like the node itself, is not sent.
   */
  publishRelease({ database, held }: Publishing, channel: string, message: string): void {
    if (this.#targets.size === 0 || channel.startsWith(NODE_CHANNEL)) return;
    if (channel.length > CHANNEL_BYTES_MAX || message.length > MESSAGE_BYTES_MAX) return;
    const { identity } = held;
    const watched = watchedBy(channel, database);
    const isHeardOf =
      watched !== undefined && (typeof watched === "string" || isOfRegistry(channel, message));
    const name = isHeardOf ? watchName(identity, database, channel) : undefined;
    const hearing = name === undefined ? undefined : this.#watches.get(name)?.targets;
    for (const target of [...this.#targets]) {
      if (target.identity !== identity || hearing?.has(target) === true) continue;
      target.deliver(channel, message);
    }
  }
}

/**
 * As long as somebody listens, by the client of one who does: where one ends, the next continues. Never
 * rejects.
 */
async function follow(watch: RegistryWatch, clock: DoorClock): Promise<void> {
  let after: Watch["revision"];
  for (let turn = watch.begin(); turn !== undefined; turn = watch.begin()) {
    const { client, signal } = turn;
    let changes: Watch | undefined;
    let isTooOld = false;
    try {
      changes = client.watch(watch.watched, { signal, after });
      for await (const { type, key } of changes) {
        const found = type === "ended" ? redisKeyOf(key) : undefined;
        if (found !== undefined) tell(watch, found.key);
      }
    } catch (error) {
      isTooOld = error instanceof HoldfastError && error.code === "COMPACTED";
    }
    after = isTooOld ? undefined : (changes?.revision ?? after);
    // Its listeners poll too, after the time of a lock; until then the watch begins again.
    if (!signal.aborted) await new Promise<void>((resolve) => clock.setTimer(PAUSE_MS, resolve));
  }
}

function tell({ channel, targets, watched }: RegistryWatch, key: Buffer): void {
  const message = typeof watched === "string" ? UNLOCKED : key.toString("latin1");
  for (const target of [...targets.keys()]) target.deliver(channel, message);
}

/** `undefined`: none in particular. */
function watchedBy(channel: string, database: number): Watched | undefined {
  const [, registry] = REGISTRY_CHANNEL.exec(channel) ?? [];
  if (registry !== undefined) {
    const prefix = keyOfRedisName({ database, name: `${registry}:` });
    return prefix === undefined ? undefined : { prefix };
  }
  const [, inBraces, braced] = LOCK_CHANNEL.exec(channel) ?? [];
  const name = inBraces ?? braced;
  return name === undefined ? undefined : keyOfRedisName({ database, name });
}

function isOfRegistry(channel: string, message: string): boolean {
  const [, registry] = REGISTRY_CHANNEL.exec(channel) ?? [];
  return registry !== undefined && message.startsWith(`${registry}:`);
}

function watchName(identity: string, database: number, channel: string): string {
  return JSON.stringify([identity, database, channel]);
}
