/**
 * The connection of a client to one node at a time: made at random, left for another when nobody
 * answers, and made again after a moment. What is heard on a connection that was left is not heard.
 */

import type { RandomStream } from "../../../../lab/random-stream.js";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { ServerMessage } from "../../../../src/protocol/index.js";
import type { ClientNetwork } from "../../world/network/client-network.js";
import type { MessageLine, Saying } from "../../world/network/message-line.js";
import type { LineEnd } from "../../world/network/network-line.js";
import type { SocketEnding } from "../../world/network/node-socket.js";

const RECONNECT_MS = 40;

export interface ClientConnectionEvents {
  onOpen(node: number): void;
  onMessage(message: ServerMessage): void;
  /** By the node, or its system. */
  onSentAway(ending: SocketEnding): void;
  onLeft(): void;
  onNote(text: string): void;
}

export class ClientConnection {
  readonly #host: number;
  readonly #life: ProcessLife;
  readonly #network: ClientNetwork;
  readonly #random: RandomStream;
  readonly #events: ClientConnectionEvents;
  #nodes: readonly number[];
  #line: MessageLine | undefined;

  constructor(
    host: number,
    life: ProcessLife,
    surroundings: {
      readonly network: ClientNetwork;
      readonly nodes: readonly number[];
      readonly random: RandomStream;
    },
    events: ClientConnectionEvents,
  ) {
    this.#host = host;
    this.#life = life;
    this.#network = surroundings.network;
    this.#random = surroundings.random;
    this.#nodes = surroundings.nodes;
    this.#events = events;
  }

  get isThere(): boolean {
    return this.#line !== undefined;
  }

  /** From now on these only. */
  prefer(nodes: readonly number[]): void {
    this.#nodes = nodes;
  }

  open(): void {
    if (this.#line !== undefined) return;
    const node = this.#random.pick(this.#nodes);
    const line: MessageLine = this.#network.connect(node, {
      host: this.#host,
      onOpen: () => this.#whileOn(line, () => this.#events.onOpen(node)),
      onFrame: (messages) => {
        this.#life.deliver(() => {
          for (const message of messages) if (this.#line === line) this.#events.onMessage(message);
        });
      },
      onClosed: (ending) => {
        this.#whileOn(line, () => {
          this.#events.onSentAway(ending);
          this.leave("closed");
        });
      },
    } satisfies LineEnd<readonly ServerMessage[]>);
    this.#line = line;
    this.#events.onNote(`connects to node ${node}`);
  }

  say(what: Saying): void {
    this.#line?.say(what);
  }

  /** It is made again after about so long. */
  leave(why: string, pauseMs = RECONNECT_MS): void {
    if (this.#line === undefined) return;
    this.#events.onNote(`leaves its connection: ${why}`);
    this.#line.leave();
    this.#line = undefined;
    this.#events.onLeft();
    this.#life.timeline.after(pauseMs * (0.5 + this.#random.next()), () => {
      this.#life.deliver(() => this.open());
    });
  }

  #whileOn(line: MessageLine, task: () => void): void {
    this.#life.deliver(() => {
      if (this.#line === line) task();
    });
  }
}
