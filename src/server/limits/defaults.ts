/**
 * The limits of clients that nobody set. No honest client should meet them: rates are above what a
 * node can do for all its clients together, and of what a node has only so much of, one identity or
 * address gets three quarters, so that there is always room for another.
 */
import { HoldfastError } from "../../errors.js";
import type { ClientLimits } from "../options.js";
import { NO_LIMITS } from "./usage.js";

const SHARE = 3 / 4;
/**
 * More acquires and releases than a node with a thousand busy workers executes. A lower default would
 * not help others: on a closed cluster identities take turns in entries and in reads, and each has
 * only part of the room for what waits. So beyond its turns an identity costs others no more than
 * what it takes to read, decode and keep or refuse its commands. Reading and decoding take 1.05 us
 * each, measured; with the rest it is some 2 us, so a tenth of the node's time for as many as this.
 */
const COMMANDS_PER_SECOND_MAX = 50_000;
/** Nearly 500 pages of lists, or 20,000 keys with a few holds each. */
const READ_COST_PER_SECOND_MAX = 500_000;

/** What a node has for all its clients together. */
export type NodeRoom = Pick<ClientLimits, "connectionsMax" | "watchesMax" | "unfinishedBytesMax">;

/** With `Infinity` for each limit that is 0, which means that there is none. */
export function clientLimits(given: Partial<ClientLimits>, room: NodeRoom): ClientLimits {
  const limit = (name: keyof ClientLimits, byDefault: number): number => {
    const value = given[name] ?? byDefault;
    return value === 0 ? Number.POSITIVE_INFINITY : value;
  };
  return Object.freeze({
    connectionsMax: limit("connectionsMax", Math.ceil(room.connectionsMax * SHARE)),
    commandsPerSecondMax: limit("commandsPerSecondMax", COMMANDS_PER_SECOND_MAX),
    readCostPerSecondMax: limit("readCostPerSecondMax", READ_COST_PER_SECOND_MAX),
    watchesMax: limit("watchesMax", Math.ceil(room.watchesMax * SHARE)),
    unfinishedBytesMax: limit("unfinishedBytesMax", Math.ceil(room.unfinishedBytesMax * SHARE)),
  });
}

/** @throws {HoldfastError} `INVALID_ARGUMENT` if a limit has no such name, or cannot have that value */
export function demandLimits(option: string, given: Partial<ClientLimits>): void {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(NO_LIMITS, name)) {
      throw new HoldfastError("INVALID_ARGUMENT", `${option} has no limit ${name}`);
    }
    if (!Number.isSafeInteger(value) || value < 0) {
      const message = `${option} ${name} ${value} is not a whole number from 0, which means no limit`;
      throw new HoldfastError("INVALID_ARGUMENT", message);
    }
  }
}
