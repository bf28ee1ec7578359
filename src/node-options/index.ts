/**
 * The options of a node, in one table. It is a room of its own because the command line loads it
 * without the node. It imports errors and the levels of a log, and nothing else.
 */
export {
  demand,
  demandGiven,
  demandRelations,
  demandShape,
  demandValue,
  demandValues,
  type GivenOptions,
  listeningAddresses,
  tuningOf,
} from "./demands.js";
export { judgeHostName } from "./judges.js";
export type { KindName, ValueKind } from "./kinds.js";
export type { Row } from "./rows.js";
export {
  NODE_OPTION_ROWS,
  NODE_TUNING_DEFAULTS,
  type NodeSettings,
  type NodeTuning,
  type OptionValue,
  type SettledSettings,
  withDefaults,
} from "./settings.js";
export { FUNCTION, OBJECT, SIGNAL } from "./shapes.js";
export { NODE_OPTIONS, REDIS_RULE_NAMES } from "./table.js";
export {
  CLIENT_LIMIT_NAMES,
  type ClientLimits,
  type HostPort,
  type NodeAddress,
} from "./values.js";
