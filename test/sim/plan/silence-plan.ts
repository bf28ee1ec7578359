/**
 * What follows the storm of a part of the timed seeds: one node falls silent for longer than anybody
 * should have to wait for it, and applications with leases of all lengths go on. Drawn from a stream of its
 * own.
 */
import type { RandomStreams } from "../../../lab/random-stream.js";
import { FOLLOWER, LEADER } from "./fault.js";

export interface SilencePlan {
  /** The lease of each application. */
  readonly ttlsMs: readonly number[];
  /** `LEADER` or `FOLLOWER`. */
  readonly node: number;
  /** Its process stands still, its machine does, or nobody hears it. */
  readonly how: "pause" | "freeze" | "cut";
  /** At least: it lasts longer than anybody may have to wait. */
  readonly forMs: number;
}

const SILENCE_SHARE = 0.4;
const TTLS_MS = [15_000, 60_000, 300_000, 600_000] as const;
const FOR_MS = [10_000, 12_000] as const;

/** `undefined`: no node falls silent. */
export function silencePlanOf(streams: RandomStreams): SilencePlan | undefined {
  const random = streams.of("silence");
  if (!random.chance(SILENCE_SHARE)) return undefined;
  return {
    ttlsMs: random.shuffled(TTLS_MS).slice(0, random.integer(2, TTLS_MS.length)),
    node: random.pick([LEADER, FOLLOWER]),
    how: random.pick(["pause", "freeze", "cut"] as const),
    forMs: random.integer(...FOR_MS),
  };
}
