/** All workloads by name, those that come with the harness and those that a run brings along. */

import { loadModule } from "../load-module.js";
import { nearestNames } from "../nearest-names.js";
import { RefusedError } from "../refused-error.js";
import { election } from "./election.js";
import { guarded, unfenced } from "./guarded.js";
import { heirs } from "./heirs.js";
import { multi } from "./multi.js";
import { mutex } from "./mutex.js";
import { queue } from "./queue.js";
import { reentrant } from "./reentrant.js";
import { register } from "./register.js";
import { rw } from "./rw.js";
import { semaphore } from "./semaphore.js";
import { sessions } from "./sessions.js";
import type { Workload } from "./workload.js";

export const WORKLOADS: readonly Workload[] = [
  mutex,
  rw,
  semaphore,
  multi,
  queue,
  election,
  reentrant,
  sessions,
  heirs,
  register,
  guarded,
  unfenced,
];

/** `modules`: files that export a `workload`. Throws `RefusedError` for a name that nobody has. */
export async function findWorkloads(
  names: readonly string[],
  modules: readonly string[],
): Promise<Workload[]> {
  const own = await Promise.all(modules.map((file) => loadModule<Workload>(file, "workload")));
  const all = [...WORKLOADS, ...own];
  const wanted = [...names, ...own.map(({ name }) => name)];
  return [...new Set(wanted)].map((name) => {
    const found = all.find((workload) => workload.name === name);
    if (found !== undefined) return found;
    throw new RefusedError(
      `unknown workload ${JSON.stringify(name)}${nearestNames(name, all)}: there are ${all
        .map((workload) => workload.name)
        .join(", ")}`,
    );
  });
}
