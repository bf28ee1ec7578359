/**
 * What a leader reports about its peers for status and metrics. The core itself does not use it.
 */
import { isVoter } from "./configuration/configuration.js";
import type { ProgressMode } from "./progress/progress.js";
import type { State } from "./state.js";
import type { NodeId } from "./types.js";

/** What a leader knows of one peer. */
export interface PeerStatus {
  readonly id: NodeId;
  /** Votes, in either half of the configuration. */
  readonly isVoter: boolean;
  /** A peer that is neither voter nor learner was removed and may not know it yet. */
  readonly isLearner: boolean;
  readonly isConnected: boolean;
  /** Connected, and has answered within an election timeout. */
  readonly isReachable: boolean;
  /** `snapshot`: waits for one, because the log does not hold `nextIndex` any more. */
  readonly mode: ProgressMode;
  /** The peer's log is durable and equal to the leader's up to here. */
  readonly matchIndex: number;
  readonly nextIndex: number;
}

/** How far the peers' logs are; empty if this node does not lead. */
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
