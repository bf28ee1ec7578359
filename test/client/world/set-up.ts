/** The usual set-up of tests of the SDK, and how they wait for an error. */
import { HoldfastError } from "../../../src/errors/index.js";
import { SimulatedWorld } from "./simulated-world.js";
import { TableServer } from "./table-server.js";

export function setUp(seed = 1, nodeCount = 3): { world: SimulatedWorld; server: TableServer } {
  const world = new SimulatedWorld(seed);
  return { world, server: new TableServer(world, nodeCount) };
}

/** The reason with which `promise` rejects, in simulated time. */
export async function rejection(
  world: SimulatedWorld,
  promise: Promise<unknown>,
  limitMs?: number,
): Promise<unknown> {
  try {
    await world.until(promise, limitMs);
  } catch (reason) {
    return reason;
  }
  throw new Error("it did not reject");
}

export async function failure(
  world: SimulatedWorld,
  promise: Promise<unknown>,
  limitMs?: number,
): Promise<HoldfastError> {
  const reason = await rejection(world, promise, limitMs);
  if (reason instanceof HoldfastError) return reason;
  throw reason;
}

/** The counts of a table in which nothing is left. */
export const EMPTY = { sessions: 0, keys: 0, holds: 0, waiters: 0, cooldowns: 0 };
