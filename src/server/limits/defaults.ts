/**
 * The limits of clients if the operator set none. No honest client should reach them: one identity
 * or address gets at most three quarters of anything that a node has a fixed amount of, so that
 * there is always room for another. Commands are not limited: how much a node can do depends on its
 * machine, so what an identity may send is a share of the loop's time (`net/meter`), and a rate is
 * for operators who want one.
 */
import type { ClientLimits } from "../options.js";

const SHARE = 3 / 4;
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
    commandsPerSecondMax: limit("commandsPerSecondMax", Number.POSITIVE_INFINITY),
    readCostPerSecondMax: limit("readCostPerSecondMax", READ_COST_PER_SECOND_MAX),
    watchesMax: limit("watchesMax", Math.ceil(room.watchesMax * SHARE)),
    unfinishedBytesMax: limit("unfinishedBytesMax", Math.ceil(room.unfinishedBytesMax * SHARE)),
  });
}
