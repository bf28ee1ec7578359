/** One watch on a client of its own, and everything it received. */
import {
  type ChangesView,
  type ChangeView,
  MESSAGE,
  OP,
  type Revision,
  STATUS,
  type WatchQuery,
  type WatchView,
} from "../../../src/protocol/index.js";
import type { TestClient } from "./test-client.js";
import type { World, WorldNode } from "./world.js";

export type Watched = Partial<Pick<WatchQuery, "key" | "isPrefix" | "after">>;

/** After the first entry, which is the no-op of the first leader. */
export const BEGINNING: Revision = { index: 1, number: 0 };

export class Watcher {
  readonly client: TestClient;
  readonly #world: World;

  constructor(world: World, node: WorldNode, watched: Watched = {}) {
    this.#world = world;
    this.client = world.client();
    this.client.connect(node);
    const { key = "", isPrefix = true, after } = watched;
    this.client.query({ op: OP.watch, id: 1, key, isPrefix, after });
  }

  /** Where it began, once it was notified. */
  get begun(): Revision | undefined {
    return (this.client.answer(1)?.payload as WatchView | undefined)?.revision;
  }

  get told(): readonly ChangesView[] {
    return toldTo(this.client);
  }

  get changes(): readonly ChangeView[] {
    return changesOf(this.client);
  }

  /** The code with which it ended. */
  get endedBy(): number | undefined {
    for (const message of this.client.received) {
      if (message.kind === MESSAGE.changes && message.status !== STATUS.ok) return message.status;
    }
    return undefined;
  }

  async untilBegun(): Promise<Revision> {
    await this.#world.until("the watch begins", () => this.begun !== undefined);
    return this.begun as Revision;
  }
}

/** What the watches of a client got. */
export function changesOf(client: TestClient): readonly ChangeView[] {
  return toldTo(client).flatMap(({ changes }) => changes);
}

function toldTo({ received }: TestClient): readonly ChangesView[] {
  const told: ChangesView[] = [];
  for (const message of received) {
    if (message.kind !== MESSAGE.changes || message.status !== STATUS.ok) continue;
    told.push(message.payload as ChangesView);
  }
  return told;
}
