/**
 * What `holdfast recover` does to a data directory: puts a fresh one in its place, of the same node, as
 * one that waits to be told everything by the others. That the others do not count on the node any more
 * must be settled before; this code cannot see it.
 */
import { setDataAside } from "../../storage/index.js";

export interface RecoverNodeOptions {
  readonly id: number;
  readonly dataDirectory: string;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** The highest incarnation that anybody has seen of the node. */
  readonly incarnationMin: number;
}

export interface RecoveredNode {
  /** Where the old files are. */
  readonly movedTo: string;
  readonly incarnation: number;
}

/**
 * Resolves when the fresh directory is durable; to be repeated when it was cut short. Fails with
 * `INVALID_ARGUMENT` for the directory of another node or cluster, `UNAVAILABLE` when a process uses
 * it or it may not be used, `DISK_FULL`.
 */
export async function recoverNode(options: RecoverNodeOptions): Promise<RecoveredNode> {
  const { id, dataDirectory, clusterId, incarnationMin } = options;
  const aside = { path: dataDirectory, nodeId: id, clusterId, incarnationMin };
  const { movedTo, incarnation } = await setDataAside(aside);
  return { movedTo, incarnation };
}
