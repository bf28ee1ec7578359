/**
 * Who listens on this node, and the messages that the door publishes to them.
 *
 * Spring's lock registry wakes its waiters by a message at the channel `REGISTRY-channel`: the name of
 * the lock that is free. In Redis the release sends it. Here releases come to any node, and locks also
 * end by their expiry, so the node of a listener watches the locks of that registry, and sends the
 * message at every end.
 */
import type { Buffer } from "node:buffer";
import { keyOfRedisName } from "../../protocol/index.js";
import { redisKeyOf } from "./names.js";
import type { LockClient } from "./ports.js";
import type { Listener, MessageTarget, SubscriptionSource } from "./subscriptions.js";

/** Registries that are watched on one node. */
const WATCHES_MAX = 256;
/** Before a watch that has ended begins again. */
const PAUSE_MS = 1_000;
const REGISTRY_CHANNEL = /^([^*?[\]\\]+)-channel$/;

interface RegistryWatch {
  readonly channel: string;
  readonly targets: Set<MessageTarget>;
  readonly ending: AbortController;
}

export class Publisher implements SubscriptionSource {
  readonly #targets = new Set<MessageTarget>();
  readonly #watches = new Map<string, RegistryWatch>();

  add(target: MessageTarget): void {
    this.#targets.add(target);
  }

  remove(target: MessageTarget): void {
    if (!this.#targets.delete(target)) return;
    for (const [name, { targets, ending }] of this.#watches) {
      targets.delete(target);
      if (targets.size > 0) continue;
      this.#watches.delete(name);
      ending.abort();
    }
  }

  onSubscribed(
    { database, held }: Listener,
    channelOrPattern: string,
    target: MessageTarget,
  ): void {
    const [, registry] = REGISTRY_CHANNEL.exec(channelOrPattern) ?? [];
    if (registry === undefined) return;
    const name = JSON.stringify([held.identity, database, registry]);
    const known = this.#watches.get(name);
    if (known !== undefined) {
      known.targets.add(target);
      return;
    }
    const prefix = keyOfRedisName({ database, name: `${registry}:` });
    if (prefix === undefined || this.#watches.size >= WATCHES_MAX) return;
    const ending = new AbortController();
    const watch = { channel: channelOrPattern, targets: new Set([target]), ending };
    this.#watches.set(name, watch);
    void this.#follow(held.client, prefix, watch);
  }

  /** Sends a message to all listeners of the channel. */
  publish(channel: string, message: string): void {
    for (const target of this.#targets) target.deliver(channel, message);
  }

  /** What a release says, unless the listeners hear of it by the end of the lock. */
  publishRelease(channel: string, message: string): void {
    const isWatched = [...this.#watches.values()].some((watch) => watch.channel === channel);
    if (!isWatched) this.publish(channel, message);
  }

  async #follow(client: LockClient, prefix: string, watch: RegistryWatch): Promise<void> {
    const { signal } = watch.ending;
    while (!signal.aborted) {
      try {
        for await (const { type, key } of client.watch({ prefix }, { signal })) {
          const found = type === "ended" ? redisKeyOf(key) : undefined;
          if (found !== undefined) this.#tell(watch, found.key);
        }
      } catch {
        // Its listeners poll too, after the time of a lock; until then the watch begins again.
        if (!signal.aborted) await pause(PAUSE_MS);
      }
    }
  }

  #tell({ channel, targets }: RegistryWatch, key: Buffer): void {
    for (const target of targets) target.deliver(channel, key.toString("latin1"));
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
