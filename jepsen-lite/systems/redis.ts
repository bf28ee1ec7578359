/**
 * Redis with replicas, as it is run for locks: one primary that answers before its replicas know,
 * an append-only file on each (synced once a second, which survives a kill), and failover as with
 * Sentinel.
 */
import { fileOf, lackOf, REDIS, redisArguments } from "../../lab/peer-servers.js";
import { RedisSentinels } from "./redis-sentinels.js";
import type { System, SystemKind } from "./system.js";

export const redis: SystemKind = {
  name: "redis",
  about: "a primary and asynchronous replicas, append-only files, failover as Sentinel does it",
  hasOnePort: true,
  hasOnePeerAddress: false,
  tokensRise: "over-all-keys",
  missing: () => lackOf(REDIS),
  make: (network): System => {
    const sentinels = new RedisSentinels(network);
    return {
      serverOf: (node, dataDirectory) => ({
        command: [fileOf(REDIS), ...redisArguments(redisSettings(node.clientPort, dataDirectory))],
        status: () => sentinels.statusOf(node),
      }),
      attend: async (nodes, events) => sentinels.watch(nodes, events),
    };
  },
};

export function redisSettings(port: number, directory: string) {
  return {
    port,
    bind: "127.0.0.1",
    dir: directory,
    save: "",
    appendonly: "yes",
    appendfsync: "everysec",
    // So that the list of processes shows which run each belongs to.
    "set-proc-title": "no",
    // Waiting for further replicas would only keep this one out.
    "repl-diskless-sync-delay": 0,
    "repl-ping-replica-period": 1,
  };
}
