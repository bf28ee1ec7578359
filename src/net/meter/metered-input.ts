/**
 * The input of one socket, or of one client in the process, as the meter lets it through. It stands
 * between the system and the listeners of the socket, below every `pause` and `resume` of those: what
 * may not be handled yet is kept back, and nothing more is read until it is. So no door can get input
 * around the meter, and backpressure reaches the client by TCP.
 *
 * Bytes never change, and keep their order; the end of the stream comes after them.
 */
import type { Socket } from "node:net";
import type { Account, InputMeter, Metered } from "./input-meter.js";
import { type Beginner, PIECE_COST_BYTES } from "./unfinished-input.js";

/** The input of a client in the process: what its door reads is metered already. */
export class AccountedInput implements Metered {
  readonly address: string;
  /** The identity whose limits count for it; "": none. */
  limitedIdentity = "";
  account: Account;
  protected readonly meter: InputMeter;
  /** As whom its requests are made; `undefined`: nobody has said. */
  identity: string | undefined;
  readonly #isLocal: boolean;
  protected isOver = false;

  constructor(meter: InputMeter, address: string, isLocal: boolean, identity?: string) {
    this.meter = meter;
    this.address = address;
    this.#isLocal = isLocal;
    this.identity = identity;
    this.account = meter.accountOf(address, identity, isLocal);
  }

  /** Whether something of it is kept back, so that its client cannot be heard. */
  get isHeld(): boolean {
    return false;
  }

  /** Its requests are made as that identity from now on. */
  identify(identity: string | undefined): void {
    this.identity = identity;
    if (!this.isOver) this.meter.move(this, identity, this.#isLocal);
  }

  /** A request was taken. */
  request(): void {
    this.meter.request(this.account);
  }

  release(): void {}

  /** Safe to call again. */
  leave(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.meter.leave(this);
  }
}

export class MeteredInput extends AccountedInput implements Beginner {
  /** Whether what is read is handled at once. Otherwise promises go on with it, which counts as well. */
  isHandledAtOnce = false;
  /** Ends the connection and frees its memory at once. */
  cutOffUnfinished: (reason: string) => void;
  readonly #socket: Socket;
  readonly #push: Socket["push"];
  readonly #read: Socket["_read"];
  readonly #emit: Socket["emit"];
  /** What has come and may not be handled yet. */
  #kept: Buffer[] = [];
  #hasEnded = false;
  /** Nothing has been read of it yet. Even its first bytes are read in its turn. */
  #isNew = true;
  /** The listeners want more, and were not heard yet because something is kept back. */
  #isWanted = false;
  /** What its door goes on with before anything else. */
  #task: (() => void) | undefined;

  /** @param identity as whom it speaks, if that is known from its certificate */
  constructor(
    meter: InputMeter,
    socket: Socket,
    address: string,
    isLocal: boolean,
    identity?: string,
  ) {
    super(meter, address, isLocal, identity);
    this.#socket = socket;
    this.cutOffUnfinished = () => socket.destroy();
    this.#push = socket.push.bind(socket);
    this.#read = socket._read.bind(socket);
    this.#emit = socket.emit.bind(socket);
    socket.push = (chunk: Buffer | null, encoding?: BufferEncoding) => this.#take(chunk, encoding);
    socket._read = (size) => this.#onRead(size);
    socket.emit = (name: string | symbol, ...args: unknown[]) =>
      name === "data" ? this.#handle(args[0] as Buffer) : this.#emit(name as string, ...args);
    socket.once("close", () => this.leave());
    // To accept a connection costs something as well.
    meter.begin(this.account);
    meter.endSoon();
  }

  override get isHeld(): boolean {
    return this.#kept.length > 0 || this.#task !== undefined || (this.#isNew && this.#isWanted);
  }

  get isPaused(): boolean {
    return this.isHeld || this.#socket.isPaused();
  }

  /** How much memory its door keeps now for what its client has begun and not finished; 0: none. */
  keeps(bytes: number): void {
    if (this.isOver) return;
    this.meter.unfinished.keeps(this, bytes);
  }

  /** A further piece of `bytes` belongs to what is unfinished. */
  keepsPiece(bytes: number): void {
    this.keeps(this.meter.unfinished.bytesOf(this) + bytes + PIECE_COST_BYTES);
  }

  /** Goes on with input that was read before: the loop works for it from now on. */
  begin(): void {
    this.meter.begin(this.account);
    this.meter.endSoon();
  }

  /** Whether the loop should look at others before it handles more that was read before. */
  get mustYield(): boolean {
    return this.meter.mustYield(this.account);
  }

  /** Its door goes on with `task` in its turn, and nothing more comes before that. */
  later(task: () => void): void {
    this.#task = task;
    this.meter.wait(this);
  }

  override release(): void {
    if (this.isOver) return;
    const task = this.#task;
    if (task !== undefined) {
      this.#task = undefined;
      task();
      if (this.isHeld) this.meter.wait(this);
      else this.#readOn();
      return;
    }
    const chunk = this.#kept.shift();
    if (chunk === undefined) this.#readOn();
    else this.#deliver(chunk);
  }

  override leave(): void {
    this.#kept = [];
    this.#task = undefined;
    this.meter.unfinished.finished(this);
    super.leave();
  }

  /** The system has something; returns whether more may be read. */
  #take(chunk: Buffer | null, encoding: BufferEncoding | undefined): boolean {
    if (chunk === null) {
      if (!this.isHeld) return this.#push(null, encoding);
      this.#hasEnded = true;
      return false;
    }
    // Where the platform reads before there is a meter, its first bytes come without being asked for.
    this.#isNew = false;
    this.meter.received(this.account, chunk.length);
    if (this.isHeld || !this.meter.mayBegin(this.account)) {
      this.#kept.push(chunk);
      this.meter.wait(this);
      return false;
    }
    return this.#deliver(chunk);
  }

  /** The listeners want more. */
  #onRead(size: number): void {
    if (this.isHeld || (this.#isNew && !this.meter.mayBegin(this.account))) {
      this.#isWanted = true;
      this.meter.wait(this);
    } else if (this.#hasEnded) this.#end();
    else {
      this.#isNew = false;
      this.#read(size);
    }
  }

  /** Nothing is kept back any more. */
  #readOn(): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.#isNew = false;
    this.#onRead(0);
  }

  #deliver(chunk: Buffer): boolean {
    const most = this.meter.pieceBytesOf(this.account);
    if (chunk.length <= most) return this.#push(chunk) && !this.isHeld;
    this.#kept.unshift(chunk.subarray(most));
    this.#push(chunk.subarray(0, most));
    return false;
  }

  #end(): void {
    this.#hasEnded = false;
    this.#push(null);
    this.#socket.read(0);
  }

  #handle(chunk: Buffer): boolean {
    const { meter, account } = this;
    const { requests } = account;
    meter.begin(account);
    try {
      return this.#emit("data", chunk);
    } finally {
      meter.learn(account, chunk.length, meter.spentMs, account.requests - requests);
      if (this.isHandledAtOnce) meter.end();
      else meter.endSoon();
    }
  }
}
