/**
 * Which node the Redis clients of a cluster are sent to. Any node serves them, but clients that ask
 * several sentinels must get one and the same answer, so it is the leader, whom all nodes agree on.
 */
import type { DoorNode } from "./ports.js";

/** The name in the examples of Redis, which many clients are configured with. */
const USUAL_NAME = "mymaster";

export interface NamedAddress {
  readonly id: number;
  readonly host: string;
  readonly port: number;
}

export function namesOf({ clusterName }: DoorNode): readonly string[] {
  return clusterName === USUAL_NAME ? [USUAL_NAME] : [clusterName, USUAL_NAME];
}

/** The leader; `undefined` while nobody leads, or if the leader serves no Redis clients. */
export function namedMaster({ leader, redisAddresses }: DoorNode): NamedAddress | undefined {
  const place = splitAddress(redisAddresses.get(leader) ?? "");
  return place && { id: leader, ...place };
}

/** `host:port` in its parts, without the brackets of IPv6. */
export function splitAddress(address: string): { host: string; port: number } | undefined {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(address) ?? [];
  const host = bracketed ?? plain;
  return host === undefined ? undefined : { host, port: Number(port) };
}
