export { createGateway } from "./gateway.js";
export type { GatewayTuning } from "./gateway-options.js";
export { createPeerLinks } from "./peer-links.js";
export type { PeerLinksTuning } from "./peer-options.js";
export * from "./types.js";
