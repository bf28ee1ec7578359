/**
 * Histories of other tools, and other models. Only the command line of jepsen-lite knows this folder: it
 * is not needed to attack a cluster, and uses nothing but the entry point of the checker.
 */
export { CHECK_EXIT, checkCommand, runCheck } from "./check.js";
export { MODEL_NAMES, modelNamed } from "./models.js";
export { type ReadHistory, readHistory, readHistoryFile } from "./read-history.js";
