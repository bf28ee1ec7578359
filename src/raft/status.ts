/**
 * What a leader tells of its peers to whoever shows or measures it. Nothing in the core goes by it.
 */
import { isVoter } from "./configuration/configuration.js";
import type { ProgressMode } from "./progress/progress.js";
import type { State } from "./state.js";
import type { NodeId } from "./types.js";

/** What a leader knows of one peer. */
export interface PeerStatus {
  readonly id: NodeId;
  /** Decides, in either half of the configuration. */
  readonly isVoter: boolean;
  /** Only listens. Neither voter nor learner: it left, and is still to be told. */
  readonly isLearner: boolean;
  readonly isConnected: boolean;
  /** Connected, and answered within an election timeout. */
  readonly isReachable: boolean;
  /** `snapshot`: waits for one, because the log does not hold `nextIndex` any more. */
  readonly mode: ProgressMode;
  /** The peer's log is durable and equal to the leader's up to here. */
  readonly matchIndex: number;
  readonly nextIndex: number;
}

/** Where the peers' logs stand; empty unless this node leads. */
export function peerStatuses(state: State): PeerStatus[] {
  const { configuration, leadership, nowMs, config } = state;
  const peers = leadership?.peers ?? [];
  return peers.map((peer) => {
    const { id, isConnected, mode, match, next } = peer;
    const decides = isVoter(configuration, id);
    return {
      id,
      isVoter: decides,
      isLearner: !decides && configuration.learners.includes(id),
      isConnected,
      isReachable: peer.isReachable(nowMs, config.electionTimeoutMs),
      mode,
      matchIndex: match,
      nextIndex: next,
    };
  });
}
