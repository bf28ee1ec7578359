/**
 * The options of the port that clients connect to: one line per field, one frozen object of
 * defaults.
 */
import { CLIENT_FRAME_BYTES_MAX } from "../../protocol/index.js";
import type { ListenAddress } from "../listen.js";
import type { InputMeter } from "../meter/input-meter.js";
import { UNFINISHED_DEFAULTS, type UnfinishedTuning } from "../meter/unfinished-input.js";
import type { PortLimits } from "../port-limits.js";
import type { TransportTls } from "../tls/transport.js";
import type { HttpDoor } from "../types.js";

export interface GatewayOptions extends Partial<GatewayTuning> {
  /** Where clients connect. Port 0 picks a free one. */
  readonly listen: ListenAddress;
  /** `undefined`: the port speaks plain text. */
  readonly tls?: TransportTls | undefined;
  /**
   * Called with one line for the log when a client broke the protocol and was closed, or when one
   * could not be accepted.
   */
  readonly onRefused?: (reason: string) => void;
  /** Called when a request failed and its door could not answer it. Default: throws the error. */
  readonly onFailed?: (error: unknown) => void;
  /** Counts what exceeds a limit by identity or address. Default: refuses it, and counts nothing. */
  readonly limits?: PortLimits;
  /** Through which all input comes. Default: one of its own, by this tuning. */
  readonly meter?: InputMeter | undefined;
  /** Answers requests under `/v1/`. Default: they are refused with status 503. */
  readonly door?: HttpDoor | undefined;
}

export interface GatewayTuning extends UnfinishedTuning {
  /** A larger frame of a client ends its connection with close code 1009. */
  readonly frameBytesMax: number;
  /**
   * Client connections at a time; further ones are answered with HTTP status 503. The limit that
   * descriptors allow, and the one per address, can be lower (`socket-limits.ts`).
   */
  readonly connectionsMax: number;
  /** From one address; `Infinity`: no limit. Default: three quarters of what is allowed. */
  readonly addressConnectionsMax: number | undefined;
  /** Files and sockets that the process may have open. Default: what the system allows it. */
  readonly descriptorsMax: number | undefined;
  /** How long a client that has sent no request, or an HTTP client that does nothing, may stay. */
  readonly handshakeTimeoutMs: number;
  /** How long a client without a session and without a watch may stay after its last request. */
  readonly idleTimeoutMs: number;
  /**
   * A client that has been silent for one to two times this long is pinged; after four to five
   * times, it is cut off.
   */
  readonly pingIntervalMs: number;
  /** Pings and pongs that a client may send within one ping interval. */
  readonly controlFramesMax: number;
  /** A client with more bytes than this waiting to be sent reads too slowly and is cut off. */
  readonly bufferedBytesMax: number;
  /**
   * While the bytes waiting for all clients together exceed this, a client that is sent a message
   * and has not taken the earlier ones is cut off.
   */
  readonly totalBufferedBytesMax: number;
  /**
   * Host names by which this port may be asked for, in addition to IP addresses and `localhost`.
   */
  readonly allowedHosts: readonly string[];
  /**
   * Web pages that may connect, by origin. A request without an origin does not come from a page.
   */
  readonly allowedOrigins: readonly string[];
  /**
   * The origins of the pages that members serve, this node among them; `undefined`: this node serves
   * none, and only listed origins may connect. Asked for each request.
   */
  readonly pageOrigins: (() => readonly string[]) | undefined;
  /** How long a close handshake may take. */
  readonly closeGraceMs: number;
}

export const GATEWAY_DEFAULTS: GatewayTuning = Object.freeze({
  frameBytesMax: CLIENT_FRAME_BYTES_MAX,
  connectionsMax: 20_000,
  addressConnectionsMax: undefined,
  descriptorsMax: undefined,
  handshakeTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
  ...UNFINISHED_DEFAULTS,
  pingIntervalMs: 10_000,
  controlFramesMax: 1_000,
  bufferedBytesMax: 8 << 20,
  totalBufferedBytesMax: 256 << 20,
  allowedHosts: [],
  allowedOrigins: [],
  pageOrigins: undefined,
  closeGraceMs: 1_000,
});
