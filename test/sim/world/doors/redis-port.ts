/**
 * The port for Redis clients of a simulated node: connections of bytes, each a stream of Node.js
 * behind which the simulated network is. What the bytes mean the door finds out.
 */

import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import { type DoorClock, every } from "../../../../src/doors/clock.js";
import type { ClientPort } from "../../../../src/doors/redis/index.js";
import type { InputMeter, StreamPortEvents } from "../../../../src/net/index.js";
import { MeteredInput } from "../../../../src/net/meter/metered-input.js";
import { BROKEN, type SocketEnding } from "../network/node-socket.js";
import type { Wire } from "../network/wire.js";

const TICK_MS = 1_000;

export class RedisPort implements ClientPort {
  readonly port = 6_379;
  readonly #life: ProcessLife;
  readonly #clock: DoorClock;
  readonly #meter: InputMeter;
  readonly #events: StreamPortEvents;
  #endTicks = (): void => {};

  constructor(life: ProcessLife, clock: DoorClock, meter: InputMeter, events: StreamPortEvents) {
    this.#life = life;
    this.#clock = clock;
    this.#meter = meter;
    this.#events = events;
  }

  async start(): Promise<void> {
    this.#endTicks = every(this.#clock, TICK_MS, () => this.#events.onTick());
  }

  async close(): Promise<void> {
    this.#endTicks();
  }

  /** A client has connected from that address. */
  accept(wire: Wire<Uint8Array | SocketEnding>, address: string): RedisSocket {
    const served = new RedisSocket(this.#life, wire);
    // It has those parts of a socket that the door uses.
    const socket = served as unknown as Socket;
    const input = new MeteredInput(this.#meter, socket, address, false);
    const shown = { address, isEncrypted: false, certifiedName: undefined };
    this.#life.deliver(() => this.#events.onClient({ socket, input, ...shown }));
    return served;
  }
}

/** The node's end of a connection. */
export class RedisSocket extends Duplex {
  bytesWritten = 0;
  readonly #life: ProcessLife;
  readonly #wire: Wire<Uint8Array | SocketEnding>;

  constructor(life: ProcessLife, wire: Wire<Uint8Array | SocketEnding>) {
    super({ allowHalfOpen: false });
    this.#life = life;
    this.#wire = wire;
  }

  /** Bytes of the client arrived. */
  heard(bytes: Uint8Array): void {
    this.#life.deliver(() => {
      if (!this.destroyed) this.push(Buffer.from(bytes));
    });
  }

  /** The client is gone. */
  left(): void {
    this.#life.deliver(() => this.destroy());
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.bytesWritten += chunk.length;
    if (this.#life.mayAct()) this.#wire.send(Uint8Array.from(chunk));
    done();
  }

  override _final(done: () => void): void {
    this.#tellEnd();
    done();
  }

  override _destroy(_error: Error | null, done: (error: null) => void): void {
    this.#tellEnd();
    done(null);
  }

  #tellEnd(): void {
    if (this.#life.mayAct()) this.#wire.send(BROKEN);
  }
}
