/**
 * The door of the package: the client SDK. What runs a node or a cluster is the binary, not this.
 */
export {
  type AcquireOptions,
  type Client,
  type ClusterStatusOptions,
  type ConnectOptions,
  clusterStatus,
  connect,
  type EndReason,
  type KeyView,
  type Lock,
  type LockMode,
  type LossReason,
  type NodeReport,
  type NodeStatus,
  type ReleaseResult,
  type TryAcquireOptions,
  type UnreachableNode,
} from "./client/index.js";
export { type ErrorCode, HoldfastError } from "./errors.js";
