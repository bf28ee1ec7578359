/**
 * Connections from which nothing is read for a while, because their identity or address has spent what
 * it may send. What they send waits in the buffers of the system, and costs this process nothing. Each
 * identity and address has a line of them, from which they are let go in the order in which they came,
 * so that no connection takes all of what its identity may send.
 *
 * A held connection must always be let go at some time: until then this node does not even notice that
 * its client is gone.
 */
import type { LimitedClient, Usage } from "./usage.js";

/** How often those that are held back are looked at. */
const LOOK_EVERY_MS = 20;
/** What a connection that is let go is expected to spend: a full buffer of 64 KiB. */
const COST_OF_CONNECTION = 256;

export class HeldBack {
  /** Counts what exceeds the limit, and returns whether it is enforced. */
  readonly #isExceeded: (usage: Usage) => boolean;
  readonly #lines = new Map<Usage, Set<LimitedClient>>();
  #nextDeadlineMs = Number.POSITIVE_INFINITY;

  constructor(isExceeded: (usage: Usage) => boolean) {
    this.#isExceeded = isExceeded;
  }

  /** `Infinity` if none is held back. */
  get nextDeadlineMs(): number {
    return this.#nextDeadlineMs;
  }

  /** Something was received from that client. Returns whether it is held back from now on. */
  judge(client: LimitedClient, nowMs: number): boolean {
    if (client.share.heldBackBy !== undefined) return false;
    const usage = this.#spentOf(client, nowMs);
    if (usage === undefined) return false;
    client.connection.pause();
    this.#push(client, usage);
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, nowMs + LOOK_EVERY_MS);
    return true;
  }

  /** Lets as many go as those who share the allowance may spend. */
  serve(nowMs: number): void {
    if (nowMs < this.#nextDeadlineMs) return;
    for (const [usage, line] of [...this.#lines]) {
      usage.commands.fill(nowMs);
      let count = Math.ceil(usage.commands.left / COST_OF_CONNECTION);
      for (const client of line) {
        if (count <= 0) break;
        count -= 1;
        this.#letGo(client, nowMs);
      }
    }
    this.#nextDeadlineMs =
      this.#lines.size === 0 ? Number.POSITIVE_INFINITY : nowMs + LOOK_EVERY_MS;
  }

  /** The connection has ended. */
  leave(client: LimitedClient): void {
    const usage = client.share.heldBackBy;
    if (usage === undefined) return;
    client.share.heldBackBy = undefined;
    const line = this.#lines.get(usage);
    line?.delete(client);
    if (line?.size === 0) this.#lines.delete(usage);
  }

  #letGo(client: LimitedClient, nowMs: number): void {
    this.leave(client);
    const usage = this.#spentOf(client, nowMs);
    if (usage === undefined) client.connection.resume();
    else this.#push(client, usage);
  }

  #push(client: LimitedClient, usage: Usage): void {
    client.share.heldBackBy = usage;
    const line = this.#lines.get(usage);
    if (line === undefined) this.#lines.set(usage, new Set([client]));
    else line.add(client);
  }

  /** The first that has nothing left, if that counts. */
  #spentOf(client: LimitedClient, nowMs: number): Usage | undefined {
    for (const usage of [client.share.identity, client.share.address]) {
      if (usage.commands.left > 0) continue;
      usage.commands.fill(nowMs);
      if (usage.commands.left > 0) continue;
      if (this.#isExceeded(usage)) return usage;
      usage.commands.forgive();
    }
    return undefined;
  }
}
