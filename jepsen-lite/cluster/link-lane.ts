/**
 * One direction of one proxied connection: bytes wait here while the road is cut or slow, up to a
 * limit, beyond which the sender is no longer read (as with a full socket buffer).
 */
import type { Socket } from "node:net";

const WAITING_BYTES_MAX = 1 << 20;
/** A limited road passes at once what is allowed in this time. */
const SLICE_MS = 50;

/** The state of one direction, shared by all connections of the link. */
export interface Road {
  isCut: boolean;
  delayMs: number;
  /** 0: unlimited. */
  bytesPerSecondMax: number;
}

interface Parcel {
  readonly bytes: Buffer;
  readonly arrivedMs: number;
}

export class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #road: Readonly<Road>;
  #waiting: Parcel[] = [];
  #waitingBytes = 0;
  #hasEnded = false;
  /** When a limited road has carried what it was given. */
  #freeAtMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, road: Readonly<Road>) {
    this.#from = from;
    this.#to = to;
    this.#road = road;
    from.on("data", (bytes: Buffer) => this.#take(bytes));
    from.on("close", () => {
      this.#hasEnded = true;
      this.pump();
    });
    // The close that follows reports the error.
    from.on("error", () => undefined);
    to.on("drain", () => this.pump());
    to.on("close", () => clearTimeout(this.#timer));
  }

  /** Passes on what is allowed now; must be called when the road has changed. */
  pump(): void {
    clearTimeout(this.#timer);
    if (this.#road.isCut || this.#to.destroyed) return;
    for (let parcel = this.#waiting[0]; parcel !== undefined; parcel = this.#waiting[0]) {
      const nowMs = performance.now();
      const waitMs = Math.max(parcel.arrivedMs + this.#road.delayMs, this.#freeAtMs) - nowMs;
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      if (this.#to.writableNeedDrain) return;
      this.#send(parcel, nowMs);
    }
    if (this.#hasEnded) this.#to.destroySoon();
    else if (this.#from.isPaused()) this.#from.resume();
  }

  #take(bytes: Buffer): void {
    this.#waiting.push({ bytes, arrivedMs: performance.now() });
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX) this.#from.pause();
    this.pump();
  }

  #send({ bytes, arrivedMs }: Parcel, nowMs: number): void {
    const rate = this.#road.bytesPerSecondMax;
    const allowed = rate === 0 ? bytes.length : Math.max(1, Math.floor((rate * SLICE_MS) / 1_000));
    const piece = bytes.subarray(0, allowed);
    if (piece.length === bytes.length) this.#waiting.shift();
    else this.#waiting[0] = { bytes: bytes.subarray(piece.length), arrivedMs };
    this.#waitingBytes -= piece.length;
    if (rate > 0) this.#freeAtMs = nowMs + (piece.length / rate) * 1_000;
    this.#to.write(piece);
  }
}
