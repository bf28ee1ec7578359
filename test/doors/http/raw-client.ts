/** A connection that sends bytes as they are, and keeps what it is sent. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export class RawClient {
  readonly socket: Socket;
  text = "";

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      this.text += bytes.toString("latin1");
    });
  }

  static async connect(port: number): Promise<RawClient> {
    // A half of it may end before the other one.
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    await once(socket, "connect");
    return new RawClient(socket);
  }

  /** Sends the bytes on a connection of their own; resolves to all that came until its end. */
  static async say(port: number, bytes: string | Uint8Array): Promise<RawClient> {
    const client = await RawClient.connect(port);
    client.socket.end(bytes);
    await client.closed;
    return client;
  }

  get closed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.socket.readableEnded || this.socket.closed) resolve();
      else this.socket.once("end", resolve).once("close", () => resolve());
    });
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }
}
