/**
 * What is wrong with the data of a node that is about to be recovered, found out as a start would
 * find it: the directory is opened and closed again. It must not make a directory that is not there,
 * nor touch one that is not this node's.
 */
import { readdir } from "node:fs/promises";
import { HoldfastError } from "../errors.js";
import { damageOf, openDataDirectory, readIdentity } from "../storage/index.js";
import { NODE_TUNING_DEFAULTS } from "./options.js";

export interface NodeFinding {
  /** What a start would trip over, for people; `undefined`: nothing that can be seen from outside. */
  readonly problem: string | undefined;
  /** As far as it can be read. */
  readonly clusterId: string | undefined;
}

/** What a data directory has, and what may lie in one whose first start was cut short. */
const OWN_NAME = /^(VERSION|mark|log|recovering)$/;
const FIRST_START_NAME = /^(store|lost\+found|set-aside-\d+|(VERSION|recovering)\.tmp)$/;

/**
 * Fails with `INVALID_ARGUMENT` for the directory of another node or something else altogether, and
 * with `UNAVAILABLE` when it is in use by a process or cannot be read.
 */
export async function examineNode(options: {
  readonly id: number;
  readonly dataDirectory: string;
}): Promise<NodeFinding> {
  const { id, dataDirectory: path } = options;
  const names = await namesIn(path);
  if (names === undefined) return { problem: "it does not exist", clusterId: undefined };
  const identity = await readIdentity(path);
  if (identity === undefined) return { problem: unidentified(path, names), clusterId: undefined };
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

async function namesIn(path: string): Promise<string[] | undefined> {
  try {
    return await readdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Not opened, which would need a cluster: what sets it aside finds out whether it is in use. */
function unidentified(path: string, names: readonly string[]): string {
  if (names.some((name) => OWN_NAME.test(name))) return "its mark is missing or cannot be read";
  const foreign = names.find((name) => !FIRST_START_NAME.test(name));
  if (foreign === undefined) return "it is empty";
  const message = `${path} is no data directory and is not empty: it has "${foreign}"`;
  throw new HoldfastError("INVALID_ARGUMENT", message);
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
  throw error;
}
