/** What the Redis door knows of Lua: what a call of a lock script means for keys as they are. */
export {
  type KeyEffect,
  type KnownKey,
  type LockEffect,
  lockRecordsIn,
} from "./imagined-keys.js";
export {
  KNOWN_SCRIPTS,
  knownScript,
  type ScriptOfClient,
  type SemaphoreScript,
} from "./known-scripts.js";
export { LockScript, type Meaning } from "./lock-script.js";
export { NeedsKey, NeedsLook, NotServed, OtherDatabase } from "./lua-value.js";
export { checkScript, type ScriptCheck } from "./script-check.js";
export { ScriptLibrary } from "./script-library.js";
export type { ScriptReply } from "./script-reply.js";
