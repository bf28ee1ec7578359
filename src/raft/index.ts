export { assertConfiguration, isJoint, isVoter, membersOf, votersOf } from "./configuration.js";
export { ballotOutcome, quorumSize, quorumValue } from "./quorum.js";
export { Raft } from "./raft.js";
export * from "./types.js";
