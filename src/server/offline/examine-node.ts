/**
 * Finds out what is wrong with the data of a node that is about to be recovered, in the same way as
 * a start: it opens the directory and closes it again. It must not create a missing directory, nor
 * touch one that belongs to another node.
 */
import { existsSync } from "node:fs";
import { HoldfastError } from "../../errors/index.js";
import {
  damageOf,
  isFreshDirectory,
  openDataDirectory,
  readIdentity,
} from "../../storage/index.js";
import { NODE_TUNING_DEFAULTS } from "../options.js";

export interface NodeFinding {
  /** What a start would fail on, for people; `undefined`: nothing is visibly wrong. */
  readonly problem: string | undefined;
  /** `undefined` if it cannot be read. */
  readonly clusterId: string | undefined;
}

/**
 * Fails with `INVALID_ARGUMENT` for the directory of another node or of anything else, and with
 * `UNAVAILABLE` if a process uses it or it cannot be read.
 */
export async function examineNode(options: {
  readonly id: number;
  readonly dataDirectory: string;
}): Promise<NodeFinding> {
  const { id, dataDirectory: path } = options;
  const isFresh = await isFreshDirectory(path);
  if (!existsSync(path)) return { problem: "it does not exist", clusterId: undefined };
  const identity = await readIdentity(path);
  if (identity === undefined) {
    // Opening it would need a cluster id. The code that sets it aside finds out whether it is in
    // use.
    const problem = isFresh ? "it is empty" : "its mark is missing or cannot be read";
    return { problem, clusterId: undefined };
  }
  const { nodeId, clusterId } = identity;
  if (nodeId !== id) {
    const message = `${path} belongs to node ${nodeId}, this is node ${id}`;
    throw new HoldfastError("INVALID_ARGUMENT", message);
  }
  const { segmentBytes } = NODE_TUNING_DEFAULTS;
  try {
    const directory = await openDataDirectory({ path, nodeId, clusterId, segmentBytes });
    await directory.close();
  } catch (error) {
    return { problem: problemIn(error), clusterId };
  }
  return { problem: undefined, clusterId };
}

function problemIn(error: unknown): string {
  const damage = damageOf(error);
  if (damage !== undefined) {
    const place = damage.index === 0 ? "" : `, entry ${damage.index}`;
    return `${damage.file}, byte ${damage.offset}${place}: ${damage.reason}`;
  }
  if (error instanceof HoldfastError && error.details["isRecovering"] === true) {
    return "an earlier recovery of it was cut short";
  }
  if (error instanceof HoldfastError && error.details["hasDiskFailed"] === true)
    return error.message;
  throw error;
}
