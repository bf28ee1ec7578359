/**
 * The connections of commands to a cluster, each closed when its work is done: without a session for
 * questions and admin commands, or a client with a session for longer work.
 */
import { hostname } from "node:os";
import { HoldfastError } from "../../src/errors/index.js";
import type { Admin, Client, ConnectOptions } from "../../src/index.js";
import type { ClusterAccess } from "../config/command-options.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure, failureOf } from "../exit/failure.js";
import { type OutageOptions, withOutageReport } from "./cluster-outage.js";

/** What is asked about: an invalid name is refused before a cluster is looked for. */
export interface About {
  readonly key?: string;
  readonly prefix?: string;
  readonly identity?: string | undefined;
  /** The label of a credential. */
  readonly label?: string | undefined;
}

export interface AskOptions extends Pick<ConnectOptions, "signal" | "ttlMs" | "metadata"> {
  readonly about?: About;
  /** How an unavailable cluster is reported. */
  readonly outage?: OutageOptions;
}

/** Runs `ask` with a connection that has no session, and always closes it. */
export async function askCluster<T>(
  access: ClusterAccess,
  ask: (admin: Admin) => Promise<T>,
  about?: About,
  signal?: AbortSignal,
): Promise<T> {
  const { connectAdmin } = await import("../../src/client/index.js");
  await requireNames(about);
  const { connectTimeoutMs: timeoutMs, ...nodes } = access;
  const asked = async (): Promise<T> => {
    await using admin = await connectAdmin({ ...nodes, timeoutMs, ...(signal && { signal }) });
    return await ask(admin);
  };
  return withOutageReport(asked(), access);
}

/** Like `askCluster`, for `work` that the leader may refuse because of the state of the cluster. */
export function withAdmin<T>(
  access: ClusterAccess,
  work: (admin: Admin) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const working = async (admin: Admin): Promise<T> => {
    try {
      return await work(admin);
    } catch (error) {
      throw operatingFailure(error);
    }
  };
  return askCluster(access, working, undefined, signal);
}

/**
 * The arguments were checked before the request was sent: what the leader calls invalid is
 * well-formed, but not possible in the current state.
 */
function operatingFailure(error: unknown): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "INVALID_ARGUMENT") return error;
  return new Failure(EXIT.refused, failureOf(error).message, { cause: error });
}

/** Runs `ask` with a client and always closes it. */
export async function withClient<T>(
  access: ClusterAccess,
  ask: (client: Client) => Promise<T>,
  { about, outage, ...options }: AskOptions = {},
): Promise<T> {
  const { connect } = await import("../../src/client/index.js");
  await requireNames(about);
  const name = `${hostname()} holdfast ${process.pid}`;
  const asked = async (): Promise<T> => {
    await using client = await connect({ ...access, name, ...options });
    return await ask(client);
  };
  return withOutageReport(asked(), access, outage);
}

async function requireNames({ key, prefix, identity, label }: About = {}): Promise<void> {
  const { requireIdentity, requireLabel, requirePrefix, requireTableKey } = await import(
    "../../src/client/index.js"
  );
  if (identity !== undefined) requireIdentity(identity);
  if (label !== undefined) requireLabel(label);
  if (key !== undefined) requireTableKey(key);
  if (prefix !== undefined) requirePrefix(prefix);
}
