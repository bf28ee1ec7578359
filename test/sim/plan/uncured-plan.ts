/**
 * What follows the storm in a part of the seeds: nothing is healed, only time passes, and the
 * cluster must come to rest by itself. In some of them the majority then needs the one node that is
 * least fit for it. Drawn from a stream of its own, so the storms before it stay the same.
 */
import type { RandomStreams } from "../../../lab/random-stream.js";
import type { NodeTuning } from "../../../src/server/index.js";

/**
 * The node that the majority needs when the leader dies: it is being sent a snapshot, or is putting
 * one in place of its table; it had no room for one until then; or its becoming a voter has just
 * begun.
 */
export type OddNode = "receives" | "restores" | "lacksRoom" | "joins";

export interface UncuredPlan {
  /** `undefined`: no node dies. */
  readonly oddNode?: OddNode | undefined;
}

interface UncuredCluster {
  readonly nodeCount: number;
  readonly spareCount: number;
  readonly tuning: Partial<NodeTuning>;
}

const UNCURED_SHARE = 0.3;
const ODD_NODE_SHARE = 0.7;
const BEHIND: readonly OddNode[] = ["receives", "restores", "lacksRoom"];
/** With a limit of at most this many bytes, a log is soon too long to be kept. */
const SHORT_LOG_BYTES = 3_000;

/** `undefined`: the cluster is healed. */
export function uncuredPlanOf(
  streams: RandomStreams,
  { nodeCount, spareCount, tuning }: UncuredCluster,
): UncuredPlan | undefined {
  const random = streams.of("without a cure");
  if (!random.chance(UNCURED_SHARE)) return undefined;
  const { snapshotLogBytes = Number.POSITIVE_INFINITY } = tuning;
  const kinds: OddNode[] = [
    ...(snapshotLogBytes <= SHORT_LOG_BYTES && nodeCount + spareCount > 2 ? BEHIND : []),
    ...(spareCount > 0 ? (["joins", "joins"] as const) : []),
  ];
  return random.chance(ODD_NODE_SHARE) ? { oddNode: random.pickOrNone(kinds) } : {};
}
