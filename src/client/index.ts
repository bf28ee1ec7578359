export type { Admin, AdminCallOptions } from "./admin.js";
export {
  type ClusterStatusOptions,
  clusterStatus,
  type NodeReport,
  type UnreachableNode,
} from "./cluster-status.js";
export { connect, connectOn } from "./connect.js";
export { connectAdmin, connectAdminOn } from "./connect-admin.js";
export {
  ADMIN_DEFAULTS,
  type AdminSettings,
  CLIENT_DEFAULTS,
  type ClientSettings,
  type ConnectAdminOptions,
} from "./options.js";
export type { Platform, Timer, Transport, TransportEvents } from "./platform.js";
export * from "./types.js";
