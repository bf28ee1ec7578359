/** All workloads by name, both built-in ones and those of a run's modules. */

import { loadNamed } from "../load-module.js";
import { aborts } from "./aborts.js";
import { election } from "./election.js";
import { endings } from "./endings.js";
import { guarded, unfenced } from "./guarded.js";
import { handOvers, heirs } from "./heirs.js";
import { identities } from "./identities.js";
import { leases } from "./leases.js";
import { multi } from "./multi.js";
import { mutex } from "./mutex.js";
import { polls } from "./polls.js";
import { queue } from "./queue.js";
import { redis } from "./redis.js";
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
  leases,
  endings,
  aborts,
  polls,
  redis,
  handOvers,
  heirs,
  identities,
  register,
  guarded,
  unfenced,
];

/** `modules`: files that export a `workload`. Throws `UsageError` for an unknown name. */
export function findWorkloads(
  names: readonly string[],
  modules: readonly string[],
): Promise<Workload[]> {
  return loadNamed("workload", WORKLOADS, names, modules);
}
