export * from "./batch.js";
export * from "./commands.js";
export {
  decodeCommand,
  decodeCommands,
  decodeFrame,
  decodeOperation,
  type RequestSink,
} from "./decode-request.js";
export { encodeCommand, writeRequest } from "./encode-request.js";
export * from "./limits.js";
export { keyOfLockName, LOCK_NAME_BYTES_MAX, lockNameOf } from "./lock-names.js";
export { ProtocolError } from "./protocol-error.js";
export * from "./questions.js";
export { NESTING_MAX, Reader } from "./reader.js";
export * from "./replies.js";
export {
  isValidAddress,
  isValidKey,
  isValidMetadata,
  isValidPrefix,
  isValidReason,
  isValidSessionName,
  isValidSettingName,
  isValidTableKey,
  isValidValue,
} from "./text-rules.js";
export * from "./views.js";
export { writeServerMessage } from "./write-server-message.js";
export { Writer } from "./writer.js";
