/**
 * One connection to one node for somebody who has no session: it shows a token if there is one, and
 * then says a few things. What it is shown is checked (`checks/access/viewed-connection.ts`).
 */
import {
  type AttachCommand,
  MESSAGE,
  OP,
  type Operation,
  type OrderCommand,
  type Query,
  type ServerMessage,
  Writer,
  writeRequest,
} from "../../../../src/protocol/index.js";
import { encodeCommand } from "../../../protocol/command-bytes.js";
import type { ViewedConnection } from "../../checks/access/viewed-connection.js";
import type { ClientNetwork } from "../../world/network/client-network.js";
import type { MessageLine } from "../../world/network/message-line.js";

/** No other request of the connection has this number. */
export const SIGN_IN_ID = Number.MAX_SAFE_INTEGER;

export interface LineSurroundings {
  readonly network: ClientNetwork;
  readonly host: number;
  /** Nodes may let a client wait, and send away who does not. */
  readonly waitsForHello: boolean;
  /** `undefined`: nobody looks. */
  readonly view: (node: number) => ViewedConnection | undefined;
}

export interface LineEvents {
  /** It may say something now. */
  onReady(line: SignedLine): void;
  onMessage(message: ServerMessage, line: SignedLine): void;
  /** Closed by the node, or not let in. */
  onClosed(): void;
}

export class SignedLine {
  readonly #line: MessageLine;
  readonly #events: LineEvents;
  readonly #token: string | undefined;
  readonly #waitsForHello: boolean;
  #viewed: ViewedConnection | undefined;
  /** The second one says that the token was accepted. */
  #hellos = 0;

  constructor(
    world: LineSurroundings,
    node: number,
    token: string | undefined,
    events: LineEvents,
  ) {
    const { network, host } = world;
    this.#token = token;
    this.#waitsForHello = world.waitsForHello;
    this.#events = events;
    this.#line = network.connect(node, {
      host,
      onOpen: () => {
        this.#viewed = world.view(node);
        if (!world.waitsForHello) events.onReady(this);
      },
      onFrame: (messages) => {
        for (const message of messages) this.#hear(message);
      },
      onClosed: () => events.onClosed(),
    });
  }

  ask(query: Query): void {
    this.#viewed?.said(query);
    this.#line.say((events, connection) => events.onQuery(connection, query));
  }

  order(command: OrderCommand): void {
    this.#viewed?.said(command);
    const bytes = encodeCommand(command);
    this.#line.say((events, connection) => events.onCommand(connection, command, bytes));
  }

  operate(operation: Operation): void {
    const writer = new Writer();
    writeRequest(writer, operation);
    const bytes = writer.view().slice();
    this.#line.say((events, connection) => events.onOperation(connection, operation, bytes));
  }

  attach(command: AttachCommand): void {
    this.#viewed?.said(command);
    const bytes = encodeCommand(command);
    this.#line.say((events, connection) => events.onAttach(connection, command, bytes));
  }

  leave(): void {
    this.#line.leave();
  }

  #introduce(): void {
    if (!this.#waitsForHello) return;
    const token = this.#token;
    if (token === undefined) this.#events.onReady(this);
    else this.ask({ op: OP.signIn, id: SIGN_IN_ID, token });
  }

  #hear(message: ServerMessage): void {
    this.#viewed?.heard(message);
    if (message.kind === MESSAGE.hello) {
      this.#hellos += 1;
      if (this.#hellos === 1) this.#introduce();
      else if (this.#hellos === 2) this.#events.onReady(this);
    } else if (message.kind === MESSAGE.answer && message.id === SIGN_IN_ID) {
      this.#events.onClosed();
    } else this.#events.onMessage(message, this);
  }
}
