export type { Admin, AdminCallOptions, SnapshotOptions } from "./admin/admin.js";
export type { ClusterSnapshot } from "./admin/cluster-snapshot.js";
export {
  type ClusterStatusOptions,
  clusterStatus,
  type NodeReport,
  type UnreachableNode,
} from "./admin/cluster-status.js";
export { connectAdmin, connectAdminOn } from "./admin/connect-admin.js";
export type { EndSessionOptions, Revoked, RevokeOptions, RevokeTarget } from "./calls/orders.js";
export { connect, connectOn } from "./connect.js";
export type { CampaignOptions, Election, Leadership } from "./election.js";
export type {
  ExportedHold,
  ExportedSession,
  ExportedWait,
} from "./exported-session.js";
export { noLeaderText } from "./failures.js";
export * from "./lock-types.js";
export type { DeadlockedTask } from "./locks/call-sites.js";
export type { Deadlock, DeadlockBlocker, DeadlockMember } from "./locks/deadlocks.js";
export type { Owner } from "./locks/owner.js";
export {
  ADMIN_DEFAULTS,
  type AdminSettings,
  CLIENT_DEFAULTS,
  type ClientSettings,
  type ConnectAdminOptions,
  requireKey,
  requirePrefix,
  requireTableKey,
} from "./options.js";
export type { ExplainOptions, WatchTarget } from "./reads/view-options.js";
export type {
  Change,
  History,
  Leader,
  LostTenures,
  Revision,
  Tenure,
  Watch,
  WatchOptions,
} from "./reads/view-types.js";
export { toDot } from "./reads/wait-graph.js";
export type { Resumed, ResumedWait } from "./session/resuming.js";
export type { Platform, Timer, Transport, TransportEvents } from "./transport/platform.js";
export * from "./types.js";
export type {
  LockGrantedCallback,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockRequestOptions,
  RequestedLock,
} from "./web-locks/types.js";
