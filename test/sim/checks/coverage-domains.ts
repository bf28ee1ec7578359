/** Which pairs of a state and an event `coverage.ts` counts. */
import type { Input, Message, Role } from "../../../src/raft/index.js";

const ROLES: readonly Role[] = ["follower", "preCandidate", "candidate", "leader"];

const INPUTS: readonly Exclude<Input["type"], "message">[] = [
  "tick",
  "propose",
  "persisted",
  "applied",
  "peerUp",
  "peerDown",
  "commitInterest",
  "readIndex",
  "changeMembership",
  "transferLeadership",
  "compact",
  "snapshotReceived",
  "snapshotFailed",
];
const MESSAGES: readonly Message["type"][] = [
  "preVote",
  "preVoteReply",
  "vote",
  "voteReply",
  "append",
  "appendReply",
  "heartbeat",
  "heartbeatReply",
  "timeoutNow",
];
/** Two that say by one name what has little in common. */
const CORE_EVENTS = [...INPUTS, ...MESSAGES, "appendReply refused", "vote of a transfer"];

const WAYS = ["open", "resume"];

interface Domain {
  readonly states: readonly string[];
  readonly events: readonly string[];
}

export const DOMAINS = {
  role: { states: ROLES, events: CORE_EVENTS },
  snapshot: { states: ["taking", "sending", "receiving", "restoring"], events: CORE_EVENTS },
  /** By the free slots below the highest one that is held, in the semaphore that has the most. */
  installed: { states: ["at most one gap", "several gaps"], events: ["table"] },
  members: { states: ["simple", "learner", "joint"], events: CORE_EVENTS },
  disk: { states: ["stalled", "slow", "full"], events: ROLES },
  attaching: {
    states: WAYS,
    events: ["ok", "BUSY", "DISK_FULL", "SESSION_EXPIRED", "FORBIDDEN", "QUOTA"],
  },
  session: {
    states: WAYS,
    events: [
      "reply",
      "outcome",
      "renewed",
      "recalled",
      "contended",
      "revoking",
      "lost",
      "ended",
      "refused",
      "move",
      "leader",
    ],
  },
} as const satisfies Record<string, Domain>;

export type DomainName = keyof typeof DOMAINS;
