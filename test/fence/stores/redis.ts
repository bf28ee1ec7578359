/** A Redis (or Valkey) of the test's own, if it is installed. */
import { freePorts } from "../../../lab/free-ports.js";
import { installed, launch, type StartedServer, serverDirectory } from "./installed.js";

export async function startRedis(): Promise<StartedServer | undefined> {
  const program = installed("Redis", "redis-server", "valkey-server");
  if (program === undefined) return undefined;
  const directory = serverDirectory("redis", undefined);
  const [port = 0] = await freePorts(1);
  const listen = ["--bind", "127.0.0.1", "--port", String(port)];
  return launch({
    program,
    args: [...listen, "--save", "", "--appendonly", "no", "--dir", directory],
    ready: "Ready to accept connections",
    directory,
    port,
    user: undefined,
  });
}
