/** What the Redis door knows of Lua: which lock script a text is, and what it means. */
export { KNOWN_SCRIPTS, type KnownScript, knownScript } from "./known-scripts.js";
export type * from "./meaning.js";
export { meaningOf, recogniseScript } from "./recognise.js";
export { ScriptLibrary } from "./script-library.js";
