export type { Admin, AdminCallOptions, SnapshotOptions } from "./admin.js";
export type { DeadlockedTask } from "./call-sites.js";
export type { ClusterSnapshot } from "./cluster-snapshot.js";
export {
  type ClusterStatusOptions,
  clusterStatus,
  type NodeReport,
  type UnreachableNode,
} from "./cluster-status.js";
export { connect, connectOn } from "./connect.js";
export { connectAdmin, connectAdminOn } from "./connect-admin.js";
export type { Deadlock, DeadlockBlocker, DeadlockMember } from "./deadlocks.js";
export type { CampaignOptions, Election, Leadership } from "./election.js";
export type {
  ExportedHold,
  ExportedSession,
  ExportedWait,
} from "./exported-session.js";
export { noLeaderText } from "./failures.js";
export * from "./lock-types.js";
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
export type { EndSessionOptions, Revoked, RevokeOptions, RevokeTarget } from "./orders.js";
export type { Owner } from "./owner.js";
export type { Platform, Timer, Transport, TransportEvents } from "./platform.js";
export type { Resumed, ResumedWait } from "./resuming.js";
export * from "./types.js";
export type { ExplainOptions, WatchTarget } from "./view-options.js";
export type {
  Change,
  History,
  Leader,
  LostTenures,
  Revision,
  Tenure,
  Watch,
  WatchOptions,
} from "./view-types.js";
export { toDot } from "./wait-graph.js";
export type {
  LockGrantedCallback,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockRequestOptions,
  RequestedLock,
} from "./web-locks-types.js";
