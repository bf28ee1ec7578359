export { type AssembledDriver, assembleDriver } from "./assemble-driver.js";
export { computeClusterId } from "./cluster-id.js";
export {
  type HostPort,
  NODE_TUNING_DEFAULTS,
  type NodeOptions,
  type NodeTuning,
  type RunningNode,
} from "./options.js";
export type { Logger } from "./ports.js";
export { resolveOptions, resolveTuning } from "./resolve-options.js";
export { startNode } from "./start-node.js";
export { VERSION } from "./version.js";
