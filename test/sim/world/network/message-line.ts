/** A client connection as messages: each frame arrives whole, as the objects that were said. */
import type { ClientConnection, GatewayEvents } from "../../../../src/net/index.js";
import type { ServerMessage } from "../../../../src/protocol/index.js";
import { NetworkLine } from "./network-line.js";
import { ServedConnection, type SimulatedGateway } from "./simulated-gateway.js";

/** What a client does at the node when it arrives there. */
export type Saying = (events: GatewayEvents, connection: ClientConnection) => void;

/** The client's side calls `say` and `leave`. */
export class MessageLine extends NetworkLine<Saying, readonly ServerMessage[], ServedConnection> {
  say(what: Saying): void {
    if (!this.isLeft) this.up.send(what);
  }

  protected override serve(gateway: SimulatedGateway): ServedConnection {
    const served = new ServedConnection(gateway, this.down);
    gateway.add(served);
    return served;
  }

  protected override heard(
    gateway: SimulatedGateway,
    served: ServedConnection,
    what: Saying,
  ): void {
    gateway.life.deliver(() => {
      if (served.isOpen && gateway.events !== undefined) what(gateway.events, served);
    });
  }

  protected override left(gateway: SimulatedGateway, served: ServedConnection): void {
    served.isOpen = false;
    gateway.remove(served);
  }
}
