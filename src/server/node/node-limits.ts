/**
 * The limits of clients that a node has, from its options and from what it has for all clients: those
 * that its port keeps, and those that its driver keeps.
 */
import { GATEWAY_DEFAULTS, type GatewayTuning, type PortLoad } from "../../net/index.js";
import { clientLimits, type NodeRoom } from "../limits/defaults.js";
import type { LimitCounts } from "../limits/limit-counts.js";
import type { NodeLimits } from "../limits/limits.js";
import type { ResolvedOptions } from "./resolve-options.js";

type GivenLimits = Pick<ResolvedOptions, "identityLimits" | "addressLimits" | "tuning">;

/** How many connections there may be of one address is decided by the port, if it is not given. */
export function portLimits(options: GivenLimits): Partial<GatewayTuning> {
  const { connectionsMax } = GATEWAY_DEFAULTS;
  const identity = clientLimits(options.identityLimits ?? {}, roomOf(options, connectionsMax));
  const address = clientLimits(options.addressLimits ?? {}, roomOf(options, connectionsMax));
  return {
    identityUnfinishedBytesMax: identity.unfinishedBytesMax,
    addressUnfinishedBytesMax: address.unfinishedBytesMax,
    addressConnectionsMax:
      options.addressLimits?.connectionsMax === undefined ? undefined : address.connectionsMax,
  };
}

export function nodeLimits(
  options: GivenLimits,
  { connectionsMax }: PortLoad,
  counts: LimitCounts,
): NodeLimits {
  const room = roomOf(options, connectionsMax);
  return {
    identity: clientLimits(options.identityLimits ?? {}, room),
    address: clientLimits(options.addressLimits ?? {}, room),
    counts,
  };
}

function roomOf({ tuning }: GivenLimits, connectionsMax: number): NodeRoom {
  const { unfinishedBytesMax } = GATEWAY_DEFAULTS;
  return { connectionsMax, watchesMax: tuning.watchesMax, unfinishedBytesMax };
}
