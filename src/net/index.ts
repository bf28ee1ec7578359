export { createGateway } from "./gateway.js";
export { GATEWAY_DEFAULTS, type GatewayOptions, type GatewayTuning } from "./gateway-options.js";
export { createPeerLinks } from "./peer-links.js";
export {
  PEER_LINKS_DEFAULTS,
  type PeerLinksOptions,
  type PeerLinksTuning,
} from "./peer-options.js";
export * from "./types.js";
