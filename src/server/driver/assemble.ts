/**
 * Puts core, table and driver of one group together, the same way in production and in simulation.
 */
import { LockTable } from "../../lockfsm/index.js";
import { Raft, type Random } from "../../raft/index.js";
import { Driver } from "./driver.js";
import type { DriverOptions, DriverPorts } from "./driver-ports.js";
import { TracedRaft, type TraceLine } from "./raft-trace.js";

export interface DriverWorld extends Omit<DriverPorts, "raft" | "table"> {
  /** Seeds the election timeouts. */
  readonly random: Random;
  /** Holds the effects of everything up to the snapshot that the log stands on. Default: empty. */
  readonly table?: LockTable;
  /** Takes a line for every transition of the core. Default: none are made. */
  readonly trace?: TraceLine | undefined;
}

export interface AssembledDriver {
  readonly driver: Driver;
  readonly raft: Raft;
  readonly table: LockTable;
}

export function assembleDriver(options: DriverOptions, world: DriverWorld): AssembledDriver {
  const { nodeId, configuration, tuning } = options;
  const { log, random, trace, table = new LockTable() } = world;
  const boot = { ...log.boot, snapshotIndex: log.boot.snapshot?.index ?? 0, configuration };
  const config = { id: nodeId, ...tuning };
  const raft =
    trace === undefined
      ? new Raft(config, boot, random)
      : new TracedRaft(config, boot, random, trace);
  const driver = new Driver(options, { ...world, raft, table });
  return { driver, raft, table };
}
