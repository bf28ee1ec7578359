/**
 * Holdfast as Redis lock clients see it: three nodes that serve the protocol of Redis, and the npm
 * package `redlock`, unchanged, which finds the leader by asking the nodes as if they were sentinels.
 */
import type { HostPort, Network, NodeAddresses } from "../cluster/network.js";
import { nodeCommand, nodeStatus } from "./holdfast.js";
import { lackOfRedlock } from "./redlock-locks.js";
import type { System, SystemKind } from "./system.js";

/** Nobody dials a node by its own protocol: it may be any port. */
const ANY_PORT = 0;

export const redlockDoor: SystemKind = {
  name: "redlock-door",
  about: "the npm package redlock, unchanged, on the Redis port of a cluster",
  hasOnePort: false,
  hasOnePeerAddress: false,
  isOwn: true,
  tokensRise: "not-at-all",
  missing: lackOfRedlock,
  make: (network): System => ({
    serverOf: (node, dataDirectory) => ({
      command: [...nodeCommand(network, node, dataDirectory), ...doorArguments(network, node)],
      status: () => nodeStatus(`unix:${dataDirectory}`),
    }),
    discoveryOf: (client) => {
      const { endpoints } = network.endpointsOf(client);
      const named = network.nodes.map(({ id }) => textOf(network.advertisedOf(id)));
      const roads = named.map((address, index) => [address, endpoints[index] ?? address] as const);
      return { sentinels: endpoints, roads: Object.fromEntries(roads) };
    },
  }),
};

function doorArguments(network: Network, { id, host, clientPort }: NodeAddresses): string[] {
  return [
    `--listen=${host}:${ANY_PORT}`,
    `--redis-listen=${host}:${clientPort}`,
    `--redis-advertise=${textOf(network.advertisedOf(id))}`,
  ];
}

function textOf({ host, port }: HostPort): string {
  return `${host}:${port}`;
}
