export type { Credential } from "./records/identity.js";
export type { RefoundOptions } from "./snapshot/refound.js";
export { Fifo } from "./structures/fifo.js";
export { LockTable, type Viewer } from "./table.js";
export { TableRestore } from "./table-restore.js";
export { TOKEN_FLOOR_MAX } from "./token-counter.js";
export * from "./types.js";
export { whoAmI } from "./views/access-views.js";
