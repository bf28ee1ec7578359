/**
 * A connection between the gateway and a client in the same process: one of the node's own doors,
 * which speaks for a caller of another kind. It has the frames of a WebSocket and no socket. Nothing
 * crosses while the sender runs, so neither side is ever called from within its own code; frames
 * arrive in order.
 *
 * It must not change what the caller is: who it is, and from where it comes, the door has found out.
 */
import { EventEmitter } from "node:events";
import { WebSocket } from "ws";
import type { InProcessCaller, InProcessEvents, InProcessLink } from "../types.js";
import type { ClientSocket } from "./client-socket.js";

/** The close code of a connection that ended without a close frame. */
const CLOSE_ABNORMAL = 1006;

/** What the gateway does with what the client sends. */
export interface InProcessReceiver {
  /** As whom the client is heard. */
  readonly identity: string | undefined;
  onFrame(frame: Uint8Array): void;
  onPong(): void;
  onClosed(): void;
}

export class InProcessSocket implements ClientSocket {
  readyState: number = WebSocket.OPEN;
  bufferedAmount = 0;
  readonly certifiedName: string | undefined;
  readonly isEncrypted: boolean;
  readonly isLocal: boolean;
  /** The client's end. */
  readonly link: InProcessLink;
  readonly #client: InProcessEvents;
  readonly #closing = new EventEmitter();
  readonly #toClient = new OneWay();
  readonly #toNode = new OneWay();
  #receiver: InProcessReceiver | undefined;
  /** The client hears nothing any more: it has left, or was cut off. */
  #isDeaf = false;

  /** @param accept called soon, with the node's end, which it must `receive` from or `close` */
  constructor(
    { certifiedName, isEncrypted, isLocal }: InProcessCaller,
    client: InProcessEvents,
    accept: (socket: InProcessSocket) => void,
  ) {
    this.certifiedName = certifiedName;
    this.isEncrypted = isEncrypted;
    this.isLocal = isLocal;
    this.#client = client;
    const identity = (): string | undefined => this.#receiver?.identity;
    this.link = {
      send: (frame) => this.#fromClient(frame),
      close: () => this.#leave(),
      get identity() {
        return identity();
      },
    };
    this.#toNode.push(() => {
      if (this.readyState === WebSocket.OPEN) accept(this);
    });
  }

  /** The node has accepted the connection. */
  receive(receiver: InProcessReceiver): void {
    this.#receiver = receiver;
    this.#toClient.push(() => {
      if (!this.#isDeaf) this.#client.onOpen();
    });
  }

  sendWhole(payload: Uint8Array, done: () => void): void {
    if (this.readyState !== WebSocket.OPEN) {
      done();
      return;
    }
    this.bufferedAmount += payload.length;
    this.#toClient.push(() => {
      this.bufferedAmount -= payload.length;
      try {
        if (!this.#isDeaf) this.#client.onFrame(payload);
      } finally {
        done();
      }
    });
  }

  close(code: number, reason: string): void {
    if (this.readyState !== WebSocket.OPEN) return;
    this.readyState = WebSocket.CLOSING;
    this.#toClient.push(() => {
      this.#tellClosed(code, reason);
      this.#toNode.push(() => this.#closed());
    });
  }

  terminate(): void {
    if (this.readyState === WebSocket.CLOSED) return;
    this.readyState = WebSocket.CLOSED;
    this.#toNode.isPaused = false;
    const wasDeaf = this.#isDeaf;
    this.#isDeaf = true;
    this.#toClient.push(() => {
      if (!wasDeaf) this.#client.onClose(CLOSE_ABNORMAL, "");
    });
    this.#toNode.push(() => this.#closed());
  }

  once(event: "close", listener: () => void): void {
    this.#closing.once(event, listener);
  }

  pause(): void {
    this.#toNode.isPaused = true;
  }

  resume(): void {
    this.#toNode.isPaused = false;
  }

  /** A client in this process lives as long as the node does. */
  ping(): void {
    this.#toNode.push(() => this.#receiver?.onPong());
  }

  pong(): void {
    // The client of a door sends no pings.
  }

  #fromClient(frame: Uint8Array): void {
    if (this.#isDeaf) return;
    // The caller uses its bytes again.
    const copy = new Uint8Array(frame);
    this.#toNode.push(() => {
      if (this.readyState === WebSocket.OPEN) this.#receiver?.onFrame(copy);
    });
  }

  #leave(): void {
    this.#isDeaf = true;
    this.#toNode.push(() => this.#closed());
  }

  #tellClosed(code: number, reason: string): void {
    if (this.#isDeaf) return;
    this.#isDeaf = true;
    this.#client.onClose(code, reason);
  }

  #closed(): void {
    this.readyState = WebSocket.CLOSED;
    const receiver = this.#receiver;
    this.#receiver = undefined;
    receiver?.onClosed();
    this.#closing.emit("close");
  }
}

/** What crosses in one direction, in order, each as soon as the running code has ended. */
class OneWay {
  #crossing: (() => void)[] = [];
  #isScheduled = false;
  #isPaused = false;

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
    this.#schedule();
  }

  push(cross: () => void): void {
    this.#crossing.push(cross);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isPaused || this.#crossing.length === 0) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    const crossing = this.#crossing;
    this.#crossing = [];
    let crossed = 0;
    try {
      for (const cross of crossing) {
        if (this.#isPaused) break;
        crossed += 1;
        cross();
      }
    } finally {
      if (crossed < crossing.length)
        this.#crossing = [...crossing.slice(crossed), ...this.#crossing];
      this.#schedule();
    }
  }
}
