/**
 * The public interface of the SDK, for applications, the command line and the tests of whole
 * clusters.
 *
 * Folders import downward only; the linter checks the order. The files next to this one (`connect`,
 * the client itself) are above all folders, and `failures.ts`, which imports none of them, is
 * below.
 *
 * - `admin`, `leases` and `web-locks`: three other ways to use a cluster
 * - `session`: attaches, keeps the lease, decides when messages are sent
 * - `locks`: requests and holds; semaphores and elections
 * - `reads`: questions and watches
 * - `calls`: commands and their callers
 * - `options` and `lease`: checked arguments; what a client may believe about time
 * - `transport`: connections, and the ports of the platform
 */
export type {
  AuditDetails,
  AuditEntry,
  AuditKind,
  AuditPage,
  AuditPlace,
  Blocker,
  CheckAccessView,
  ClaimMode,
  CooldownView,
  CredentialKind,
  CredentialView,
  CycleMember,
  EndReason,
  ExplainedKey,
  ExplainView,
  GrantView,
  GraphEdge,
  GraphTask,
  HoldView,
  IdentityView,
  KeysView,
  KeyView,
  LockMode,
  LogLevel,
  LogLevelView,
  LostTenures,
  MembersView,
  MemberView,
  OwnLeaseView,
  PossibleDeadlock,
  RefusedDeadlock,
  Revision,
  SessionsView,
  SessionView,
  SettingView,
  VerifyView,
  VitalsEvent,
  VitalsPeer,
  VitalsPoint,
  VitalsView,
  WaiterView,
  WaitGraphView,
  WhoAmIView,
} from "../protocol/index.js";
export type { Access, CreatedToken } from "./admin/access.js";
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
export type { Revoked } from "./calls/orders.js";
export type { Client } from "./client.js";
export { connect, connectOn, connectThrough } from "./connect.js";
export { type LossReason, noLeaderText } from "./failures.js";
export type {
  ExtendedLeaseOf,
  ExtendLeaseOptions,
  GiveBackOptions,
  GivenBack,
  Lease,
  LeaseOwnerOptions,
  Leases,
  SplitLease,
  TakeLeaseOptions,
} from "./leases/leases.js";
export type { Adopted } from "./locks/adoption.js";
export type { DeadlockedTask } from "./locks/call-sites.js";
export type { Deadlock, DeadlockBlocker, DeadlockMember } from "./locks/deadlocks.js";
export type { Election, Leader, Leadership } from "./locks/election.js";
export type { Lock, LockEvents, ReleaseResult, Revocation, Semaphore } from "./locks/lock.js";
export {
  type CredentialOptions,
  type GrantLevel,
  type GrantTarget,
  requireIdentity,
  requireLabel,
} from "./options/access-options.js";
export { type CallOptions, requireKey, requirePrefix, requireTableKey } from "./options/checks.js";
export {
  CLIENT_DEFAULTS,
  type ClientSettings,
  type ConnectOptions,
} from "./options/connect-options.js";
export type {
  AdoptOptions,
  HandedOver,
  HandedOverHold,
  HandOverAllOptions,
  HandOverOptions,
} from "./options/hand-over-options.js";
export type { LeaseStep } from "./options/lease-options.js";
export type {
  AcquireAllOptions,
  AcquireOptions,
  CampaignOptions,
  HeldItem,
  HoldOptions,
  NestedOptions,
  PermitOptions,
  TryAcquireOptions,
  TryPermitOptions,
  UpgradeOptions,
  WantedItem,
} from "./options/lock-options.js";
export {
  ADMIN_DEFAULTS,
  type AdminCallOptions,
  type AdminSettings,
  type AuditOptions,
  type ClusterStatusOptions,
  type ConnectAdminOptions,
  type EndSessionOptions,
  type LogLevelOptions,
  type RevokeOptions,
  type RevokeTarget,
  type SetLogLevelOptions,
  type SnapshotOptions,
  type VitalsOptions,
} from "./options/operator-options.js";
export type { Task } from "./options/task.js";
export type { TlsOptions } from "./options/tls-options.js";
export type {
  ExplainOptions,
  InspectOptions,
  PageOptions,
  WatchOptions,
  WatchTarget,
} from "./options/view-options.js";
export type { History, Tenure } from "./reads/cluster-views.js";
export { toDot } from "./reads/wait-graph-dot.js";
export type { Change, Watch } from "./reads/watch-stream.js";
export type { Logger } from "./transport/client-log.js";
export { wayOut } from "./transport/default-endpoints.js";
export type { Platform, Timer, Transport, TransportEvents } from "./transport/platform.js";
export type { TokenSource } from "./transport/sign-in.js";
export type {
  AcquireTrace,
  ConnectTrace,
  ReleaseTrace,
  TraceContext,
  UsingTrace,
} from "./transport/tracing.js";
export type {
  LockGrantedCallback,
  LockInfo,
  LockManager,
  LockManagerSnapshot,
  LockRequestOptions,
  RequestedLock,
} from "./web-locks/types.js";
