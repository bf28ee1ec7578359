/**
 * Converts addresses of members between their two forms: `host:port` in the log and on the wire,
 * host and port for dialing.
 */
import { optionValueText } from "../../errors/index.js";
import type { Configuration, NodeId } from "../../raft/index.js";
import type { Founder, HostPort } from "../options.js";
import type { ResolvedOptions } from "./resolve-options.js";

/** The reverse of `optionValueText`; `undefined` if `text` is not an address. */
function parseAddress(text: string): HostPort | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** The URL that clients are given for this node. `port`: the one that it listens on. */
export function endpointOf({ advertise, listen, tls }: ResolvedOptions, port: number): string {
  const scheme = tls === undefined ? "ws" : "wss";
  return advertise ?? `${scheme}://${optionValueText({ host: listen.host, port })}`;
}

/** The configuration of the founders of a cluster. */
export function foundingConfiguration(founders: readonly Founder[]): Configuration {
  const members = [...founders].sort((a, b) => a.id - b.id);
  return {
    voters: members.map(({ id }) => id),
    outgoing: [],
    learners: [],
    addresses: members.map(({ id, address }) => ({ id, address: optionValueText(address) })),
  };
}

/** The peers that `self` dials, with their addresses; `overrides` win. */
export function peersOf(
  members: readonly { readonly id: NodeId; readonly address: string }[],
  self: NodeId,
  overrides: ReadonlyMap<NodeId, HostPort>,
): Map<NodeId, HostPort> {
  const peers = new Map<NodeId, HostPort>();
  for (const { id, address } of members) {
    const place = overrides.get(id) ?? parseAddress(address);
    if (id !== self && place !== undefined) peers.set(id, place);
  }
  return peers;
}
