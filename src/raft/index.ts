export {
  assertConfiguration,
  isJoint,
  isSameConfiguration,
  isVoter,
  membersOf,
  votersOf,
} from "./configuration.js";
export { decodeConfiguration, encodeConfiguration } from "./configuration-codec.js";
export { ballotOutcome, quorumSize, quorumValue } from "./quorum.js";
export { Raft } from "./raft.js";
export * from "./types.js";
