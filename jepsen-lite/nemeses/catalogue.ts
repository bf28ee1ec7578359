/** All nemeses by name, those that come with the harness and those that a run brings along. */
import { loadNamed } from "../load-module.js";
import { clock, killClients, pauseClients } from "./clients.js";
import { damage, diskFull } from "./disks.js";
import { membership, transfer } from "./leadership.js";
import type { Nemesis } from "./nemesis.js";
import { partition, partitionClients, slow } from "./networking.js";
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

/** `modules`: files that export a `nemesis`. Throws `UsageError` for a name that nobody has. */
export function findNemeses(
  names: readonly string[],
  modules: readonly string[],
): Promise<Nemesis[]> {
  return loadNamed("nemesis", NEMESES, names, modules);
}
