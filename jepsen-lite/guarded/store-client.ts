/**
 * A client's connection to the guarded store: opened when first needed, and again after it ended.
 */
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { StoreUnreachable } from "../clients/outcome.js";
import type { StoreCalls } from "../workloads/workload.js";
import type { StoreAnswer } from "./store-messages.js";

interface Waiting {
  readonly resolve: (result: number | boolean) => void;
  readonly reject: (error: Error) => void;
}

export class StoreClient implements StoreCalls {
  readonly #host: string;
  readonly #port: number;
  readonly #waiting = new Map<number, Waiting>();
  #socket: Socket | undefined;
  #lastId = 0;

  constructor(host: string, port: number) {
    this.#host = host;
    this.#port = port;
  }

  async read(key: string, token: number): Promise<number | undefined> {
    const result = await this.#ask(["read", key, token]);
    return result === false ? undefined : Number(result);
  }

  async write(key: string, value: number, token: number): Promise<boolean> {
    return (await this.#ask(["write", key, value, token])) === true;
  }

  close(): void {
    this.#socket?.destroy();
  }

  #ask(words: readonly unknown[]): Promise<number | boolean> {
    this.#socket ??= this.#open();
    this.#lastId += 1;
    const id = this.#lastId;
    this.#socket.write(`${JSON.stringify([id, ...words])}\n`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #open(): Socket {
    const socket = connect(this.#port, this.#host);
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#socket = undefined;
      for (const { reject } of this.#waiting.values()) {
        reject(new StoreUnreachable("the store closed the connection"));
      }
      this.#waiting.clear();
    });
    const lines = createInterface({ input: socket });
    // It repeats the socket's errors; the end of the socket reports them to waiting calls.
    lines.on("error", () => undefined);
    lines.on("line", (line) => {
      const [id, result] = JSON.parse(line) as StoreAnswer;
      this.#waiting.get(id)?.resolve(result);
      this.#waiting.delete(id);
    });
    return socket;
  }
}
