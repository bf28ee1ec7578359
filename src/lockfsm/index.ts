export { LockTable } from "./table.js";
export * from "./types.js";
