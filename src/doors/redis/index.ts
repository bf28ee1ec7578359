/**
 * The door for lock clients of Redis, which a node opens in addition to its client port. `ports.ts`
 * says what it needs from the node.
 *
 * - `resp`: commands from bytes, and replies as bytes
 * - `commands`: what each command of Redis does here
 * - `pubsub`: who listens to channels, and what is published to them
 * - `scripts`: what a call of a lock script means for keys as they are
 */
export { DoorCallers } from "./callers.js";
export { type ClientPort, RedisDoor, type RedisDoorOptions } from "./door.js";
export type { Caller, DoorCounts, DoorNode, HeldClient, LockClient } from "./ports.js";
export { checkScript, type ScriptCheck } from "./scripts/index.js";
