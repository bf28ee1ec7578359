/** One PostgreSQL server with its defaults: a commit is synced before it is answered. */
import { execFile } from "node:child_process";
import { chown, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findCommand, versionedDirectories } from "../../lab/find-command.js";
import { freePorts } from "../../lab/free-ports.js";
import type { MeasuredProcess } from "../measures/process-cpu.js";
import { runTool } from "../programs/cached-folder.js";
import { childrenOf } from "./child-processes.js";
import { packageVersion } from "./load-package.js";
import type { PeerClient, PeerKind, RunningPeer } from "./peer.js";
import type { PeerLoad } from "./peer-load.js";
import { CREATE_TABLE, connectAdvisory, connectTable, openPostgres } from "./postgres-locks.js";
import { RunningServers } from "./running-servers.js";

const MISSING = "PostgreSQL is not installed (Debian: apt-get install postgresql)";
const INITDB_MS_MAX = 60_000;
/** It refuses to run as root: the user of the package, otherwise `nobody`. */
const USERS = ["postgres", "nobody"] as const;
const CONNECTIONS_MAX = { count: 200, reason: "a PostgreSQL session is a process of the server" };
/** The workers' sessions, as many listeners, and a few more. */
const SESSIONS_MAX = 2 * CONNECTIONS_MAX.count + 20;

type Connect = (port: number, load: PeerLoad) => Promise<PeerClient[]>;

export const postgresAdvisory = postgresKind(
  "one server, advisory locks, in memory",
  connectAdvisory,
);
export const postgresTable = postgresKind("one server, rows of a table, synced", connectTable);

function postgresKind(about: string, connect: Connect): PeerKind {
  return {
    about,
    connectionsMax: CONNECTIONS_MAX,
    missing: () =>
      find("initdb") === undefined || find("postgres") === undefined ? MISSING : undefined,
    start: async (directory, signal): Promise<RunningPeer> => {
      const [initdb, command] = [find("initdb"), find("postgres")];
      if (initdb === undefined || command === undefined) throw new Error(MISSING);
      const user = await serverUser();
      const home = join(directory, "1");
      await makeData(initdb, home, user, signal);
      const [port = 0] = await freePorts(1);
      const flags = serverArguments(join(home, "data"), port);
      // Immediate, but unlike SIGKILL it leaves no shared memory.
      const server = {
        command,
        arguments: flags,
        directory: home,
        user,
        stopSignal: "SIGQUIT",
      } as const;
      const running = await RunningServers.start({ postgres: server }, () => prepare(port), signal);
      const [postmaster] = running.processes;
      const said = await runTool(command, ["--version"], { signal });
      return {
        versions: `PostgreSQL ${/\) (\S+)/.exec(said)?.[1]}, ${packageVersion("pg")}`,
        processes: () => processesOf(postmaster?.pid ?? 0),
        syncs: () => syncsOf(port),
        death: running.death,
        connect: (load) => connect(port, load),
        stop: () => running.stop(),
      };
    },
  };
}

function find(name: string): string | undefined {
  return findCommand(name, versionedDirectories("/usr/lib/postgresql", "bin"));
}

/** `null`: this process is not root, and the server runs as its user. */
async function serverUser(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  for (const name of USERS) {
    const found = lines.find((fields) => fields[0] === name);
    if (found !== undefined) return { uid: Number(found[2]), gid: Number(found[3]) };
  }
  throw new Error(`PostgreSQL does not run as root, and there is no user ${USERS.join(" or ")}`);
}

async function makeData(
  initdb: string,
  home: string,
  user: { uid: number; gid: number } | null,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(home, { mode: 0o700 });
  if (user !== null) await chown(home, user.uid, user.gid);
  const flags = ["-D", join(home, "data"), "-U", "bench", "--auth=trust", "-E", "UTF8"];
  await promisify(execFile)(initdb, [...flags, "--locale=C", "--no-sync"], {
    cwd: home,
    timeout: INITDB_MS_MAX,
    signal,
    ...(user ?? {}),
  });
}

function serverArguments(data: string, port: number): string[] {
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    synchronous_commit: "on",
    max_connections: SESSIONS_MAX,
  };
  return [
    "-D",
    data,
    ...Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]),
  ];
}

async function prepare(port: number): Promise<boolean> {
  const client = await openPostgres(port, false);
  try {
    await client.query(CREATE_TABLE);
    return true;
  } finally {
    await client.end();
  }
}

/** Each session has a process of its own; together they are the server. */
function processesOf(postmaster: number): MeasuredProcess[] {
  return [postmaster, ...childrenOf(postmaster)].map((pid) => ({ name: "postgres", pid }));
}

async function syncsOf(port: number): Promise<number | undefined> {
  const client = await openPostgres(port, false);
  try {
    const { rows } = await client.query<{ wal_sync: string }>("select wal_sync from pg_stat_wal");
    return rows[0] === undefined ? undefined : Number(rows[0].wal_sync);
  } finally {
    await client.end();
  }
}
