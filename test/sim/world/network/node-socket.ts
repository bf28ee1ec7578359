/**
 * What the gateway's connection has in place of a WebSocket. It takes a frame as a kernel does,
 * a moment later: until then its bytes belong to the connection that wrote them, which must not
 * touch them.
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { CrashKind } from "../disk/node-disk.js";
import type { Wire } from "./wire.js";

/** How a connection ends, as WebSocket says it. */
export interface SocketEnding {
  readonly code: number;
  readonly reason: string;
}

/** Nobody said goodbye. */
export const BROKEN: SocketEnding = Object.freeze({ code: 1006, reason: "" });
/** Until the system has taken what was given to a socket. */
const TAKEN_AFTER_MS = 0.2;
/** `readyState` of a WebSocket. */
const OPEN = 1;
const CLOSED = 3;

export class NodeSocket {
  readyState = OPEN;
  bufferedAmount = 0;
  readonly #life: ProcessLife;
  readonly #wire: Wire<Uint8Array | SocketEnding>;
  readonly #onClosed: () => void;

  /** `onClosed`: this side ended it. */
  constructor(life: ProcessLife, wire: Wire<Uint8Array | SocketEnding>, onClosed: () => void) {
    this.#life = life;
    this.#wire = wire;
    this.#onClosed = onClosed;
  }

  sendWhole(frame: Uint8Array, onTaken: () => void): void {
    const life = this.#life;
    if (this.readyState !== OPEN || !life.mayAct()) return;
    this.bufferedAmount += frame.length;
    life.timeline.after(TAKEN_AFTER_MS, () => {
      if (!life.isAlive) return;
      this.bufferedAmount -= frame.length;
      this.#wire.send(frame.slice());
      onTaken();
    });
  }

  close(code: number, reason: string): void {
    const life = this.#life;
    if (this.readyState !== OPEN) return;
    this.readyState = CLOSED;
    if (!life.mayAct()) return;
    // Behind what was said before.
    life.timeline.after(TAKEN_AFTER_MS, () => {
      if (life.isAlive) this.#wire.send({ code, reason });
    });
    this.#onClosed();
  }

  terminate(): void {
    this.close(BROKEN.code, BROKEN.reason);
  }

  /** The process behind it ended: its system says so, unless the power is gone. */
  abort(kind: CrashKind): void {
    this.readyState = CLOSED;
    if (kind === "power") this.#wire.break();
    else this.#wire.send(BROKEN);
  }
}
