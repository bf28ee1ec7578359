/** What can be measured: this system, and others that are used for locks. */
import { PEER_NAMES, type PeerName } from "../peers/peer.js";

export const OWN_SYSTEM = "holdfast";
/**
 * This system, by workers that do not wait for the answer to a release: the next acquire travels
 * with it. A row of its own, because a caller gives something up for it.
 */
export const UNAWAITED_SYSTEM = "holdfast-unawaited";

/** Those that are compared with this system. */
export const COMPARED_SYSTEMS = [UNAWAITED_SYSTEM, ...PEER_NAMES] as const;
export type ComparedSystem = (typeof COMPARED_SYSTEMS)[number];
export type SystemName = typeof OWN_SYSTEM | ComparedSystem;
export const SYSTEM_NAMES: readonly SystemName[] = [OWN_SYSTEM, ...COMPARED_SYSTEMS];

export function isPeer(name: SystemName): name is PeerName {
  return (PEER_NAMES as readonly string[]).includes(name);
}

/** The nodes that clients connect to: the leader, as they do by default, or one follower. */
export const ATTACHMENTS = ["leader", "follower"] as const;
export type Attachment = (typeof ATTACHMENTS)[number];
