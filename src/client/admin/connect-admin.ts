/** Makes an `Admin` from options, once it has found its cluster. */
import {
  type AdminSettings,
  type ConnectAdminOptions,
  resolveAdminOptions,
} from "../options/operator-options.js";
import { loadPlatform } from "../transport/load-platform.js";
import type { Platform } from "../transport/platform.js";
import type { ConnectTrace, Tracing } from "../transport/tracing.js";
import { type Admin, ClusterAdmin } from "./admin.js";
import { AdminConnection } from "./admin-connection.js";

/**
 * Finds a cluster to operate. Opens no session. An `Admin` keeps the process running only while a
 * request is open.
 *
 * @throws {HoldfastError} `UNAVAILABLE` when no node answered within `timeoutMs`; `INVALID_ARGUMENT` for
 *   a `token`, `ca`, `cert` or `key` that cannot be used; `PROTOCOL`, `UNAUTHENTICATED` or `FORBIDDEN` when the
 *   cluster refuses this client
 * @throws {TypeError | RangeError} for options of a wrong type or beyond their limits
 */
export async function connectAdmin(options: ConnectAdminOptions = {}): Promise<Admin> {
  const settings = resolveAdminOptions(options);
  return connectAdminOn(await loadPlatform(settings), settings);
}

/** The same on a given platform, such as the simulator's. */
export async function connectAdminOn(platform: Platform, settings: AdminSettings): Promise<Admin> {
  settings.signal?.throwIfAborted();
  const connection = new AdminConnection(platform, settings);
  await open(connection, settings, platform.tracing);
  return new ClusterAdmin(connection, platform);
}

function open(
  connection: AdminConnection,
  { endpoints, signal }: AdminSettings,
  tracing: Tracing | undefined,
): Promise<void> {
  // Before observers: what they bind to this call must not belong to the socket, which outlives it.
  const opened = connection.open(signal);
  if (tracing?.connect.hasSubscribers !== true) return opened;
  const context: ConnectTrace = { operation: "connectAdmin", endpoints, name: "" };
  return tracing.connect.trace(context, async () => {
    await opened;
    context.endpoint = connection.endpoint;
  });
}
