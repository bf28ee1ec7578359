/**
 * The interface of a node's network: `createGateway` opens the port for clients, and
 * `createPeerLinks` makes the links to the other nodes. `types.ts` has the contracts of both with
 * the driver. Clients import only `framing`, which decodes what a node sends.
 */
export { CLOSE_TRY_AGAIN } from "./close-socket.js";
export { createGateway } from "./gateway/gateway.js";
export { GATEWAY_DEFAULTS, type GatewayTuning } from "./gateway/options.js";
export { isOwnMachine } from "./gateway/socket-limits.js";
export { HealthPort } from "./health-port.js";
export { InputMeter, type MeterClock } from "./meter/input-meter.js";
export type { MeteredInput } from "./meter/metered-input.js";
export { createPeerLinks } from "./peers/links.js";
export type { PeerLinksTuning } from "./peers/options.js";
export { LIMITED_BY, type LimitedBy } from "./port-limits.js";
export { PROBLEM_TYPE, problemAnswer, problemText } from "./problem.js";
export {
  type StreamClient,
  StreamPort,
  type StreamPortEvents,
  type StreamPortOptions,
} from "./stream-port.js";
export type { TlsCredentials } from "./tls/credentials.js";
export type { HandshakeCounts } from "./tls/secure-port.js";
export { type TlsVersion, TransportTls } from "./tls/transport.js";
export * from "./types.js";
