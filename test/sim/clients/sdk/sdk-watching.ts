/**
 * What one process of an application watches: a key or all of them, from the moment it is
 * connected, or from any other, to the end of its client. What it receives goes to the checks
 * (`checks/hearing/watch-streams.ts`).
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { Client, Watch } from "../../../../src/client/index.js";
import type { ErrorCode } from "../../../../src/errors/index.js";
import type { WatchAsked, WatchedKeys } from "../../checks/hearing/watch-streams.js";
import type { ProcessSurroundings } from "./process-surroundings.js";
import type { SdkCalls } from "./sdk-calls.js";

/** The share of connected clients that watch a key, or all. */
const WATCH_SHARE = 0.5;
const WATCH_ALL_SHARE = 0.4;

/** How a watch ends that nobody ended: its client did, or a node had forgotten what came next. */
const WATCH_CODES: readonly ErrorCode[] = ["CANCELLED", "COMPACTED", "FORBIDDEN"];

export class SdkWatching {
  readonly #world: ProcessSurroundings;
  readonly #life: ProcessLife;
  readonly #calls: SdkCalls;
  readonly #watched = new Set<WatchedKeys>();

  constructor(world: ProcessSurroundings, life: ProcessLife, calls: SdkCalls) {
    this.#world = world;
    this.#life = life;
    this.#calls = calls;
  }

  /** Perhaps: not every client watches. */
  begin(client: Client): void {
    if (this.#world.random.chance(WATCH_SHARE)) this.beginOne(client);
  }

  beginOne(client: Client): void {
    const { ears, random, keys, name, watch } = this.#world;
    const key = random.chance(WATCH_ALL_SHARE) ? undefined : random.pick(keys);
    const watched = { name: `${name}, session ${client.session}`, key };
    this.#watched.add(watched);
    watch.onWatchAsked(watched);
    const asked = ears.record();
    const end = (): void => {
      this.#watched.delete(watched);
      if (this.#life.isAlive) watch.onWatchEnded(watched);
    };
    this.#follow(watched, asked, client.watch(key ?? { prefix: "" })).then(end, (error) => {
      if (this.#life.isAlive) this.#calls.judge("watch", error, WATCH_CODES);
      end();
    });
  }

  /** The process is gone. */
  end(): void {
    for (const watched of this.#watched) this.#world.watch.onWatchEnded(watched);
  }

  async #follow(watched: WatchedKeys, asked: WatchAsked, stream: Watch): Promise<void> {
    const { watch } = this.#world;
    await stream.begun;
    const { revision } = stream;
    if (revision === undefined) return;
    watch.onWatchBegun(watched, revision, asked);
    for await (const change of stream) {
      if (!this.#life.isAlive) return;
      watch.onWatchTold(watched, change);
    }
  }
}
