/** The door of the SDK: what applications, the command line and the tests of whole clusters use. */
export type {
  Blocker,
  ClaimMode,
  ClosingView,
  CycleMember,
  EndReason,
  ExplainedKey,
  ExplainView,
  GraphEdge,
  GraphOwner,
  HoldView,
  KeyView,
  LockMode,
  MembersView,
  MemberView,
  SessionView,
  SettingView,
  VerifyView,
  WaiterView,
  WaitGraphView,
} from "../protocol/index.js";
export type { Admin } from "./admin/admin.js";
export type { ClusterSnapshot } from "./admin/cluster-snapshot.js";
export {
  clusterStatus,
  type NodeDamage,
  type NodeReport,
  type NodeStatus,
  type UnreachableNode,
} from "./admin/cluster-status.js";
export { connectAdmin, connectAdminOn } from "./admin/connect-admin.js";
export type { Revoked } from "./calls/operator-commands.js";
export type { Client } from "./client.js";
export { connect, connectOn } from "./connect.js";
export { type LossReason, noLeaderText } from "./failures.js";
export type { DeadlockedTask } from "./locks/call-sites.js";
export type { Deadlock, DeadlockBlocker, DeadlockMember } from "./locks/deadlocks.js";
export type { Election, Leadership } from "./locks/election.js";
export type { Lock, LockEvents, ReleaseResult, Revocation, Semaphore } from "./locks/lock.js";
export { type CallOptions, requireKey, requirePrefix, requireTableKey } from "./options/checks.js";
export {
  CLIENT_DEFAULTS,
  type ClientSettings,
  type ConnectOptions,
} from "./options/connect-options.js";
export type { ExportedHold, ExportedSession, ExportedWait } from "./options/exported-session.js";
export type {
  AcquireAllOptions,
  AcquireOptions,
  CampaignOptions,
  DetachOptions,
  HeldItem,
  HoldOptions,
  NestedOptions,
  PermitOptions,
  Ticket,
  TryAcquireOptions,
  TryPermitOptions,
  UpgradeOptions,
  WantedItem,
} from "./options/lock-options.js";
export {
  ADMIN_DEFAULTS,
  type AdminCallOptions,
  type AdminSettings,
  type ClusterStatusOptions,
  type ConnectAdminOptions,
  type EndSessionOptions,
  type RevokeOptions,
  type RevokeTarget,
  type SnapshotOptions,
} from "./options/operator-options.js";
export type { Owner } from "./options/owner.js";
export type { ExplainOptions, WatchOptions, WatchTarget } from "./options/view-options.js";
export type {
  Change,
  History,
  Leader,
  LostTenures,
  Revision,
  Tenure,
  Watch,
} from "./reads/view-types.js";
export { toDot } from "./reads/wait-graph.js";
export type { Resumed, ResumedWait } from "./session/resuming.js";
export type { Platform, Timer, Transport, TransportEvents } from "./transport/platform.js";
export type {
  LockGrantedCallback,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockRequestOptions,
  RequestedLock,
} from "./web-locks/types.js";
