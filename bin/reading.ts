/**
 * What commands that ask the cluster have in common: a client for the time of one question.
 */
import { hostname } from "node:os";
import type { Client, ConnectOptions } from "../src/index.js";
import type { ClusterAccess } from "./command-options.js";

export interface AskOptions extends Pick<ConnectOptions, "signal" | "ttlMs"> {
  /** What is asked about: a name that cannot be one is told before a cluster is looked for. */
  readonly about?: { readonly key: string } | { readonly prefix: string };
}

/** Runs `ask` with a client and closes it, whatever happens. */
export async function withClient<T>(
  access: ClusterAccess,
  ask: (client: Client) => Promise<T>,
  { about, ...options }: AskOptions = {},
): Promise<T> {
  const { connect, requirePrefix, requireTableKey } = await import("../src/client/index.js");
  if (about !== undefined && "key" in about) requireTableKey(about.key);
  else if (about !== undefined) requirePrefix(about.prefix);
  const name = `${hostname()} holdfast ${process.pid}`;
  const client = await connect({ ...access, name, ...options });
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}
