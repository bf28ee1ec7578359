/**
 * Semaphores of redis-semaphore, as what their scripts are for: a permit lasts from the moment at which
 * the cluster gives it, whatever the clock of its client says.
 */
import type { Buffer } from "node:buffer";
import type { ConnectionState } from "./connection-state.js";
import { integerOf } from "./durations.js";
import { RefusedCommand, syntaxError } from "./refusals.js";
import type { RespReply } from "./resp/index.js";
import type { SemaphoreScript } from "./scripts/index.js";

export async function runSemaphore(
  { locks }: ConnectionState,
  script: SemaphoreScript,
  keys: readonly Buffer[],
  args: readonly Buffer[],
): Promise<RespReply> {
  if (keys.length !== 1) throw syntaxError();
  const argument = (at: number | undefined): Buffer => {
    const found = at === undefined ? undefined : args[at];
    if (found === undefined) throw new RefusedCommand("the script has too few arguments", "ERR");
    return found;
  };
  const value = argument(script.identifier);
  const permits = script.permits === undefined ? 1 : integerOf(argument(script.permits));
  if (script.act === "release") {
    return (await locks.release(keys, value)).count === 0 ? 0 : permits;
  }
  const ttlMs = integerOf(argument(script.ttlMs));
  if (ttlMs <= 0) throw new RefusedCommand("a permit must last for a time", "ERR");
  if (script.act === "extend") {
    return (await locks.extend({ keys, value, ttlMs })) === undefined ? 1 : 0;
  }
  const limit = integerOf(argument(script.limit));
  const wish = { keys, value, ttlMs, limit, permits, isRepeatable: true };
  return (await locks.take(wish)) === "taken" ? 1 : 0;
}
