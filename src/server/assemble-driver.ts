/**
 * Puts core, table and driver of one group together, the same way in production and in simulation.
 */
import { LockTable } from "../lockfsm/index.js";
import { type NodeId, Raft, type Random } from "../raft/index.js";
import { Driver } from "./driver.js";
import type { DriverOptions, DriverPorts } from "./driver-ports.js";

export interface DriverWorld extends Omit<DriverPorts, "raft" | "table"> {
  /** Seeds the election timeouts. */
  readonly random: Random;
}

export interface AssembledDriver {
  readonly driver: Driver;
  readonly raft: Raft;
  readonly table: LockTable;
}

export function assembleDriver(options: DriverOptions, world: DriverWorld): AssembledDriver {
  const { nodeId, voters, tuning } = options;
  const configuration = { voters: sorted(voters), outgoing: [], learners: [] };
  const boot = { ...world.log.boot, configuration };
  const raft = new Raft({ id: nodeId, ...tuning }, boot, world.random);
  const table = new LockTable();
  const driver = new Driver(options, { ...world, raft, table });
  return { driver, raft, table };
}

function sorted(ids: readonly NodeId[]): NodeId[] {
  return [...ids].sort((a, b) => a - b);
}
