/** Names under which a run counts what clients see in addition to the answers to their commands. */
import type { ErrorNumber } from "../../../src/errors/index.js";
import type { BlockedBy, EndReason } from "../../../src/protocol/index.js";

export const SIGHTINGS = {
  slots: "slots granted",
  countedUp: "held once more",
  contended: "contended",
  revoking: "revoking",
  revokingSession: "revoking session",
  /** An application left everything that it held to others, */
  departed: "everything handed over",
  /** of whom one goes on with some of it, */
  wentOn: "went on with what another held",
  /** and another one is told that it came too late. */
  cameLate: "came too late for what another held",
  /** By the node that read the command. */
  refused: (status: ErrorNumber) => `refused with ${status}`,
  blockedBy: (what: BlockedBy) => `blocked by ${what}`,
  lost: (reason: EndReason) => `lost by ${reason}`,
  /** A node whose data were lost, and which waits to receive everything. */
  recovered: "recovered",
  /** A cluster that begins with what another one saved. */
  restored: "restored",
  /** The leader died when the majority needed a node that was not ready. */
  oddNode: (kind: string) => `leader dead while a node ${kind}`,
  /** A node that applications with all kinds of leases had to do without. */
  silence: "silent node",
  watchBegun: "watch begun",
  watchTold: "watch told",
  /** The call of an application that asked for a lock. */
  callEnded: (how: string) => `call ended: ${how}`,
  /** A call that asked for something else, and says that it was not carried out. */
  callDenied: "call denied",
  /** By an owner: a repeat found the lease that it had. */
  leaseRepeated: "lease repeated",
  /** A take was moved to the session of a repeat. */
  takeMoved: "take moved",
  sameOwner: "same owner",
  /** A take that its owner has given back came once more. */
  lateCopyRefused: "late copy refused",
  leaseGone: (reason: EndReason) => `lease gone by ${reason}`,
  /** An act, and whether each key was as it said. */
  act: (isDone: boolean) => `act ${isDone ? "done" : "not done"}`,
  /** By an owner at a door. */
  door: (what: string) => `door: ${what}`,
  ended: (reason: EndReason) => `session ended by ${reason}`,
} as const;
