/** All workloads by name, both built-in ones and the ones in a run's modules. */

import { loadNamed } from "../harness/load-module.js";
import { aborts } from "./aborts.js";
import { identities } from "./access/identities.js";
import { guarded, unfenced } from "./guarded.js";
import { handOvers, heirs } from "./hand-over/heirs.js";
import { leases } from "./leases/leases.js";
import { polls } from "./leases/polls.js";
import { election } from "./locks/election.js";
import { endings } from "./locks/endings.js";
import { multi } from "./locks/multi.js";
import { mutex } from "./locks/mutex.js";
import { queue } from "./locks/queue.js";
import { reentrant } from "./locks/reentrant.js";
import { rw } from "./locks/rw.js";
import { semaphore } from "./locks/semaphore.js";
import { sessions } from "./locks/sessions.js";
import { redis } from "./redis/redis.js";
import { register } from "./register.js";
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
