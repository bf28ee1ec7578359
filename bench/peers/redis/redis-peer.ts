/** Redis: one node in memory, one node that syncs each command, and five of those (Redlock). */
import { join } from "node:path";
import { freePorts } from "../../../lab/free-ports.js";
import { fileOf, lackOf, REDIS, redisArguments } from "../../../lab/peer-servers.js";
import { askRedis } from "../../../lab/redis-command.js";
import { runTool } from "../../programs/cached-folder.js";
import { packageVersion } from "../load-package.js";
import type { PeerClient, PeerKind, RunningPeer } from "../peer.js";
import type { PeerLoad } from "../peer-load.js";
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
  /** The packages that make its client. */
  readonly packages: readonly string[];
  readonly connect: (ports: readonly number[], load: PeerLoad) => Promise<PeerClient[]>;
}

const connectOne: Arrangement["connect"] = ([port = 0], load) => connectRedis(port, load);

export const redis: PeerKind = redisKind({
  about: "one node, nothing on disk",
  nodes: 1,
  isSynced: false,
  packages: ["ioredis"],
  connect: connectOne,
});

export const redisAof: PeerKind = redisKind({
  about: "one node, appendfsync always",
  nodes: 1,
  isSynced: true,
  packages: ["ioredis"],
  connect: connectOne,
});

export const redlock: PeerKind = redisKind({
  about: "five nodes, appendfsync always",
  nodes: REDLOCK_NODES,
  isSynced: true,
  packages: ["ioredis"],
  connect: connectRedlock,
});

export const redlockClient: PeerKind = redisKind({
  about: "five nodes, appendfsync always, the package redlock unchanged",
  nodes: REDLOCK_NODES,
  isSynced: true,
  packages: ["redlock5", "ioredis"],
  connect: connectRedlockClients,
});

function redisKind({ about, nodes, isSynced, packages, connect }: Arrangement): PeerKind {
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
      const said = await runTool(command, ["--version"], { signal });
      const client = packages.map(packageVersion).join(" over ");
      return {
        versions: `Redis ${/ v=(\S+)/.exec(said)?.[1]}, ${client}`,
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
