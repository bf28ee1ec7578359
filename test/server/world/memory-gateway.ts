/** The gateway of a node in a world: connections are objects, frames are arrays of messages. */
import type { ProcessLife } from "../../../lab/simulated/process-life.js";
import type { ClientConnection, ClientGateway, GatewayEvents } from "../../../src/net/index.js";
import type { ServerMessage } from "../../../src/protocol/index.js";
import type { WorldTime } from "./world-time.js";

/** What a connection shows when it begins. */
export interface Shown {
  readonly certifiedName?: string;
  readonly isLocal?: boolean;
  readonly address?: string;
}

/** The other end of a connection. */
export interface ConnectionPeer {
  onMessage(message: ServerMessage): void;
  onClosed(code: number, reason: string): void;
}

export class MemoryGateway implements Pick<ClientGateway, "flush"> {
  events: GatewayEvents | undefined;
  readonly #world: WorldTime;
  readonly #life: ProcessLife;
  readonly #connections = new Set<MemoryConnection>();
  #lastId = 0;

  constructor(world: WorldTime, life: ProcessLife) {
    this.#world = world;
    this.#life = life;
  }

  connect(peer: ConnectionPeer, shown: Shown = {}): MemoryConnection {
    this.#lastId += 1;
    const connection = new MemoryConnection(this.#lastId, this.#world, peer, shown, () => {
      this.#connections.delete(connection);
      this.say((events) => events.onClosed(connection));
    });
    this.#connections.add(connection);
    this.say((events) => events.onConnection(connection));
    return connection;
  }

  /** A client does something: it arrives after the latency, unless the process ended. */
  say(what: (events: GatewayEvents) => void): void {
    this.#world.after(this.#world.options.latencyMs, () => {
      this.#life.deliver(() => {
        if (this.events !== undefined) what(this.events);
      });
    });
  }

  flush(): void {
    for (const connection of this.#connections) connection.flush();
  }

  crash(): void {
    for (const connection of this.#connections) connection.abort();
    this.#connections.clear();
  }
}

export class MemoryConnection implements ClientConnection {
  readonly id: number;
  session = 0;
  attachEpoch = 0;
  watchCount = 0;
  readonly certifiedName: string | undefined;
  readonly isEncrypted = false;
  readonly isLocal: boolean;
  readonly address: string;
  limitedIdentity = "";
  /** As if the client did not read: set by tests. */
  bufferedBytes = 0;
  isOpen = true;
  readonly #world: WorldTime;
  readonly #peer: ConnectionPeer;
  readonly #onClosed: () => void;
  #frame: ServerMessage[] = [];

  constructor(
    id: number,
    world: WorldTime,
    peer: ConnectionPeer,
    { certifiedName, isLocal = false, address = "" }: Shown,
    onClosed: () => void,
  ) {
    this.id = id;
    this.certifiedName = certifiedName;
    this.isLocal = isLocal;
    this.address = address;
    this.#world = world;
    this.#peer = peer;
    this.#onClosed = onClosed;
  }

  send(message: ServerMessage): void {
    if (this.isOpen) this.#frame.push(message);
  }

  flush(): void {
    if (this.#frame.length === 0) return;
    const frame = this.#frame;
    this.#frame = [];
    this.#world.after(this.#world.options.latencyMs, () => {
      for (const message of frame) this.#peer.onMessage(message);
    });
  }

  close(code: number, reason: string): void {
    if (!this.isOpen) return;
    this.flush();
    this.isOpen = false;
    this.#world.after(this.#world.options.latencyMs, () => this.#peer.onClosed(code, reason));
    this.#onClosed();
  }

  /** The client went away. */
  leave(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#onClosed();
  }

  /** The process behind it died; frames not flushed are lost. */
  abort(): void {
    this.isOpen = false;
    this.#frame = [];
    this.#world.after(this.#world.options.latencyMs, () => this.#peer.onClosed(1006, ""));
  }
}
