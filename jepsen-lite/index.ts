/** The types that custom workloads and nemeses need. */
export type { Fault, Nemesis, NemesisSetting, Target } from "./nemeses/nemesis.js";
export { acquire, grantOf, hold, release } from "./workloads/lock-operations.js";
export type {
  HeldLock,
  Operation,
  PlainLocks,
  PlainWorker,
  StoreCalls,
  Worker,
  Workload,
  WorkloadModel,
} from "./workloads/workload.js";
