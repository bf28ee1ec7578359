/**
 * A TCP proxy before one port of the loopback interface, for network faults: it closes or resets
 * connections, or holds back their data as a broken cable does. It must never alter or invent
 * bytes.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

const HOST = "127.0.0.1";

export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #targetPort: number;
  #isCut = false;
  #accepted = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((near) => {
      this.#accepted += 1;
      const far = connect(this.#targetPort, HOST);
      const pair = [near, far] as const;
      this.#pairs.add(pair);
      near.setNoDelay(true);
      far.setNoDelay(true);
      if (!this.#isCut) {
        near.pipe(far);
        far.pipe(near);
      }
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        socket.on("error", () => other.destroy());
        socket.on("close", () => {
          other.destroy();
          this.#pairs.delete(pair);
        });
      }
    });
  }

  static async to(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    proxy.#server.listen(0, HOST);
    await once(proxy.#server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get address(): { host: string; port: number } {
    return { host: HOST, port: this.port };
  }

  /** Resolves once `count` connections, including ended ones, have been accepted. */
  async accepted(count: number): Promise<void> {
    while (this.#accepted < count) await once(this.#server, "connection");
  }

  /** Resolves once somebody has connected again. */
  nextAccepted(): Promise<void> {
    return this.accepted(this.#accepted + 1);
  }

  /**
   * Closes every connection with FIN on both sides, in order of arrival. New ones are let through.
   */
  end(): void {
    for (const [near, far] of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  /** New connections go there. */
  get targetPort(): number {
    return this.#targetPort;
  }

  retarget(targetPort: number): void {
    this.#targetPort = targetPort;
  }

  /** Resets every connection with RST on both sides. New ones are let through. */
  reset(): void {
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }

  /** Keeps every connection open but forwards nothing on it. New ones are let through. */
  freeze(): void {
    for (const [near, far] of this.#pairs) {
      near.unpipe(far);
      far.unpipe(near);
      near.pause();
      far.pause();
    }
  }

  /** Ends `freeze`: forwards the data that was held back. */
  thaw(): void {
    for (const [near, far] of this.#pairs) {
      near.pipe(far);
      far.pipe(near);
    }
  }

  /** Like `freeze`, and new connections get no data either. */
  cut(): void {
    this.#isCut = true;
    this.freeze();
  }

  /** Resets the connections that got no data and lets new ones through. */
  heal(): void {
    this.#isCut = false;
    this.reset();
  }

  async close(): Promise<void> {
    this.reset();
    this.#server.close();
    await once(this.#server, "close");
  }
}
