/**
 * One watch of one connection: its query, and how far the client was sent the changes.
 */
import type { ClientConnection } from "../../net/index.js";
import type { Revision, WatchQuery } from "../../protocol/index.js";
import type { Share, Usage } from "../limits/usage.js";

/** The connection on which watches came. */
export interface Watcher {
  readonly connection: ClientConnection;
  /** By the number that the client gave each. */
  readonly watches: Map<number, ServedWatch>;
  readonly share: Share;
  readonly isClosed: boolean;
}

export class ServedWatch {
  readonly attachment: Watcher;
  /** With whose watches it takes turns to catch up. */
  readonly asker: Usage;
  readonly query: WatchQuery;
  /** Matching changes up to here were sent, or the watch began after them. */
  told: Revision;
  /**
   * `live`: changes are sent as they come. `behind`: kept changes must be sent first, at the
   * beginning and after the connection had no room.
   */
  state: "live" | "behind" | "over" = "behind";
  /** If live: positions of the changes of this turn that must be sent. */
  pending: number[] = [];

  constructor(attachment: Watcher, query: WatchQuery, told: Revision) {
    this.attachment = attachment;
    this.asker = attachment.share.identity;
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
