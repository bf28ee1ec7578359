/**
 * Three members of Hazelcast, whose locks are agreed on by a majority and kept in memory. Members and
 * client are the jar that `pom.xml` names.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "../../../lab/free-ports.js";
import { type Making, sourceFile } from "../../programs/cached-folder.js";
import { javaPrograms, lackOfJava } from "../../programs/java-programs.js";
import { CLOSED_LOOPS_ONLY, LoadProgram } from "../load-program.js";
import type { PeerKind, RunningPeer } from "../peer.js";
import { RunningServers } from "../running-servers.js";

const SOURCES = "peers/hazelcast";
const MEMBERS = 3;
const HEAP = "-Xmx1000m";
/** Java reports each of these accesses of Hazelcast otherwise, as its manual says. */
const ACCESS = ["java.base/jdk.internal.ref", "java.base/java.nio", "java.base/sun.nio.ch"];

export const hazelcast: PeerKind = {
  about: "three members, in the memory of a majority",
  missing: lackOfJava,
  closedLoopsOnly: CLOSED_LOOPS_ONLY,
  prepare: async (making) => {
    await classPath(making);
  },
  start: async (directory, signal): Promise<RunningPeer> => {
    const classes = await classPath({ signal, onNote: () => undefined });
    const ports = await freePorts(MEMBERS);
    const words = [HEAP, ...ACCESS.flatMap((name) => ["--add-opens", `${name}=ALL-UNNAMED`])];
    const homes = ports.map((_port, index) => join(directory, `${index + 1}`));
    const servers = Object.fromEntries(
      ports.map((port, index) => {
        const member = ["HazelcastMember", `${port}`, ...ports.map(String)];
        const flags = [...words, "-cp", classes, ...member];
        const home = homes[index] ?? "";
        return [`hazelcast${index + 1}`, { command: "java", arguments: flags, directory: home }];
      }),
    );
    const areReady = async () => homes.every((home) => existsSync(join(home, "ready")));
    const running = await RunningServers.start(servers, areReady, signal);
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    return {
      versions: `Hazelcast ${version()}, its client for Java`,
      processes: () => running.processes,
      // Its locks are not on disk.
      syncs: async () => undefined,
      death: running.death,
      connect: async (load) => {
        const command = ["java", ...words, "-cp", classes, "HazelcastLoad"];
        return new LoadProgram(command, addresses, load);
      },
      stop: () => running.stop(),
    };
  },
};

function classPath(making: Making): Promise<string> {
  return javaPrograms(SOURCES, "hazelcast", making);
}

function version(): string {
  const pom = readFileSync(sourceFile(`${SOURCES}/pom.xml`), "utf8");
  return /<artifactId>hazelcast<\/artifactId>\s*<version>(.+)<\/version>/.exec(pom)?.[1] ?? "?";
}
