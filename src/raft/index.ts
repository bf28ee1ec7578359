/**
 * The interface of the consensus core. Read first `types.ts`, the inputs and effects, then
 * `raft.ts`, which turns one into the other, and `state.ts`, the state of a node.
 *
 * - `election`, `follower`, `leader`: what a node does in its role
 * - `replication`, `majority-first`, `progress/`: what a leader sends to which peer, and what it
 *   knows of the peer
 * - `membership`, `configuration/`: who votes, and how that changes
 * - `log`, `durability`, `compaction`, `snapshot`: the log in memory, and what of it is on disk
 * - `messages/`: what comes in and goes out
 */
export {
  assertConfiguration,
  isJoint,
  isSameConfiguration,
  isVoter,
  membersOf,
  votersOf,
} from "./configuration/configuration.js";
export { decodeConfiguration, encodeConfiguration } from "./configuration/configuration-codec.js";
export { ballotOutcome, quorumSize, quorumValue } from "./configuration/quorum.js";
export { Raft } from "./raft.js";
export * from "./types.js";
