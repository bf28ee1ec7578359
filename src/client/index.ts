export {
  type ClusterStatusOptions,
  clusterStatus,
  type NodeReport,
  type UnreachableNode,
} from "./cluster-status.js";
export { connect, connectOn } from "./connect.js";
export { CLIENT_DEFAULTS, type ClientSettings } from "./options.js";
export type { Platform, Timer, Transport, TransportEvents } from "./platform.js";
export * from "./types.js";
