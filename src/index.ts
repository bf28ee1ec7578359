/**
 * The door of the package: the client SDK. What runs a node or a cluster is the binary, not this.
 */
export {
  type AcquireOptions,
  type Admin,
  type AdminCallOptions,
  type Client,
  type ClusterStatusOptions,
  type ConnectAdminOptions,
  type ConnectOptions,
  clusterStatus,
  connect,
  connectAdmin,
  type EndReason,
  type KeyView,
  type Lock,
  type LockMode,
  type LossReason,
  type MembersView,
  type MemberView,
  type NodeDamage,
  type NodeReport,
  type NodeStatus,
  type ReleaseResult,
  type TryAcquireOptions,
  type UnreachableNode,
} from "./client/index.js";
export { type ErrorCode, HoldfastError } from "./errors.js";
