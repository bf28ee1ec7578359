/** Redis: one node in memory, one node that syncs each command, and five of those (Redlock). */
import { join } from "node:path";
import { freePorts } from "../../../lab/free-ports.js";
import { fileOf, lackOf, REDIS, redisArguments } from "../../../lab/peer-servers.js";
import { askRedis } from "../../../lab/redis-command.js";
import type { PeerClient, PeerKind, PeerLoad, RunningPeer } from "../peer.js";
import { RunningServers } from "../running-servers.js";
import { connectRedis } from "./redis-locks.js";
import { connectRedlockClients } from "./redlock-client.js";
import { connectRedlock } from "./redlock-locks.js";

const HOST = "127.0.0.1";
const ANSWER_MS_MAX = 2_000;
/** A majority of five, as its description requires. */
const REDLOCK_NODES = 5;

interface Arrangement {
  readonly about: string;
  readonly nodes: number;
  readonly isSynced: boolean;
  readonly connect: (ports: readonly number[], load: PeerLoad) => Promise<PeerClient[]>;
}

const connectOne: Arrangement["connect"] = ([port = 0], load) => connectRedis(port, load);

export const redis: PeerKind = redisKind({
  about: "one node, nothing on disk",
  nodes: 1,
  isSynced: false,
  connect: connectOne,
});

export const redisAof: PeerKind = redisKind({
  about: "one node, appendfsync always",
  nodes: 1,
  isSynced: true,
  connect: connectOne,
});

export const redlock: PeerKind = redisKind({
  about: "five nodes, appendfsync always",
  nodes: REDLOCK_NODES,
  isSynced: true,
  connect: connectRedlock,
});

export const redlockClient: PeerKind = redisKind({
  about: "five nodes, appendfsync always, the package redlock unchanged",
  nodes: REDLOCK_NODES,
  isSynced: true,
  connect: connectRedlockClients,
});

function redisKind({ about, nodes, isSynced, connect }: Arrangement): PeerKind {
  return {
    about,
    missing: () => lackOf(REDIS),
    start: async (directory, signal): Promise<RunningPeer> => {
      const command = fileOf(REDIS);
      const ports = await freePorts(nodes);
      const servers = Object.fromEntries(
        ports.map((port, index) => [
          nodes === 1 ? "redis" : `redis${index + 1}`,
          {
            command,
            arguments: serverArguments(port, isSynced),
            directory: join(directory, `${index + 1}`),
          },
        ]),
      );
      const areReady = async () => {
        const questions = ports.map((port) =>
          askRedis({ host: HOST, port }, "PING", ANSWER_MS_MAX),
        );
        return (await Promise.all(questions)).every((answer) => answer === "PONG");
      };
      const running = await RunningServers.start(servers, areReady, signal);
      return {
        processes: () => running.processes,
        // Redis does not count its syncs.
        syncs: async () => undefined,
        death: running.death,
        connect: (load) => connect(ports, load),
        stop: () => running.stop(),
      };
    },
  };
}

function serverArguments(port: number, isSynced: boolean): string[] {
  return redisArguments({
    port,
    bind: HOST,
    // Occasional snapshots would slow the locks down, and are not needed here.
    save: "",
    appendonly: isSynced ? "yes" : "no",
    appendfsync: "always",
    "auto-aof-rewrite-percentage": 0,
  });
}
