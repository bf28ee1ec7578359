/**
 * From options to a client that is connected and has a session.
 */
import { HoldfastClient } from "./client.js";
import { loadPlatform } from "./load-platform.js";
import { type ClientSettings, resolveConnectOptions } from "./options.js";
import type { Platform } from "./platform.js";
import { Session } from "./session.js";
import type { Client, ConnectOptions } from "./types.js";

/**
 * Connects to a cluster and opens a session. An idle client does not keep the process running; one
 * that holds or waits for a lock does.
 *
 * @throws {HoldfastError} `UNAVAILABLE` when no node served within `connectTimeoutMs`;
 *   `INVALID_ARGUMENT` for a name or metadata the cluster would not take; `PROTOCOL`,
 *   `UNAUTHENTICATED` or `FORBIDDEN` when the cluster refuses this client
 * @throws {TypeError | RangeError} for options of a wrong type or beyond their limits
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const settings = resolveConnectOptions(options);
  return connectOn(await loadPlatform(), settings);
}

/** The same on a given platform: what a simulator calls. */
export async function connectOn(platform: Platform, settings: ClientSettings): Promise<Client> {
  settings.signal?.throwIfAborted();
  const session = new Session(platform, settings);
  await session.open(settings.signal);
  if (settings.releaseOnExit && platform.onExit !== undefined) {
    const undo = platform.onExit(() => session.close());
    session.closed.addEventListener("abort", undo, { once: true });
  }
  return new HoldfastClient(session);
}
