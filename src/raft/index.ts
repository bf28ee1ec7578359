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
