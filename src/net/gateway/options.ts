/**
 * The options of the port that clients connect to: one line per field, one frozen object of
 * defaults.
 */
import { CLIENT_FRAME_BYTES_MAX } from "../../protocol/index.js";
import type { ListenAddress } from "../listen.js";

export interface GatewayOptions extends Partial<GatewayTuning> {
  /** Where clients connect. Port 0 picks a free one. */
  readonly listen: ListenAddress;
  /** A client broke the protocol and was sent away, or one could not be accepted. For the log. */
  readonly onRefused?: (reason: string) => void;
}

export interface GatewayTuning {
  /** A larger frame of a client ends its connection with close code 1009. */
  readonly frameBytesMax: number;
  /**
   * Client connections at a time; further ones are answered with HTTP status 503. It may be less
   * than that, and so much from one address (`places.ts`).
   */
  readonly connectionsMax: number;
  /** Files and sockets that the process may have open. Default: what the system allows it. */
  readonly descriptorsMax: number | undefined;
  /** A client that asked for nothing, or a reader of pages that does nothing, may stay so long. */
  readonly handshakeTimeoutMs: number;
  /** A client without a session and without a watch may stay so long after its last request. */
  readonly idleTimeoutMs: number;
  /** A client that began a message has so much time to finish it. */
  readonly frameTimeoutMs: number;
  /**
   * Messages that clients have begun and not finished may take so much memory, of all connections
   * together; beyond it the oldest ones are cut off.
   */
  readonly unfinishedBytesMax: number;
  /** A client not heard for one to two times this long is pinged; after four to five, cut off. */
  readonly pingIntervalMs: number;
  /** Pings and pongs that a client may send within one ping interval. */
  readonly controlFramesMax: number;
  /** A client with more bytes than this waiting to be sent reads too slowly and is cut off. */
  readonly bufferedBytesMax: number;
  /**
   * While what waits for all clients together occupies more bytes than this, one that is sent
   * something and has not taken what it was sent before is cut off.
   */
  readonly totalBufferedBytesMax: number;
  /** Host names by which this port may be asked for, besides IP addresses and `localhost`. */
  readonly allowedHosts: readonly string[];
  /** Web pages that may connect, by origin. A request without an origin is no page. */
  readonly allowedOrigins: readonly string[];
  /** How long a close handshake may take. */
  readonly closeGraceMs: number;
}

export const GATEWAY_DEFAULTS: GatewayTuning = Object.freeze({
  frameBytesMax: CLIENT_FRAME_BYTES_MAX,
  connectionsMax: 20_000,
  descriptorsMax: undefined,
  handshakeTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
  frameTimeoutMs: 30_000,
  unfinishedBytesMax: 64 << 20,
  pingIntervalMs: 10_000,
  controlFramesMax: 1_000,
  bufferedBytesMax: 8 << 20,
  totalBufferedBytesMax: 256 << 20,
  allowedHosts: [],
  allowedOrigins: [],
  closeGraceMs: 1_000,
});
