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
    const connection = new MemoryConnection(this.#lastId, this.#world, peer, shown, {
      onClosed: () => {
        this.#connections.delete(connection);
        this.say((events) => events.onClosed(connection));
      },
      onResumed: () => this.say((events) => connection.readOn(events)),
      onRead: () => this.say((events) => connection.endChunk(events)),
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

type Saying = (events: GatewayEvents) => void;

interface ConnectionEvents {
  onClosed(): void;
  onResumed(): void;
  /** The first bytes of a chunk were read. */
  onRead(): void;
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
  identity: string | undefined = undefined;
  attachment: unknown = undefined;
  /** As if the client did not read: set by tests. */
  bufferedBytes = 0;
  isOpen = true;
  isPaused = false;
  readonly #world: WorldTime;
  readonly #peer: ConnectionPeer;
  readonly #events: ConnectionEvents;
  /** What arrived while nothing was read. */
  #unread: { readonly what: Saying; readonly bytes: number }[] = [];
  /** Read and not reported yet. */
  #chunkBytes = 0;
  #frame: ServerMessage[] = [];

  constructor(
    id: number,
    world: WorldTime,
    peer: ConnectionPeer,
    { certifiedName, isLocal = false, address = "" }: Shown,
    events: ConnectionEvents,
  ) {
    this.id = id;
    this.certifiedName = certifiedName;
    this.isLocal = isLocal;
    this.address = address;
    this.#world = world;
    this.#peer = peer;
    this.#events = events;
  }

  /** The client said that. What it says at one time is one chunk of bytes. */
  hear(events: GatewayEvents, what: Saying, bytes: number): void {
    if (!this.isOpen) return;
    if (this.isPaused || this.#unread.length > 0) {
      this.#unread.push({ what, bytes });
      return;
    }
    if (this.#chunkBytes === 0) this.#events.onRead();
    this.#chunkBytes += bytes;
    what(events);
  }

  endChunk(events: GatewayEvents): void {
    const bytes = this.#chunkBytes;
    this.#chunkBytes = 0;
    if (this.isOpen) events.onReceived(this, bytes);
  }

  readOn(events: GatewayEvents): void {
    const unread = this.#unread;
    this.#unread = [];
    for (const { what, bytes } of unread) this.hear(events, what, bytes);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.#events.onResumed();
  }

  identify(identity: string | undefined): void {
    this.identity = identity;
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
    this.#events.onClosed();
  }

  /** The client went away. */
  leave(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#events.onClosed();
  }

  /** The process behind it died; frames not flushed are lost. */
  abort(): void {
    this.isOpen = false;
    this.#frame = [];
    this.#world.after(this.#world.options.latencyMs, () => this.#peer.onClosed(1006, ""));
  }
}
