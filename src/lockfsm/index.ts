export type { RefoundOptions } from "./snapshot/refound.js";
export { LockTable } from "./table.js";
export { TableRestore } from "./table-restore.js";
export { TOKEN_FLOOR_MAX } from "./token-counter.js";
export * from "./types.js";
