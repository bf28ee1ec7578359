/** What can be measured: this system, and others that are used for locks. */
import { PEER_NAMES, type PeerName } from "../peers/peer.js";

export const OWN_SYSTEM = "holdfast";
export type SystemName = typeof OWN_SYSTEM | PeerName;
export const SYSTEM_NAMES: readonly SystemName[] = [OWN_SYSTEM, ...PEER_NAMES];

/** The nodes that clients connect to: the leader, as they do by default, or one follower. */
export const ATTACHMENTS = ["leader", "follower"] as const;
export type Attachment = (typeof ATTACHMENTS)[number];
