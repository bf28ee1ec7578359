export { assertConfiguration, isJoint, isVoter, membersOf, votersOf } from "./configuration.js";
export { type BallotOutcome, ballotOutcome, quorumSize, quorumValue } from "./quorum.js";
export { type PeerStatus, Raft } from "./raft.js";
export * from "./types.js";
