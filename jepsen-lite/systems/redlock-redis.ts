/**
 * Redis with failover as it is run for locks: a master and asynchronous replicas, each with a real
 * Sentinel next to it, and the npm package `redlock`, unchanged, which finds the master by asking
 * the Sentinels.
 */
import { fileOf, lackOf, REDIS, redisArguments } from "../../lab/peer-servers.js";
import type { HostPort, NodeAddresses } from "../cluster/network.js";
import { redisSettings } from "./redis.js";
import { lackOfRedlock } from "./redlock-locks.js";
import { SentinelProcesses } from "./sentinel-processes.js";
import type { System, SystemKind } from "./system.js";

export const redlockRedis: SystemKind = {
  name: "redlock-redis",
  about: "the npm package redlock, unchanged, on a Redis master with replicas and Sentinels",
  hasOnePort: true,
  hasOnePeerAddress: true,
  hasCompanions: true,
  tokensRise: "not-at-all",
  missing: () => lackOf(REDIS) ?? lackOfRedlock(),
  make: (network): System => {
    const sentinels = new SentinelProcesses(network);
    return {
      serverOf: (node, dataDirectory) => ({
        command: [fileOf(REDIS), ...redisArguments(settingsOf(node, dataDirectory))],
        status: () => sentinels.statusOf(node),
      }),
      companionPid: (node) => sentinels.pidOf(node),
      discoveryOf: (client) => {
        const { endpoints } = network.endpointsOf(client);
        const companions = network.companionsOf(client);
        const roads = network.nodes.flatMap(({ id }, index) => [
          [textOf(sentinels.addressOf(id)), endpoints[index] ?? ""] as const,
          [textOf(network.companionAddress(id)), companions[index] ?? ""] as const,
        ]);
        return { sentinels: companions, roads: Object.fromEntries(roads) };
      },
      attend: (nodes, events) => sentinels.attend(nodes, events),
    };

    function settingsOf({ id, clientPort }: NodeAddresses, directory: string) {
      const own = sentinels.addressOf(id);
      const first = sentinels.addressOf(sentinels.firstMaster);
      return {
        ...redisSettings(clientPort, directory),
        "replica-announce-ip": own.host,
        "replica-announce-port": own.port,
        ...(id === sentinels.firstMaster ? {} : { replicaof: `${first.host} ${first.port}` }),
      };
    }
  },
};

function textOf({ host, port }: HostPort): string {
  return `${host}:${port}`;
}
