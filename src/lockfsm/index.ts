export { LockTable } from "./table.js";
export { TableRestore } from "./table-restore.js";
export * from "./types.js";
