export * from "./batch.js";
export * from "./commands.js";
export * from "./limits.js";
export * from "./replies.js";
