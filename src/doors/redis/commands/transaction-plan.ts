/**
 * What EXEC does with the commands of a transaction: it must be one step of the table, so that what was
 * seen and what was done are of one moment. That is one command by itself; one command on the one key
 * that is watched, which counts if the key still is as GET told; and a take that EXPIRE gives its time.
 * Everything else is refused, and nothing is done.
 */

import type { ConnectionState } from "../connection-state.js";
import { redisKeyOf, tableKeyOf } from "../names.js";
import { RefusedCommand } from "../refusals.js";
import type { RespReply } from "../resp/index.js";
import type { QueuedCommand, Steps } from "../transaction.js";
import { TakeWithExpiry } from "./take-with-expiry.js";
import { WatchedKey } from "./watched-key.js";

/** Begins what is planned; called at once. */
export type Plan = () => RespReply | Promise<RespReply>;

const WHAT =
  "a transaction is answered if it is one command, SETNX and EXPIRE of one key, or one of both " +
  "on the one key that was watched and then asked for with GET";

export function notATransaction(): RefusedCommand {
  return new RefusedCommand(WHAT);
}

/** Throws `RefusedCommand` if neither these commands nor these and a further one can be planned. */
export function prefixPlanOf(connection: ConnectionState, steps: Steps): void {
  const [first, ...more] = steps.commands as [QueuedCommand, ...QueuedCommand[]];
  try {
    const isBegun = more.length === 0 && TakeWithExpiry.isBegunBy(first);
    if (!isBegun) planOf(connection, steps);
    else if (steps.told.size > 0) watchedOf(connection, steps);
  } catch (error) {
    // What Redis finds within EXEC is answered there.
    if (more.length > 0 || !(error instanceof RefusedCommand) || error.code !== "ERR") throw error;
  }
}

/** Throws `RefusedCommand` for what is refused whatever the locks are. */
export function planOf(connection: ConnectionState, steps: Steps): Plan {
  const { commands, told } = steps;
  const [first, second, ...more] = commands;
  if (more.length > 0) throw notATransaction();
  const watched = told.size === 0 ? undefined : watchedOf(connection, steps);
  if (first === undefined) return () => watched?.confirm([]) ?? [];
  if (second !== undefined) {
    const take = TakeWithExpiry.of(first, second, connection.rules);
    if (take === undefined) throw notATransaction();
    return () => (watched === undefined ? take.run(connection) : watched.takeWithExpiry(take));
  }
  if (watched !== undefined)
    return watched.planOf(first.name, first.args.slice(1), connection.rules);
  first.check(first.args);
  return async () => [await first.run(first.args)];
}

/** The key that is watched. Throws unless it is one, GET has told of it, and all commands are on it. */
function watchedOf(connection: ConnectionState, { commands, told }: Steps): WatchedKey {
  const [[tableKey, value] = ["", undefined], ...others] = told;
  const watched = redisKeyOf(tableKey);
  const isOnIt = ({ args: [key] }: QueuedCommand): boolean =>
    key !== undefined && tableKeyOf(connection.database, key) === tableKey;
  if (
    watched === undefined ||
    value === undefined ||
    others.length > 0 ||
    !commands.every(isOnIt)
  ) {
    throw notATransaction();
  }
  return new WatchedKey(connection.locksOf(watched.database), watched.key, value);
}
