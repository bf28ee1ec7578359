export { type AssembledDriver, assembleDriver, bootDriver } from "./driver/boot.js";
export { computeClusterId } from "./node/cluster-id.js";
export { resolveOptions, resolveTuning } from "./node/resolve-options.js";
export { startNode } from "./node/start-node.js";
export { examineNode, type NodeFinding } from "./offline/examine-node.js";
export {
  type RecoveredNode,
  type RecoverNodeOptions,
  recoverNode,
} from "./offline/recover-node.js";
export {
  inspectSnapshotFile,
  QUIET_MS_DEFAULT,
  type RestoredNode,
  restoreSnapshotFile,
  type SnapshotContents,
  writeSnapshotFile,
} from "./offline/snapshot-files.js";
export { snapshotOfDirectory } from "./offline/snapshot-from-directory.js";
export {
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeOptions,
  type NodeTuning,
  type RunningNode,
} from "./options.js";
export type { Logger } from "./ports.js";
export { VERSION } from "./version.js";
