/**
 * The only import of Holdfast in this folder: the public SDK and nothing else of `src`. A node is
 * run by the built command (`cluster/node-process.ts`), never by its sources.
 */
export * from "../src/index.js";
