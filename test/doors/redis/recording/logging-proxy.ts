/**
 * A proxy before a server that speaks the protocol of Redis. It passes bytes on unchanged and notes
 * each command with its reply. Connections are numbered as they come.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { RespReader } from "../../../../src/doors/redis/resp/resp-reader.js";
import { replyAt } from "../world/door-world.js";

const HOST = "127.0.0.1";
const COMMAND_BYTES_MAX = 1 << 20;

export interface Exchange {
  readonly connection: number;
  /** Its name and its arguments, as latin1. */
  readonly command: readonly string[];
  /** As `RespClient.reply` shows it; `undefined`: none came. */
  reply: string | undefined;
}

export class LoggingProxy implements AsyncDisposable {
  readonly exchanges: Exchange[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #connections = 0;

  private constructor(targetPort: number) {
    this.#server = createServer((near) => this.#accept(near, targetPort));
  }

  static async to(targetPort: number): Promise<LoggingProxy> {
    const proxy = new LoggingProxy(targetPort);
    proxy.#server.listen(0, HOST);
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks every connection. New ones are let through. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(near: Socket, targetPort: number): void {
    const connection = ++this.#connections;
    const far = connect(targetPort, HOST);
    const unanswered: Exchange[] = [];
    const reader = new RespReader();
    let replies = "";
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    near.on("data", (chunk: Buffer) => {
      far.write(chunk);
      reader.push(chunk);
      for (;;) {
        const command = reader.next(COMMAND_BYTES_MAX)?.map((word) => word.toString("latin1"));
        if (command === undefined) return;
        const exchange: Exchange = { connection, command, reply: undefined };
        unanswered.push(exchange);
        this.exchanges.push(exchange);
      }
    });
    far.on("data", (chunk: Buffer) => {
      replies += chunk.toString("latin1");
      let end = 0;
      for (;;) {
        const found = replyAt(replies, end);
        if (found === undefined) break;
        end = found.end;
        const exchange = unanswered.shift();
        if (exchange !== undefined) exchange.reply = found.text;
      }
      replies = replies.slice(end);
      near.write(chunk);
    });
    near.on("end", () => far.end());
    far.on("end", () => near.end());
  }
}
