/**
 * A client connection as bytes: frames of the production gateway and the production SDK, in order, or
 * not at all once the connection is broken. Between the two only WebSocket's own framing is left out.
 */
import type { GatewayConnection } from "../../../../src/net/gateway/connection.js";
import { NetworkLine } from "./network-line.js";
import { BROKEN } from "./node-socket.js";
import type { SimulatedGateway } from "./simulated-gateway.js";

/** The client's side calls `send` and `leave`. */
export class SocketLine extends NetworkLine<Uint8Array, Uint8Array, GatewayConnection> {
  /** A copy travels: the caller may use its buffer again at once. */
  send(frame: Uint8Array): void {
    if (!this.isLeft) this.up.send(frame.slice());
  }

  /** As a reset does: what is under way in either direction is lost, and both ends hear of it. */
  cut(): void {
    if (this.isLeft) return;
    this.down.break();
    this.up.break();
    if (this.end !== undefined) this.left(this.end.gateway, this.end.served);
    this.closed(BROKEN);
  }

  protected override serve(gateway: SimulatedGateway): GatewayConnection {
    return gateway.accept(this.down);
  }

  protected override heard(
    gateway: SimulatedGateway,
    served: GatewayConnection,
    frame: Uint8Array,
  ): void {
    gateway.heard(served, frame);
  }

  protected override left(gateway: SimulatedGateway, served: GatewayConnection): void {
    gateway.left(served);
  }
}
