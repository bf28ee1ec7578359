/** A PostgreSQL of the test's own, if it is installed. */
import { dirname, join } from "node:path";
import { freePorts } from "../../../lab/free-ports.js";
import {
  installed,
  launch,
  prepare,
  type StartedServer,
  serverDirectory,
  unprivileged,
} from "./installed.js";

export async function startPostgresql(): Promise<StartedServer | undefined> {
  const program = installed("PostgreSQL", "postgres");
  if (program === undefined) return undefined;
  const user = unprivileged("postgres");
  const directory = serverDirectory("postgresql", user);
  const data = join(directory, "data");
  const initdb = join(dirname(program), "initdb");
  const how = [
    "--username=postgres",
    "--auth=trust",
    "--no-sync",
    "--no-locale",
    "--encoding=UTF8",
  ];
  prepare(initdb, [`--pgdata=${data}`, ...how], user);
  const [port = 0] = await freePorts(1);
  return launch({
    program,
    args: ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", "", "-c", "fsync=off"],
    ready: "database system is ready to accept connections",
    directory,
    port,
    user,
  });
}
