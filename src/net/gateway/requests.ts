/**
 * Sorts what clients send: decodes frames into requests, passes requests to the driver, answers
 * questions that have an invalid value with an error code, and closes connections that break the
 * protocol with a close code and a reason. A command with an invalid value has a place in the order
 * of its session, so it goes to the driver too. No input of a client can throw here; exceptions of
 * the driver pass through.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import {
  type ClientRequest,
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
  type RequestSink,
} from "../../protocol/index.js";
import type { BoundedLog } from "../bounded-log.js";
import { ownBytes } from "../own-bytes.js";
import type { GatewayEvents } from "../types.js";
import type { GatewayConnection } from "./connection.js";

const { INVALID_ARGUMENT } = ERROR_NUMBERS;
const NO_BYTES = new Uint8Array(0);
/**
 * What counts as this many bytes, because the driver hears nothing else of it: a frame without a
 * request, a request that is answered here, and a piece that ends within a message. A record of TLS
 * can be a piece of one byte, which costs as much as a command.
 */
export const UNHEARD_BYTES = 256;

export class GatewayRequests implements RequestSink {
  /** Receives the requests of clients. */
  events: GatewayEvents;
  readonly #log: BoundedLog;
  /** The connection whose frame is being read, and the node's own copy of the frame. */
  #connection: GatewayConnection | undefined;
  #frame: Uint8Array = NO_BYTES;
  /** Whether the gateway itself has answered something, which the driver does not know of. */
  #hasAnswered = false;
  /** Whether the frame that is being read has no request so far. */
  #isEmpty = true;

  constructor(events: GatewayEvents, log: BoundedLog) {
    this.events = events;
    this.#log = log;
  }

  read(connection: GatewayConnection, data: Uint8Array, isBinary: boolean): void {
    if (!isBinary) {
      this.breach(connection, 1003, "text frame: this protocol is binary");
      return;
    }
    this.#connection = connection;
    this.#frame = ownBytes(data);
    this.#isEmpty = true;
    try {
      decodeFrame(this.#frame, this);
      if (this.#isEmpty) this.events.onReceived(connection, UNHEARD_BYTES);
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

  /** Closes the connection with a code and a reason, and reports it to the log. */
  breach(connection: GatewayConnection, code: number, reason: string): void {
    if (!connection.isOpen) return;
    connection.close(code, reason);
    this.#log(`client connection ${connection.id} closed (${code}): ${reason}`);
  }

  request(request: ClientRequest, start: number, end: number): void {
    this.#isEmpty = false;
    const connection = this.#connection;
    // An earlier request in the same frame closed the connection.
    if (connection === undefined || !connection.isOpen) return;
    connection.input.request();
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

  /** Like `breach`, but frees its memory at once: there may be no time for a handshake. */
  cutOff(connection: GatewayConnection, code: number, reason: string): void {
    this.breach(connection, code, reason);
    connection.cutOff();
  }

  invalid(op: number, id: number, reason: string): void {
    this.#isEmpty = false;
    const connection = this.#connection;
    if (connection === undefined || !connection.isOpen) return;
    if (isCommandOp(op)) {
      this.events.onInvalidCommand(connection, op, id);
      return;
    }
    this.#hasAnswered = true;
    this.events.onReceived(connection, UNHEARD_BYTES);
    const payload: OperationFailure | null = isOperationOp(op) ? { message: reason } : null;
    connection.send({ kind: MESSAGE.answer, id, status: INVALID_ARGUMENT, payload });
  }
}
