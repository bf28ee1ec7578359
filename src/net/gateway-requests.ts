/**
 * What clients say, sorted: frames to requests, requests to the driver, refused values to coded
 * answers, breaches of protocol to a close code and a reason. Nothing a client sends gets further
 * than this, and nothing of it can throw; an exception of the driver's own passes through.
 */
import { ERROR_NUMBERS } from "../errors.js";
import {
  decodeFrame,
  isAttachCommand,
  isOperation,
  isOperationOp,
  isOrder,
  isQuery,
  isQueryOp,
  MESSAGE,
  type OperationFailure,
  ProtocolError,
  type Request,
  type RequestSink,
} from "../protocol/index.js";
import type { GatewayConnection } from "./gateway-connection.js";
import { ownBytes } from "./own-bytes.js";
import type { GatewayEvents } from "./types.js";

const { INVALID_ARGUMENT } = ERROR_NUMBERS;
const NO_BYTES = new Uint8Array(0);

export class GatewayRequests implements RequestSink {
  readonly #events: GatewayEvents;
  /** Whose frame is being read, and the node's own copy of it. */
  #connection: GatewayConnection | undefined;
  #frame: Uint8Array = NO_BYTES;
  /** This room answered something itself, of which the driver does not know. */
  #hasAnswered = false;

  constructor(events: GatewayEvents) {
    this.#events = events;
  }

  read(connection: GatewayConnection, data: Uint8Array, isBinary: boolean): void {
    if (!isBinary) {
      this.breach(connection, 1003, "text frame: holdfast.v1 is binary");
      return;
    }
    this.#connection = connection;
    this.#frame = ownBytes(data);
    try {
      decodeFrame(this.#frame, this);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.breach(connection, 1002, error.message);
    } finally {
      this.#connection = undefined;
      this.#frame = NO_BYTES;
    }
    if (!this.#hasAnswered) return;
    this.#hasAnswered = false;
    connection.flush();
  }

  /** Closes the connection with a code and a reason, and tells the log. */
  breach(connection: GatewayConnection, code: number, reason: string): void {
    if (!connection.isOpen) return;
    connection.close(code, reason);
    this.#events.onRefused?.(`client connection ${connection.id} closed (${code}): ${reason}`);
  }

  request(request: Request, start: number, end: number): void {
    const connection = this.#connection;
    // Closed by a request before it in the same frame.
    if (connection === undefined || !connection.isOpen) return;
    if (isQuery(request)) {
      connection.hasAsked = true;
      this.#events.onQuery(connection, request);
    } else if (isOperation(request)) {
      connection.hasAsked = true;
      this.#events.onOperation(connection, request, this.#frame.subarray(start, end));
    } else if (isAttachCommand(request)) {
      connection.hasAsked = true;
      this.#events.onAttach(connection, request, this.#frame.subarray(start, end));
    } else if (this.#mayPass(connection, request)) {
      this.#events.onCommand(connection, request, this.#frame.subarray(start, end));
    }
  }

  /** As `breach`, and its memory is free at once: there may be no time for a handshake. */
  cutOff(connection: GatewayConnection, code: number, reason: string): void {
    this.breach(connection, code, reason);
    connection.cutOff();
  }

  invalid(op: number, id: number, reason: string): void {
    const connection = this.#connection;
    if (connection === undefined || !connection.isOpen) return;
    this.#hasAnswered = true;
    if (isQueryOp(op)) {
      connection.send({ kind: MESSAGE.answer, id, status: INVALID_ARGUMENT, payload: null });
    } else if (isOperationOp(op)) {
      const payload: OperationFailure = { message: reason };
      connection.send({ kind: MESSAGE.answer, id, status: INVALID_ARGUMENT, payload });
    } else if (isAttachCommand({ op })) {
      connection.send({
        kind: MESSAGE.attached,
        nonce: "",
        attempt: id,
        status: INVALID_ARGUMENT,
        session: 0,
        epoch: 0,
        highestSequence: 0,
        stamp: 0,
        ttlMs: 0,
      });
    } else if (this.#mayPass(connection, { op })) {
      const result = { status: INVALID_ARGUMENT };
      connection.send({ kind: MESSAGE.reply, sequence: id, stamp: 0, result });
    }
  }

  /**
   * Whether a command may pass: of a session, or an order on a connection that never had one. What was
   * on its way while its session ended is dropped: the `ended` notice already told the client what
   * became of all its commands.
   */
  #mayPass(connection: GatewayConnection, request: { readonly op: number }): boolean {
    if (connection.session !== 0) return true;
    if (connection.wasAttached) return false;
    if (isOrder(request)) {
      connection.hasAsked = true;
      return true;
    }
    this.breach(connection, 1008, "not attached");
    return false;
  }
}
