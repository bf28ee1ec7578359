/** Makes a client from options: connected, and with a session. */
import { type Client, HoldfastClient } from "./client.js";
import {
  type ClientSettings,
  type ConnectOptions,
  resolveConnectOptions,
} from "./options/connect-options.js";
import type { Task } from "./options/task.js";
import { SessionMachine } from "./session/session-machine.js";
import { loadPlatform } from "./transport/load-platform.js";
import type { Platform, TaskContext } from "./transport/platform.js";
import type { ConnectTrace, Tracing } from "./transport/tracing.js";

/**
 * Connects to a cluster and opens a session. An idle client does not keep the process running; one
 * that holds or waits for a lock does.
 *
 * After that the client reconnects by itself. While no node can be reached, or the cluster has no
 * leader, calls wait and are sent as soon as a node serves them. The client tries all nodes in
 * rounds, with pauses between the rounds that grow from 20 to 1,000 ms; each lasts a random time
 * between half and all of that. Then the client asks for the fate of commands without an answer,
 * and repeats only those that were certainly not carried out; reads are repeated. Nothing is tried
 * for longer than its caller waits:
 *
 * - an acquire until `waitMs` (`LOCK_TIMEOUT`), or without it until the cluster is back; a request
 *   that waits in the cluster keeps its place while the session lives, otherwise `SESSION_EXPIRED`;
 * - a try, a read or any other command for `connectTimeoutMs`, then `UNAVAILABLE`.
 *   `details.indeterminate` says whether the command may have been carried out: true if it was sent
 *   and not refused. If a try is granted after its caller was rejected, the client releases it;
 * - a command for which a node, or the leader's disk, has no room is sent again after pauses that
 *   grow from 20 to 1,000 ms, jittered by half, for a TTL; then `BUSY` or `DISK_FULL`: it was
 *   certainly not carried out. Commands that give something back go on in the meantime, and are the
 *   last to be refused;
 * - a release until the lease is over, `close` for the TTL and at most 5,000 ms.
 *
 * The client gives up a held lock, by its own clock, before the cluster can grant it to others:
 * `lock.signal` is aborted a tenth of the TTL, at least 250 ms, before the earliest end of the
 * lease that the cluster last confirmed. This is so even without a leader, although the table's
 * clock stands still then. The client's clock includes the time in which the machine was suspended,
 * so that a sleep ends leases instead of extending them. On Linux, macOS and Windows, Node has a
 * clock that counts this time. Elsewhere, especially in browsers, every forward step of the wall
 * clock counts as sleep and may end leases early. Only fencing covers clocks that all stand still
 * at once, as in a paused virtual machine, or that run more than a tenth slow. In a process that
 * was stopped for longer, locks are lost as soon as any of its code looks at them: the signal is
 * aborted before anything else happens, and the locks stay lost even if the table still has them.
 * The session goes on if it still lives, otherwise the next call opens another one.
 *
 * @throws {HoldfastError} `UNAVAILABLE` when no node served within `connectTimeoutMs`;
 *   `INVALID_ARGUMENT` for a name or metadata that the cluster would refuse, and for `ca`, `cert` or `key` that cannot be used;
 *   `PROTOCOL`, `UNAUTHENTICATED` or `FORBIDDEN` when the cluster refuses this client
 * @throws {TypeError | RangeError} for options of a wrong type or beyond their limits
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const settings = resolveConnectOptions(options);
  return connectOn(await loadPlatform(settings), settings);
}

/** The same on a given platform, such as the simulator's. */
export async function connectOn(platform: Platform, settings: ClientSettings): Promise<Client> {
  let context: TaskContext<Task> | undefined;
  if (settings.taskFromContext) {
    context = await platform.loadTaskContext?.();
    if (context === undefined) throw new TypeError("taskFromContext needs Node");
  }
  // After everything that was awaited: a signal that is aborted already fires no event.
  settings.signal?.throwIfAborted();
  const ports = context === undefined ? platform : outsideOfTasks(platform, context);
  const session = new SessionMachine(ports, settings, context);
  await open(session, settings, platform.tracing);
  if (settings.releaseOnExit && platform.onExit !== undefined) {
    const undo = platform.onExit(() => session.close());
    session.closed.addEventListener("abort", undo, { once: true });
  }
  return new HoldfastClient(session);
}

/** The same over connections that `open` makes, such as those within the process of a node. */
export async function connectThrough(
  open: Platform["open"],
  settings: ClientSettings,
): Promise<Client> {
  return connectOn({ ...(await loadPlatform(settings)), open }, settings);
}

async function open(
  session: SessionMachine,
  { endpoints, name, signal }: ClientSettings,
  tracing: Tracing | undefined,
): Promise<void> {
  // Before observers: what they bind to this call must not belong to the socket, which outlives it.
  const opened = session.open(signal);
  if (tracing?.connect.hasSubscribers !== true) return opened;
  const context: ConnectTrace = { operation: "connect", endpoints, name };
  return tracing.connect.trace(context, async () => {
    await opened;
    context.endpoint = session.endpoint;
    context.session = session.id;
  });
}

/**
 * Timers and sockets of a client serve all of its tasks, whichever task was running when they were
 * made. So their callbacks, such as listeners of signals, run in no task.
 */
function outsideOfTasks(platform: Platform, context: TaskContext<Task>): Platform {
  const outside = <Result>(work: () => Result): Result => context.run(undefined, work);
  const { sinceBootMs, tracing, warn, allowListeners } = platform;
  return {
    ...(sinceBootMs === undefined ? {} : { sinceBootMs: () => sinceBootMs.call(platform) }),
    ...(tracing === undefined ? {} : { tracing }),
    ...(allowListeners === undefined
      ? {}
      : { allowListeners: (signal) => allowListeners.call(platform, signal) }),
    ...(warn === undefined ? {} : { warn: (text) => warn.call(platform, text) }),
    monotonicMs: () => platform.monotonicMs(),
    wallMs: () => platform.wallMs(),
    random: () => platform.random(),
    randomBytes: (target) => platform.randomBytes(target),
    sha256: (bytes) => platform.sha256(bytes),
    soon: (task) => outside(() => platform.soon(task)),
    setTimer: (delayMs, task) => outside(() => platform.setTimer(delayMs, task)),
    open: (url, events) => outside(() => platform.open(url, events)),
  };
}
