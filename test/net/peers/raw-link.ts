/**
 * A link between nodes on which a test sends what it likes, well formed or not. The end of the
 * connection is never an error here.
 */
import { EventEmitter, once } from "node:events";
import { connect, type Socket } from "node:net";
import { FrameReader } from "../../../src/net/peers/frame-reader.js";
import {
  closeFrame,
  FRAME,
  type FrameLimits,
  frameOfKind,
  LINK_PREFACE,
  readClose,
} from "../../../src/net/peers/link-frame.js";

export interface LinkEnd {
  /** 1006 if the other side gave none. */
  readonly code: number;
  readonly reason: string;
}

const ANY: FrameLimits = Object.fromEntries(Object.values(FRAME).map((kind) => [kind, 2 ** 32]));

export class RawLink {
  /** Bodies of the frames that came, but for `close`, by their kinds. */
  readonly frames: { readonly kind: number; readonly body: Uint8Array }[] = [];
  readonly ended: Promise<LinkEnd>;
  readonly stream: Socket;
  readonly #events = new EventEmitter();
  #end: LinkEnd = { code: 1006, reason: "" };
  #isIntroduced = false;
  #isGreeted = false;
  #isEnded = false;

  constructor(stream: Socket) {
    this.stream = stream;
    stream.setNoDelay(true);
    const reader = new FrameReader(ANY, {
      onFrame: (kind, body) => {
        if (kind === FRAME.close) this.#end = readClose(body) ?? this.#end;
        else this.frames.push({ kind, body });
        this.#events.emit("heard");
      },
      onForeign: (first) => stream.destroy(new Error(`no link, but ${first}`)),
      onBad: (_, reason) => stream.destroy(new Error(reason)),
    });
    stream.on("data", (chunk: Buffer) => reader.push(chunk));
    stream.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      stream.on("close", () => {
        this.#isEnded = true;
        this.#events.emit("heard");
        resolve(this.#end);
      });
    });
  }

  static async to(port: number): Promise<RawLink> {
    const stream = connect(port, "127.0.0.1");
    const link = new RawLink(stream);
    await once(stream, "connect");
    return link;
  }

  /** Sends these bytes as a hello, the first time, and as messages from then on. */
  send(body: Uint8Array): void {
    this.frame(this.#isGreeted ? FRAME.messages : FRAME.hello, body);
    this.#isGreeted = true;
  }

  frame(kind: number, body?: Uint8Array): void {
    this.write(frameOfKind(kind, body));
  }

  /** Sends bytes after what a link begins with. */
  write(bytes: Uint8Array): void {
    if (this.stream.destroyed) return;
    this.stream.write(this.#isIntroduced ? bytes : Buffer.concat([LINK_PREFACE, bytes]));
    this.#isIntroduced = true;
  }

  close(code: number, reason: string): void {
    this.write(closeFrame(code, reason));
    this.stream.end();
  }

  destroy(): void {
    this.stream.destroy();
  }

  /** The frame of that number, from 0 on. */
  async heard(number = 0): Promise<{ readonly kind: number; readonly body: Uint8Array }> {
    for (;;) {
      const found = this.frames[number];
      if (found !== undefined) return found;
      if (this.#isEnded) throw new Error(`ended: ${JSON.stringify(this.#end)}`);
      await once(this.#events, "heard");
    }
  }
}
