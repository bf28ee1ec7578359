/**
 * What `holdfast recover` does to a data directory: replaces it by a fresh one of the same node,
 * which waits to receive everything from the others. Before that, the others must have stopped
 * counting on the node; this code cannot check it.
 */
import { setDataAside } from "../../storage/index.js";

export interface RecoverNodeOptions {
  readonly id: number;
  readonly dataDirectory: string;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** The highest known incarnation of the node. */
  readonly incarnationMin: number;
}

export interface RecoveredNode {
  /** Where the old files are. */
  readonly movedTo: string;
  readonly incarnation: number;
}

/**
 * Resolves when the fresh directory is durable; to be repeated if it was interrupted. Fails with
 * `INVALID_ARGUMENT` for the directory of another node or cluster, with `UNAVAILABLE` if a process
 * uses it or permission is missing, and with `DISK_FULL`.
 */
export async function recoverNode(options: RecoverNodeOptions): Promise<RecoveredNode> {
  const { id, dataDirectory, clusterId, incarnationMin } = options;
  const aside = { path: dataDirectory, nodeId: id, clusterId, incarnationMin };
  const { movedTo, incarnation } = await setDataAside(aside);
  return { movedTo, incarnation };
}
