/** The protocol of Redis: commands from bytes, and replies as bytes. It knows nothing of locks. */
export * from "./reply.js";
export { ProtocolProblem, RespReader } from "./resp-reader.js";
