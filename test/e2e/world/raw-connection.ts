/**
 * A WebSocket on which a test sends any bytes to a client port, and plain sockets below that. No answer of a node and no end of a connection is an error here.
 */
import { EventEmitter, once } from "node:events";
import { connect } from "node:net";
import { WebSocket } from "ws";
import { decodeServerFrame } from "../../../src/net/framing/index.js";
import { type ServerMessage, SUBPROTOCOL } from "../../../src/protocol/index.js";
import { sentenceIn } from "../../../src/text/safe-text.js";

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

export class RawConnection {
  readonly messages: ServerMessage[] = [];
  /** Resolves when the connection has ended. */
  readonly closed: Promise<Closed>;
  readonly #socket: WebSocket;
  /** `heard` when anything has come, the end included. */
  readonly #events = new EventEmitter();
  #isClosed = false;

  private constructor(socket: WebSocket, decodes: boolean) {
    this.#socket = socket;
    socket.on("error", () => undefined);
    socket.on("message", (data: Buffer) => {
      if (decodes) this.messages.push(...decodeServerFrame(data));
      this.#events.emit("heard");
    });
    this.closed = new Promise((resolve) => {
      socket.on("close", (code, reason) => {
        this.#isClosed = true;
        this.#events.emit("heard");
        resolve({ code, reason: reason.toString() });
      });
    });
  }

  /** To the client port; resolves when the node has said hello. */
  static async toClientPort(endpoint: string): Promise<RawConnection> {
    const connection = new RawConnection(open(`${endpoint}/v1`, SUBPROTOCOL), true);
    await connection.heard(() => true);
    return connection;
  }

  send(data: Uint8Array | string): void {
    this.#socket.send(data);
  }

  /** The first message that fits, or `undefined` when the connection ends without one. */
  async heard(fits: (message: ServerMessage) => boolean): Promise<ServerMessage | undefined> {
    for (;;) {
      const found = this.messages.find(fits);
      if (found !== undefined || this.#isClosed) return found;
      await once(this.#events, "heard");
    }
  }

  /** Resolves when anything at all has come. */
  async answered(): Promise<void> {
    await once(this.#events, "heard");
  }

  /** Pings four times a second until the connection ends, as if that were something to say. */
  pingOn(): void {
    const timer = setInterval(() => this.#socket.ping(), 250);
    this.#socket.on("close", () => clearInterval(timer));
  }

  close(): void {
    this.#socket.close();
  }
}

/** How the node turns an upgrade away: the status of its answer, and what it says. */
export async function refusedUpgrade(
  url: string,
  protocols: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const socket = new WebSocket(url, [...protocols], { perMessageDeflate: false, headers });
  socket.on("error", () => undefined);
  const [, response] = await once(socket, "unexpected-response");
  let text = "";
  for await (const chunk of response) text += chunk;
  socket.terminate();
  return `${response.statusCode} ${sentenceIn(text)}`;
}

/** Writes bytes to a bare TCP connection; resolves with all the node answered until the end. */
export async function sayOverTcp(port: number, bytes: Uint8Array | string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  // The node may cut the connection while the bytes are still on their way.
  socket.on("error", () => undefined);
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    answer += text;
  });
  socket.end(bytes);
  // Not `once` of the platform, which rejects when there is an error before.
  await new Promise((resolve) => socket.once("close", resolve));
  return answer;
}

function open(url: string, protocol: string): WebSocket {
  return new WebSocket(url, protocol, { perMessageDeflate: false });
}
