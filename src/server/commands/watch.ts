/** One watch of one connection: what it is of, and up to where it was told. */
import type { ClientConnection } from "../../net/index.js";
import type { Revision, WatchQuery } from "../../protocol/index.js";

/** The connection that watches came on. */
export interface Watcher {
  readonly connection: ClientConnection;
  /** By the number that the client gave them. */
  readonly watches: Map<number, Watch>;
  readonly isClosed: boolean;
}

export class Watch {
  readonly attachment: Watcher;
  readonly query: WatchQuery;
  /** Everything that matches up to here was told; changes up to here are not. */
  told: Revision;
  /**
   * `live`: it is told what comes as it comes. `behind`: it is to be told what is kept first, or again
   * when its connection has room.
   */
  state: "live" | "behind" | "over" = "behind";
  /** Live: positions of changes of this turn that it is to be told. */
  pending: number[] = [];

  constructor(attachment: Watcher, query: WatchQuery, told: Revision) {
    this.attachment = attachment;
    this.query = query;
    this.told = told;
  }

  /** Chosen by the client; unique on its connection while the watch lasts. */
  get id(): number {
    return this.query.id;
  }

  matches(key: string): boolean {
    const { isPrefix, key: wanted } = this.query;
    return isPrefix ? key.startsWith(wanted) : key === wanted;
  }
}
