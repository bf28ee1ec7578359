export { TABLE_SETTINGS_DEFAULTS } from "./settings.js";
export { LockTable } from "./table.js";
export * from "./types.js";
