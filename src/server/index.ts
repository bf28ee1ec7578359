export {
  type AssembledDriver,
  assembleDriver,
  type DriverWorld,
} from "./assemble-driver.js";
export { computeClusterId } from "./cluster-id.js";
export type { Driver } from "./driver.js";
export type { DriverOptions, DriverPorts, DriverStatus } from "./driver-ports.js";
export {
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeOptions,
  type NodeTuning,
  type RunningNode,
} from "./options.js";
export type { Clock, Logger, LogLevel, Scheduler } from "./ports.js";
export { type ResolvedOptions, resolveOptions, resolveTuning } from "./resolve-options.js";
export { startNode } from "./start-node.js";
export { VERSION } from "./version.js";
