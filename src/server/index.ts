/**
 * One node of a cluster, for the command line and the tests of whole nodes.
 *
 * - `node`: starts and stops a node (`start-node.ts`); its options, HTTP pages and metrics
 * - `driver`: the loop that all inputs of a node go through (`driver.ts`), and its wiring
 * - `commands`: the way of a command from its connection into an entry, or to the leader
 * - `limits`: what the clients of one identity or address may have and ask for
 * - `reads`: answers from the table of this node: queries, watches, the history and its audit
 * - `snapshots`: takes, sends, receives and restores snapshots of the table
 * - `members`: requests of operators about the cluster itself
 * - `vitals`: what a node measures of itself, and what happened on it lately
 * - `offline`: works on data directories and snapshot files while no node runs on them
 */
export type { AuditHead, AuditProblem, AuditReport } from "../storage/index.js";
export { type AssembledDriver, assembleDriver, bootDriver } from "./driver/boot.js";
export { computeClusterId } from "./node/cluster-id.js";
export { type ResolvedOptions, resolveOptions, resolveTuning } from "./node/resolve-options.js";
export { settleOptions, startNode } from "./node/start-node.js";
export { listAuditOf, verifyAuditOf } from "./offline/audit-of-directory.js";
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
  type ClientLimits,
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeOptions,
  type NodeTuning,
  type RunningNode,
} from "./options.js";
export type { NodeLogger } from "./ports.js";
export type { AuditFilter } from "./reads/audit-page.js";
export { VERSION } from "./version.js";
