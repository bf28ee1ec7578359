/** All systems by name, and the ones that serve as peers. */
import { findNamed } from "../../lab/command-line.js";
import { parentDeathPrefix } from "../cluster/parent-death.js";
import { etcd } from "./etcd.js";
import { holdfast } from "./holdfast.js";
import { redis } from "./redis.js";
import { redlockDoor } from "./redlock-door.js";
import { redlockRedis } from "./redlock-redis.js";
import type { SystemKind, SystemName } from "./system.js";

export const SYSTEMS: Readonly<Record<SystemName, SystemKind>> = {
  holdfast,
  redis,
  etcd,
  "redlock-redis": redlockRedis,
  "redlock-door": redlockDoor,
};

export const PEERS: readonly SystemKind[] = [redis, etcd, redlockRedis, redlockDoor];

/** Throws `UsageError` for an unknown peer. */
export function findPeers(names: readonly string[]): SystemKind[] {
  return names.map((name) => findNamed("peer", name, PEERS));
}

/** Why these cannot be attacked on this machine, in one line; `undefined`: they can. */
export async function peerRefusal(peers: readonly SystemKind[]): Promise<string | undefined> {
  if (peers.length === 0) return undefined;
  const missing = peers.map((peer) => peer.missing()).filter((why) => why !== undefined);
  if (missing.length > 0) return missing.join("; ");
  if ((await parentDeathPrefix()).length > 0) return undefined;
  return "peers require setpriv of util-linux (Linux): otherwise servers could outlive the harness";
}
