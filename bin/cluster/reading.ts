/**
 * What commands that ask the cluster have in common: a connection for the time of one question or
 * order, which needs no session, and a client with one for what goes on for longer.
 */
import { hostname } from "node:os";
import type { Admin, Client, ConnectOptions } from "../../src/index.js";
import type { ClusterAccess } from "../config/command-options.js";
import { type PlightOptions, withPlightTold } from "./cluster-plight.js";

/** What is asked about: a name that cannot be one is told before a cluster is looked for. */
type About = { readonly key: string } | { readonly prefix: string };

export interface AskOptions extends Pick<ConnectOptions, "signal" | "ttlMs"> {
  readonly about?: About;
  /** What is said while no cluster serves. */
  readonly plight?: PlightOptions;
}

/** Runs `ask` with a connection that has no session, and closes it, whatever happens. */
export async function askCluster<T>(
  { endpoints, connectTimeoutMs }: ClusterAccess,
  ask: (admin: Admin) => Promise<T>,
  about?: About,
): Promise<T> {
  const { connectAdmin } = await import("../../src/client/index.js");
  await requireName(about);
  const asked = async (): Promise<T> => {
    await using admin = await connectAdmin({ endpoints, timeoutMs: connectTimeoutMs });
    return await ask(admin);
  };
  return withPlightTold(asked(), endpoints);
}

/** Runs `ask` with a client and closes it, whatever happens. */
export async function withClient<T>(
  access: ClusterAccess,
  ask: (client: Client) => Promise<T>,
  { about, plight, ...options }: AskOptions = {},
): Promise<T> {
  const { connect } = await import("../../src/client/index.js");
  await requireName(about);
  const name = `${hostname()} holdfast ${process.pid}`;
  const asked = async (): Promise<T> => {
    await using client = await connect({ ...access, name, ...options });
    return await ask(client);
  };
  return withPlightTold(asked(), access.endpoints, plight);
}

async function requireName(about: About | undefined): Promise<void> {
  const { requirePrefix, requireTableKey } = await import("../../src/client/index.js");
  if (about === undefined) return;
  if ("key" in about) requireTableKey(about.key);
  else requirePrefix(about.prefix);
}
