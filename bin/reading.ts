/**
 * What commands that ask the cluster have in common: a client for the time of one question.
 */
import { hostname } from "node:os";
import type { Client, ConnectOptions } from "../src/index.js";
import type { ClusterAccess } from "./command-options.js";

/** Runs `ask` with a client and closes it, whatever happens. */
export async function withClient<T>(
  access: ClusterAccess,
  ask: (client: Client) => Promise<T>,
  options: Pick<ConnectOptions, "signal" | "ttlMs"> = {},
): Promise<T> {
  const { connect } = await import("../src/index.js");
  const name = `${hostname()} holdfast ${process.pid}`;
  const client = await connect({ ...access, name, ...options });
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}
