/**
 * The door through which this room knows Holdfast: the public SDK and nothing else of `src`. What
 * runs a node is the built command (`cluster/node-process.ts`), never its sources.
 */
export * from "../src/index.js";
