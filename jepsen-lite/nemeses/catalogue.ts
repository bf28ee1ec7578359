/** All nemeses by name, both built-in ones and those of a run's modules. */
import { loadNamed } from "../load-module.js";
import { clock, killClients, pauseClients } from "./clients.js";
import { damage, diskFull } from "./disks.js";
import { membership, transfer } from "./leadership.js";
import type { Nemesis } from "./nemesis.js";
import { partition, partitionClients, slow } from "./network.js";
import { kill, pause, restart } from "./processes.js";

export const NEMESES: readonly Nemesis[] = [
  kill,
  pause,
  pauseClients,
  killClients,
  partition,
  partitionClients,
  slow,
  restart,
  transfer,
  membership,
  clock,
  damage,
  diskFull,
];

/** `modules`: files that export a `nemesis`. Throws `UsageError` for an unknown name. */
export function findNemeses(
  names: readonly string[],
  modules: readonly string[],
): Promise<Nemesis[]> {
  return loadNamed("nemesis", NEMESES, names, modules);
}
