export { type AssembledDriver, assembleDriver } from "./assemble-driver.js";
export { bootDriver } from "./boot-driver.js";
export { computeClusterId } from "./cluster-id.js";
export { examineNode, type NodeFinding } from "./examine-node.js";
export {
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeOptions,
  type NodeTuning,
  type RunningNode,
} from "./options.js";
export type { Logger } from "./ports.js";
export { type RecoveredNode, type RecoverNodeOptions, recoverNode } from "./recover-node.js";
export { resolveOptions, resolveTuning } from "./resolve-options.js";
export {
  inspectSnapshotFile,
  QUIET_MS_DEFAULT,
  type RestoredNode,
  restoreSnapshotFile,
  type SnapshotContents,
  writeSnapshotFile,
} from "./snapshot-files.js";
export { snapshotOfDirectory } from "./snapshot-from-directory.js";
export { startNode } from "./start-node.js";
export { VERSION } from "./version.js";
