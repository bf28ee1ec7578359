/** Three ZooKeeper servers with the settings of its example: every write is synced on a majority. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findCommand } from "../../lab/find-command.js";
import { freePorts } from "../../lab/free-ports.js";
import type { PeerKind, RunningPeer } from "./peer.js";
import { RunningServers } from "./running-servers.js";
import { askOverTcp } from "./tcp-question.js";
import { connectZooKeeper } from "./zookeeper-locks.js";

const SERVERS = 3;
/** Its manifest names the other jars that it needs. */
const JAR = "/usr/share/java/zookeeper.jar";
const MISSING = "ZooKeeper is not installed (Debian: apt-get install zookeeper)";
/** As in the start script of the package. */
const HEAP = "-Xmx1000m";
const SYNCS = /^zk_cnt_fsynctime\s+(\d+)$/m;

export const zookeeper: PeerKind = {
  about: "three servers, synced on a majority",
  missing,
  start: async (directory, signal): Promise<RunningPeer> => {
    const command = findCommand("java");
    if (command === undefined) throw new Error(MISSING);
    const ports = await freePorts(3 * SERVERS);
    const clientPorts = ports.slice(0, SERVERS);
    const members = clientPorts.map((_port, index) => {
      const [quorumPort, electionPort] = ports.slice(SERVERS + 2 * index);
      return `server.${index + 1}=127.0.0.1:${quorumPort}:${electionPort}`;
    });
    const servers = Object.fromEntries(
      await Promise.all(
        clientPorts.map(async (port, index) => {
          const home = join(directory, `${index + 1}`);
          const file = await writeConfiguration(home, index + 1, port, members);
          return [
            `zookeeper${index + 1}`,
            { command, arguments: serverArguments(file), directory: home },
          ];
        }),
      ),
    );
    let leaderPort = 0;
    const areReady = async () => {
      const modes = await Promise.all(clientPorts.map(modeOf));
      leaderPort = clientPorts[modes.indexOf("leader")] ?? 0;
      return modes.every((mode) => mode === "leader" || mode === "follower") && leaderPort !== 0;
    };
    const running = await RunningServers.start(servers, areReady, signal);
    return {
      processes: () => running.processes,
      syncs: () => syncsOf(clientPorts),
      death: running.death,
      connect: (load) => connectZooKeeper(`127.0.0.1:${leaderPort}`, load),
      stop: () => running.stop(),
    };
  },
};

function missing(): string | undefined {
  if (!existsSync(JAR)) return MISSING;
  if (findCommand("java") === undefined) {
    return "java is not installed (Debian: apt-get install default-jre-headless)";
  }
  return undefined;
}

async function writeConfiguration(
  home: string,
  id: number,
  port: number,
  members: readonly string[],
): Promise<string> {
  const data = join(home, "data");
  await mkdir(data, { recursive: true });
  await writeFile(join(data, "myid"), `${id}\n`);
  const lines = [
    "tickTime=2000",
    "initLimit=10",
    "syncLimit=5",
    `dataDir=${data}`,
    "clientPortAddress=127.0.0.1",
    `clientPort=${port}`,
    "maxClientCnxns=0",
    "admin.enableServer=false",
    "4lw.commands.whitelist=srvr,mntr",
    ...members,
  ];
  const file = join(home, "zoo.cfg");
  await writeFile(file, `${lines.join("\n")}\n`);
  return file;
}

function serverArguments(configuration: string): string[] {
  return [
    HEAP,
    "-cp",
    JAR,
    "-Dzookeeper.admin.enableServer=false",
    "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    configuration,
  ];
}

async function modeOf(port: number): Promise<string | undefined> {
  return /^Mode: (\w+)$/m.exec(await askOverTcp(port, "srvr"))?.[1];
}

async function syncsOf(ports: readonly number[]): Promise<number | undefined> {
  const answers = await Promise.all(ports.map((port) => askOverTcp(port, "mntr")));
  const total = answers.reduce((sum, answer) => sum + Number(SYNCS.exec(answer)?.[1]), 0);
  return Number.isFinite(total) ? total : undefined;
}
