/**
 * Connections of simulated owners to the doors of a node: one request of HTTP and its answer, or bytes
 * of Redis, over the simulated network.
 */
import { NetworkLine } from "../network/network-line.js";
import type { SimulatedGateway } from "../network/simulated-gateway.js";
import type { RedisSocket } from "./redis-port.js";
import type { HttpTold, HttpWords, ServedExchange } from "./served-exchange.js";

/** The caller says that it will ask for nothing more. */
const NO_MORE = "no more";

interface ServedRequest {
  exchange: ServedExchange | undefined;
}

/** The owner's side calls `ask`, `askNoMore` and `leave`. */
export class HttpLine extends NetworkLine<HttpWords | typeof NO_MORE, HttpTold, ServedRequest> {
  ask(words: HttpWords): void {
    if (!this.isLeft) this.up.send(words);
  }

  askNoMore(): void {
    if (!this.isLeft) this.up.send(NO_MORE);
  }

  /** What the door has answered, whether or not it was heard. */
  get told(): HttpTold | undefined {
    return this.end?.served.exchange?.told;
  }

  protected override serve(gateway: SimulatedGateway): ServedRequest {
    gateway.doors?.connected(this.down);
    return { exchange: undefined };
  }

  protected override heard(
    gateway: SimulatedGateway,
    served: ServedRequest,
    what: HttpWords | typeof NO_MORE,
  ): void {
    gateway.life.deliver(() => {
      if (what === NO_MORE) served.exchange?.end();
      else served.exchange = gateway.doors?.answer(what, this.down);
    });
  }

  protected override left(gateway: SimulatedGateway, served: ServedRequest): void {
    gateway.doors?.left(this.down);
    gateway.life.deliver(() => served.exchange?.leave());
  }
}

/** The owner's side calls `send` and `leave`. */
export class RedisLine extends NetworkLine<Uint8Array, Uint8Array, RedisSocket | undefined> {
  send(bytes: Uint8Array): void {
    if (!this.isLeft) this.up.send(bytes);
  }

  protected override serve(gateway: SimulatedGateway): RedisSocket | undefined {
    return gateway.doors?.accept(this.down);
  }

  protected override heard(
    _gateway: SimulatedGateway,
    served: RedisSocket | undefined,
    bytes: Uint8Array,
  ): void {
    served?.heard(bytes);
  }

  protected override left(gateway: SimulatedGateway, served: RedisSocket | undefined): void {
    gateway.doors?.left(this.down);
    served?.left();
  }
}
