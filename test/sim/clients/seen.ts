/** Names of what clients see beside the answers to their commands, as runs count them. */
import type { BlockedBy, EndReason } from "../../../src/protocol/index.js";

export const SEEN = {
  slots: "slots granted",
  countedUp: "held once more",
  contended: "contended",
  revoking: "revoking",
  revokingSession: "revoking session",
  /** A hold that a session had, under its new token. */
  takenOver: "taken over",
  blockedBy: (what: BlockedBy) => `blocked by ${what}`,
  lost: (reason: EndReason) => `lost by ${reason}`,
  watchBegun: "watch begun",
  watchTold: "watch told",
  /** Of an application that asked for a lock. */
  callEnded: (how: string) => `call ended: ${how}`,
  ended: (reason: EndReason) => `session ended by ${reason}`,
} as const;
