/**
 * The doors of this system as systems of their own: a cluster of three nodes, loaded by a client of
 * another protocol, as the other systems are.
 */
import { freePorts } from "../../lab/free-ports.js";
import { type OwnCluster, withOwnCluster } from "../cluster/own-cluster.js";
import { connectHttp } from "./http-client.js";
import { packageVersion } from "./load-package.js";
import type { PeerClient, PeerKind, RunningPeer } from "./peer.js";
import type { PeerLoad } from "./peer-load.js";
import { connectRedis } from "./redis/redis-locks.js";
import { connectRedlockClients } from "./redis/redlock-client.js";

const NODES = 3;

interface Door {
  readonly about: string;
  /** The client, with its version. */
  readonly client: string;
  /** Further flags of each node. */
  readonly flagsOf: (node: number) => readonly string[];
  /** `leader`: the index of the node that leads. */
  readonly connect: (cluster: OwnCluster, leader: number, load: PeerLoad) => Promise<PeerClient[]>;
}

export const httpDoor: PeerKind = doorKind(async () => ({
  about: "three nodes, plain HTTP at the leader",
  client: "a lean HTTP client",
  flagsOf: () => [],
  connect: (cluster, leader, load) => {
    const { port } = new URL(cluster.nodes[leader]?.endpoint ?? "");
    return connectHttp(Number(port), load);
  },
}));

/** As an application has it whose client finds the master through sentinels: one server. */
function redisPortKind(
  about: string,
  packages: readonly string[],
  connect: (port: number, load: PeerLoad) => Promise<PeerClient[]>,
): PeerKind {
  return doorKind(async () => {
    const ports = await freePorts(NODES);
    return {
      about: `three nodes, ${about} at the Redis port of the leader`,
      client: packages.map(packageVersion).join(" over "),
      flagsOf: (node) => [`--redis-listen=127.0.0.1:${ports[node - 1]}`],
      connect: (_cluster, leader, load) => connect(ports[leader] ?? 0, load),
    };
  });
}

export const redisDoor: PeerKind = redisPortKind("the client of redis", ["ioredis"], connectRedis);

export const redlockDoor: PeerKind = redisPortKind(
  "the package redlock unchanged",
  ["redlock5", "ioredis"],
  (port, load) => connectRedlockClients([port], load),
);

function doorKind(make: () => Promise<Door>): PeerKind {
  return {
    about: "three nodes of this system, through a door",
    missing: () => undefined,
    start: async (_directory, signal): Promise<RunningPeer> => {
      const door = await make();
      let stop: () => void = () => undefined;
      const stopped = new Promise<void>((resolve) => {
        stop = resolve;
      });
      let ended: Promise<void> = Promise.resolve();
      const cluster = await new Promise<OwnCluster>((resolve, reject) => {
        const options = { flagsOf: door.flagsOf, signal };
        ended = withOwnCluster(options, async (own) => {
          resolve(own);
          await stopped;
        });
        ended.catch(reject);
      });
      const { nodes } = cluster;
      return {
        versions: `Node.js ${process.versions.node}, ${door.client}`,
        processes: () => nodes.map(({ id, pid }) => ({ name: `n${id}`, pid })),
        syncs: async () => undefined,
        death: ended.then(() => new Promise<never>(() => undefined)),
        connect: async (load) => {
          const leader = await cluster.healthy();
          return door.connect(cluster, nodes.indexOf(leader), load);
        },
        stop: async () => {
          stop();
          await ended;
        },
      };
    },
  };
}
