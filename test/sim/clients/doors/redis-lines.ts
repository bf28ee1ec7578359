/**
 * The connections of one owner to the Redis doors of nodes, one to each node: commands out, and each reply
 * to who waits for it. A connection is given up when a reply does not come for too long.
 */
import type { Simulation } from "../../engine/simulation.js";
import type { ClientNetwork } from "../../world/network/client-network.js";
import { type HeardReply, RedisConnection } from "./redis-connection.js";

/** An owner gives its connection up when it has no reply for this long. */
const PATIENCE_MS = 800;
const CALM_PATIENCE_MS = 8_000;

/** The table has no room by its settings, which clients change. */
const FULL = ["-OOM", "-TRYAGAIN"] as const;

/** Whether that is refused for what clients may do to a cluster that works. */
export function isFull(reply: string | undefined): boolean {
  return FULL.some((code) => reply?.startsWith(code));
}

/** The owner, as far as its connections need it. */
export interface LinesOwner {
  readonly host: number;
  readonly network: ClientNetwork;
  readonly simulation: Simulation;
  readonly isCalm: () => boolean;
  /** How much later than it arrives a reply is heard. */
  readonly lateMs: () => number;
  readonly later: (delayMs: number, task: () => void) => void;
  readonly note: (text: string) => void;
}

export class RedisLines {
  readonly #owner: LinesOwner;
  readonly #connections = new Map<number, RedisConnection>();
  #openCount = 0;

  constructor(owner: LinesOwner) {
    this.#owner = owner;
  }

  /** Commands without a reply. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Those who wait for a reply hear that there will be none. */
  leaveAll(): void {
    for (const connection of this.#connections.values()) connection.leave();
  }

  call(node: number, words: readonly string[], heard: HeardReply): void {
    const { later, note, isCalm } = this.#owner;
    this.#openCount += 1;
    let isOver = false;
    const connection = this.connectionTo(node);
    note(`says to node ${node}: ${words.join(" ").replaceAll(/\s+/g, " ")}`);
    connection.send(words, (reply) => {
      isOver = true;
      this.#openCount -= 1;
      note(`hears ${reply ?? "nothing"}`);
      heard(reply);
    });
    later(isCalm() ? CALM_PATIENCE_MS : PATIENCE_MS, () => {
      if (!isOver) connection.leave();
    });
  }

  connectionTo(node: number): RedisConnection {
    const known = this.#connections.get(node);
    if (known !== undefined && !known.isClosed) return known;
    const { host, network, simulation, later, lateMs } = this.#owner;
    let lastAtMs = 0;
    // What comes late keeps its order.
    const deliver = (task: () => void): void => {
      lastAtMs = Math.max(lastAtMs, simulation.nowMs + lateMs());
      later(lastAtMs - simulation.nowMs, task);
    };
    const made = new RedisConnection({ host, node, network, deliver });
    this.#connections.set(node, made);
    return made;
  }
}
