export { createGateway } from "./gateway/gateway.js";
export type { GatewayTuning } from "./gateway/options.js";
export { createPeerLinks } from "./peers/links.js";
export type { PeerLinksTuning } from "./peers/options.js";
export * from "./types.js";
