/** Redis: one node in memory, one node that syncs each command, and five of those (Redlock). */
import { join } from "node:path";
import { freePorts } from "../../lab/free-ports.js";
import { findCommand } from "./find-command.js";
import type { PeerClient, PeerKind, PeerLoad, RunningPeer } from "./peer.js";
import { connectRedis } from "./redis-locks.js";
import { connectRedlock } from "./redlock-locks.js";
import { RunningServers } from "./running-servers.js";
import { askOverTcp } from "./tcp-question.js";

const COMMAND = "redis-server";
const MISSING = "redis-server is not installed (Debian: apt-get install redis-server)";
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

function redisKind({ about, nodes, isSynced, connect }: Arrangement): PeerKind {
  return {
    about,
    missing: () => (findCommand(COMMAND) === undefined ? MISSING : undefined),
    start: async (directory, signal): Promise<RunningPeer> => {
      const command = findCommand(COMMAND);
      if (command === undefined) throw new Error(MISSING);
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
        const isWhole = (answer: string) => answer.endsWith("\r\n");
        const answers = ports.map((port) => askOverTcp(port, "PING\r\n", isWhole));
        return (await Promise.all(answers)).every((answer) => answer.startsWith("+PONG"));
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
  const options = {
    port,
    bind: "127.0.0.1",
    // Occasional snapshots would slow the locks down, and are not needed here.
    save: "",
    appendonly: isSynced ? "yes" : "no",
    appendfsync: "always",
    "auto-aof-rewrite-percentage": 0,
  };
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}
