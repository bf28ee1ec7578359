/**
 * A lean client of the HTTP door: connections that are kept alive, on each of which one request follows
 * another. It reads only what it asks for, so that the load process does not measure itself.
 */
import { connect, type Socket } from "node:net";
import type { GiveBack, PeerClient } from "./peer.js";
import type { PeerLoad } from "./peer-load.js";

const HOST = "127.0.0.1";
const TTL_MS = 30_000;
/** It still waits: the same request is made again. */
const QUEUED = 202;
const END_OF_HEAD = Buffer.from("\r\n\r\n");
const LENGTH = /\r\nContent-Length: (\d+)/i;

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** One request at a time: an answer of HTTP/1.1 waits for those before it. */
class KeptConnection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  constructor(port: number) {
    this.#socket = connect(port, HOST).setNoDelay(true);
    this.#socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#socket.on("error", (error) => this.#end(error));
    this.#socket.on("close", () => this.#end(new Error("the connection was closed")));
  }

  request(head: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(head);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const end = this.#received.indexOf(END_OF_HEAD);
    if (end < 0) return;
    const head = this.#received.toString("latin1", 0, end);
    const from = end + END_OF_HEAD.length;
    const to = from + Number(LENGTH.exec(head)?.[1] ?? 0);
    if (this.#received.length < to) return;
    const body = this.#received.toString("utf8", from, to);
    this.#received = this.#received.subarray(to);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), body });
  }

  #end(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

class HttpClient implements PeerClient {
  readonly #port: number;
  readonly #connections: KeptConnection[] = [];
  /** Connections without a request; workers that share this client need more than one. */
  readonly #idle: KeptConnection[] = [];
  readonly #name: string;
  readonly #isShared: boolean;
  #requests = 0;

  constructor(port: number, name: string, isShared: boolean) {
    this.#port = port;
    this.#name = name;
    this.#isShared = isShared;
  }

  /** Each request has an owner of its own: an owner has one claim in a key. */
  async acquire(key: string): Promise<GiveBack> {
    const name = encodeURIComponent(key);
    this.#requests += 1;
    const owner = `${this.#name}-${this.#requests}`;
    const target = `/v1/lock?key=${name}&ttl=${TTL_MS}ms${this.#isShared ? "&wait=45s" : ""}`;
    let answer = await this.#ask("PUT", target, owner);
    while (answer.status === QUEUED) answer = await this.#ask("PUT", target, owner);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`);
    return async () => {
      const { body } = await this.#ask("DELETE", `/v1/lock?key=${name}`, owner);
      return body.includes('"released":true');
    };
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
  }

  async #ask(method: string, target: string, owner: string): Promise<Answer> {
    const named = `Holdfast-Owner: ${owner}\r\nIdempotency-Key: ${owner}\r\n`;
    const head = `${method} ${target} HTTP/1.1\r\nHost: ${HOST}\r\n${named}`;
    const connection = this.#idle.pop() ?? this.#open();
    const answer = await connection.request(`${head}Content-Length: 0\r\n\r\n`);
    this.#idle.push(connection);
    return answer;
  }

  #open(): KeptConnection {
    const connection = new KeptConnection(this.#port);
    this.#connections.push(connection);
    return connection;
  }
}

/** One client for each connection of the load, all to the node that leads. */
export async function connectHttp(
  port: number,
  { connections, isShared }: PeerLoad,
): Promise<PeerClient[]> {
  return Array.from({ length: connections }, (_, at) => {
    return new HttpClient(port, `bench-${at}`, isShared);
  });
}
