/**
 * Three ZooKeeper servers with the settings of its example: every write is synced on a majority.
 * Servers and client are the jars that `pom.xml` names.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePorts } from "../../../lab/free-ports.js";
import type { Making } from "../../programs/cached-folder.js";
import { javaPrograms, lackOfJava } from "../../programs/java-programs.js";
import { CLOSED_LOOPS_ONLY, LoadProgram } from "../load-program.js";
import type { PeerKind, RunningPeer } from "../peer.js";
import { RunningServers } from "../running-servers.js";
import { askOverTcp } from "../tcp-question.js";

const SERVERS = 3;
/** As in the start script of the package. */
const HEAP = "-Xmx1000m";
const SYNCS = /^zk_cnt_fsynctime\s+(\d+)$/m;

export const zookeeper: PeerKind = {
  about: "three servers, synced on a majority",
  missing: lackOfJava,
  closedLoopsOnly: CLOSED_LOOPS_ONLY,
  prepare: async (making) => {
    await classPath(making);
  },
  start: async (directory, signal): Promise<RunningPeer> => {
    const classes = await classPath({ signal, onNote: () => undefined });
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
            { command: "java", arguments: serverArguments(classes, file), directory: home },
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
    const version = /version: ([\d.]+)/.exec(await askOverTcp(leaderPort, "srvr"))?.[1];
    return {
      versions: `ZooKeeper ${version}, its client for Java`,
      processes: () => running.processes,
      syncs: () => syncsOf(clientPorts),
      death: running.death,
      // The leader's address saves every request a hop.
      connect: async (load) => {
        const command = ["java", HEAP, "-cp", classes, "ZooKeeperLoad"];
        return new LoadProgram(command, [`127.0.0.1:${leaderPort}`], load);
      },
      stop: () => running.stop(),
    };
  },
};

function classPath(making: Making): Promise<string> {
  return javaPrograms("peers/zookeeper", "zookeeper", making);
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

function serverArguments(classes: string, configuration: string): string[] {
  return [
    HEAP,
    "-cp",
    classes,
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
