/**
 * What clients say, sorted: frames to requests, requests to the driver, questions with a value that
 * is not allowed to coded answers, breaches of protocol to a close code and a reason. A command with
 * such a value has a place in the order of its session, so it goes to the driver too. Nothing a client
 * sends can throw here; an exception of the driver's own passes through.
 */
import { ERROR_NUMBERS } from "../../errors.js";
import {
  decodeFrame,
  isAttachCommand,
  isCommandOp,
  isOperation,
  isOperationOp,
  isOrder,
  isQuery,
  MESSAGE,
  type OperationFailure,
  ProtocolError,
  type Request,
  type RequestSink,
} from "../../protocol/index.js";
import { ownBytes } from "../own-bytes.js";
import type { GatewayEvents } from "../types.js";
import type { GatewayConnection } from "./connection.js";

const { INVALID_ARGUMENT } = ERROR_NUMBERS;
const NO_BYTES = new Uint8Array(0);

export class GatewayRequests implements RequestSink {
  /** Who hears of clients. */
  events: GatewayEvents;
  readonly #onRefused: (reason: string) => void;
  /** Whose frame is being read, and the node's own copy of it. */
  #connection: GatewayConnection | undefined;
  #frame: Uint8Array = NO_BYTES;
  /** The gateway answered something itself, of which the driver does not know. */
  #hasAnswered = false;

  constructor(events: GatewayEvents, onRefused: (reason: string) => void) {
    this.events = events;
    this.#onRefused = onRefused;
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
    this.#onRefused(`client connection ${connection.id} closed (${code}): ${reason}`);
  }

  request(request: Request, start: number, end: number): void {
    const connection = this.#connection;
    // Closed by a request before it in the same frame.
    if (connection === undefined || !connection.isOpen) return;
    if (isQuery(request)) {
      connection.hasAsked = true;
      this.events.onQuery(connection, request);
    } else if (isOperation(request)) {
      connection.hasAsked = true;
      this.events.onOperation(connection, request, this.#frame.subarray(start, end));
    } else if (isAttachCommand(request)) {
      connection.hasAsked = true;
      this.events.onAttach(connection, request, this.#frame.subarray(start, end));
    } else {
      if (isOrder(request)) connection.hasAsked = true;
      this.events.onCommand(connection, request, this.#frame.subarray(start, end));
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
    if (isCommandOp(op)) {
      this.events.onInvalidCommand(connection, op, id);
      return;
    }
    this.#hasAnswered = true;
    const payload: OperationFailure | null = isOperationOp(op) ? { message: reason } : null;
    connection.send({ kind: MESSAGE.answer, id, status: INVALID_ARGUMENT, payload });
  }
}
