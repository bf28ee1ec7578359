/** One connection of an owner to the Redis door of a node: commands out, replies in their order. */

import { commandBytes, replyAt } from "../../../doors/redis/world/resp-client.js";
import type { RedisLine } from "../../world/doors/door-lines.js";
import type { ClientNetwork } from "../../world/network/client-network.js";

/** As `replyAt` writes replies; `undefined`: the connection ended, and nobody will ever know. */
export type HeardReply = (reply: string | undefined) => void;

export interface RedisSurroundings {
  readonly host: number;
  readonly node: number;
  readonly network: ClientNetwork;
  /** Runs what the network brings, a moment later perhaps. */
  readonly deliver: (task: () => void) => void;
}

export class RedisConnection {
  readonly #line: RedisLine;
  #isOpen = false;
  #isClosed = false;
  /** What is to be said once it is open. */
  #unsaid: Uint8Array[] = [];
  #bytes = "";
  readonly #waiting: HeardReply[] = [];

  constructor({ host, node, network, deliver }: RedisSurroundings) {
    this.#line = network.connectRedis(node, {
      host,
      onOpen: () => deliver(() => this.#onOpen()),
      onFrame: (bytes) => deliver(() => this.#onBytes(bytes)),
      onClosed: () => deliver(() => this.#onClosed()),
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(words: readonly string[], heard: HeardReply): void {
    if (this.#isClosed) throw new Error("said on a connection that is closed");
    this.#waiting.push(heard);
    const bytes = Uint8Array.from(commandBytes(words));
    if (this.#isOpen) this.#line.send(bytes);
    else this.#unsaid.push(bytes);
  }

  /** Those who wait for a reply hear that there will be none. */
  leave(): void {
    this.#line.leave();
    this.#onClosed();
  }

  #onOpen(): void {
    this.#isOpen = true;
    for (const bytes of this.#unsaid) this.#line.send(bytes);
    this.#unsaid = [];
  }

  #onBytes(bytes: Uint8Array): void {
    if (this.#isClosed) return;
    this.#bytes += Buffer.from(bytes).toString("latin1");
    for (let found = replyAt(this.#bytes, 0); found !== undefined; ) {
      this.#bytes = this.#bytes.slice(found.end);
      this.#waiting.shift()?.(found.text);
      found = replyAt(this.#bytes, 0);
    }
  }

  #onClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const heard of this.#waiting.splice(0)) heard(undefined);
  }
}
