/** All nemeses by name, both built-in ones and the ones in a run's modules. */
import { loadNamed } from "../harness/load-module.js";
import { clock, clockRate, killClients, pauseClients } from "./clients.js";
import { damage, diskFull, powerLoss } from "./disks.js";
import { membership, replace, transfer } from "./leadership.js";
import type { Nemesis } from "./nemesis.js";
import { cutHandOvers, partition, partitionClients, slow } from "./network.js";
import { kill, outOfMemory, pause, pauseKill, restart, slowCpu } from "./processes.js";

export const NEMESES: readonly Nemesis[] = [
  kill,
  pause,
  pauseKill,
  slowCpu,
  pauseClients,
  killClients,
  partition,
  partitionClients,
  cutHandOvers,
  slow,
  restart,
  transfer,
  membership,
  replace,
  clock,
  clockRate,
  damage,
  diskFull,
  powerLoss,
  outOfMemory,
];

/** `modules`: files that export a `nemesis`. Throws `UsageError` for an unknown name. */
export function findNemeses(
  names: readonly string[],
  modules: readonly string[],
): Promise<Nemesis[]> {
  return loadNamed("nemesis", NEMESES, names, modules);
}
