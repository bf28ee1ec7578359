/** All nemeses by name, those that come with the harness and those that a run brings along. */
import { loadModule } from "../load-module.js";
import { nearestNames } from "../nearest-names.js";
import { RefusedError } from "../refused-error.js";
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

/** `modules`: files that export a `nemesis`. Throws `RefusedError` for a name that nobody has. */
export async function findNemeses(
  names: readonly string[],
  modules: readonly string[],
): Promise<Nemesis[]> {
  const own = await Promise.all(modules.map((file) => loadModule<Nemesis>(file, "nemesis")));
  const all = [...NEMESES, ...own];
  const wanted = [...names, ...own.map(({ name }) => name)];
  return [...new Set(wanted)].map((name) => {
    const found = all.find((nemesis) => nemesis.name === name);
    if (found !== undefined) return found;
    throw new RefusedError(
      `unknown nemesis ${JSON.stringify(name)}${nearestNames(name, all)}: there are ${all
        .map((nemesis) => nemesis.name)
        .join(", ")}`,
    );
  });
}
