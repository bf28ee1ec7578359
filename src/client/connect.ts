/**
 * From options to a client that is connected and has a session.
 */
import { type Client, HoldfastClient } from "./client.js";
import {
  type ClientSettings,
  type ConnectOptions,
  resolveConnectOptions,
} from "./options/connect-options.js";
import type { Owner } from "./options/owner.js";
import { Session } from "./session/session.js";
import { loadPlatform } from "./transport/load-platform.js";
import type { Platform, TaskContext } from "./transport/platform.js";

/**
 * Connects to a cluster and opens a session. An idle client does not keep the process running; one
 * that holds or waits for a lock does.
 *
 * From then on the client finds its way by itself. While no node can be reached, or the cluster has
 * no leader, calls wait and are sent as soon as somebody serves: in rounds over all nodes, with
 * pauses between them that grow from 20 to 1,000 ms, each of a length at random between half and all
 * of that. What became of commands without an answer is asked then, and only what was certainly not
 * carried out is sent again; reads are asked again. Nothing is tried longer than its caller waits:
 *
 * - an acquire until `waitMs` (`LOCK_TIMEOUT`), and without one until there is a cluster again; what
 *   waits in the cluster keeps its place as long as the session lives, else `SESSION_EXPIRED`;
 * - a try, a read or any other command for `connectTimeoutMs`, then `UNAVAILABLE`. Its
 *   `details.indeterminate` says whether the command may have been carried out all the same: true
 *   once it was sent and not refused. A try is never held in secret: what it is granted after that
 *   is given back;
 * - a command that a node has no room for, or the leader's disk, is sent again after pauses that grow
 *   from 20 to 1,000 ms, give or take a half, for a TTL, then `BUSY` or `DISK_FULL`: it was certainly
 *   not carried out. What gives something back goes on in the meantime, and is refused last;
 * - a release until the lease is over, `close` for a third of the TTL and at most 3,000 ms.
 *
 * Held locks are given up by the client's own count before the cluster can grant them to others:
 * `lock.signal` is aborted a tenth of the TTL, at least 250 ms, before the lease that the cluster
 * last confirmed could end; with no leader too, though the table's clock stands still then. The
 * count includes the time in which the machine was suspended, so that a sleep ends leases and does
 * not stretch them. Node tells that from a clock of its own, on Linux, macOS and Windows; elsewhere,
 * in browsers above all, a step of the wall clock forward counts as sleep and may end them early.
 * Clocks that all stand still at once, as in a virtual machine that is paused, or that run more than
 * a tenth slow, are covered by fencing only. A process that was stopped for longer
 * finds its locks lost as soon as any of its code looks: the signal is aborted before anything else
 * happens, and what it gave up stays given up, whatever the table still has. The session goes on if
 * it lives, else the next call opens another.
 *
 * @throws {HoldfastError} `UNAVAILABLE` when no node served within `connectTimeoutMs`; `TAKEN_OVER` when
 *   another process has the session to be resumed;
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
  let context: TaskContext<Owner> | undefined;
  if (settings.ownerFromContext) {
    context = await platform.loadTaskContext?.();
    if (context === undefined) throw new TypeError("ownerFromContext needs Node");
  }
  // Behind all that was awaited: nobody is told by a signal that was aborted before.
  settings.signal?.throwIfAborted();
  const ports = context === undefined ? platform : outsideOfTasks(platform, context);
  const session = new Session(ports, settings, context);
  await session.open(settings.signal);
  if (settings.releaseOnExit && platform.onExit !== undefined) {
    const undo = platform.onExit(() => session.close());
    session.closed.addEventListener("abort", undo, { once: true });
  }
  return new HoldfastClient(session);
}

/**
 * Timers and sockets of a client serve all of its tasks, whichever of them was running when they
 * were made: what they call, listeners of signals above all, belongs to none.
 */
function outsideOfTasks(platform: Platform, context: TaskContext<Owner>): Platform {
  const outside = <Result>(work: () => Result): Result => context.run(undefined, work);
  const { sinceBootMs } = platform;
  return {
    ...(sinceBootMs === undefined ? {} : { sinceBootMs: () => sinceBootMs.call(platform) }),
    monotonicMs: () => platform.monotonicMs(),
    wallMs: () => platform.wallMs(),
    random: () => platform.random(),
    randomBytes: (target) => platform.randomBytes(target),
    soon: (task) => outside(() => platform.soon(task)),
    setTimer: (delayMs, task) => outside(() => platform.setTimer(delayMs, task)),
    open: (url, events) => outside(() => platform.open(url, events)),
  };
}
