/**
 * The interface of the language that clients and the table speak.
 *
 * - `commands`, `questions`: what clients send; `replies`, `views`: what they receive
 * - `codec`: those as bytes; `schema.ts` in it declares the fields of every request,
 *   `message-layout.ts` the fields of every message
 * - `batch`: the commands of one log entry; `cluster-time`: its stamp
 * - `limits`, `text-rules`, `lock-names`: which values are allowed; `log-level`: the levels of a log
 * - `sha256`: the digest that stands for a secret; `model-version`: what nodes must agree on
 */
export * from "./batch.js";
export * from "./cluster-time.js";
export {
  decodeCommands,
  decodeFrame,
  decodeOperation,
  type RequestSink,
} from "./codec/decode-request.js";
export { writeRequest } from "./codec/encode-request.js";
export { valueBytesOf } from "./codec/kinds.js";
export { serverMessage } from "./codec/message-layout.js";
export { type Origin, withOrigin } from "./codec/origin.js";
export { readPlainReply } from "./codec/plain-reply.js";
export {
  MessagePositionReader,
  type MessageSource,
  type ResultSource,
} from "./codec/position-reader.js";
export { NESTING_MAX, Reader } from "./codec/reader.js";
export { FIRST_ERROR, isStatus, resultCodec } from "./codec/result-layout.js";
export { writeServerMessage } from "./codec/write-server-message.js";
export { Writer } from "./codec/writer.js";
export * from "./commands.js";
export * from "./limits.js";
export {
  escapeName,
  keyOfLockName,
  keyOfRedisName,
  LOCK_NAME_BYTES_MAX,
  lockNameOf,
  redisNameOf,
  unescapeName,
} from "./lock-names.js";
export * from "./log-level.js";
export { MODEL_VERSION } from "./model-version.js";
export { ProtocolError } from "./protocol-error.js";
export * from "./questions.js";
export * from "./replies.js";
export { digestOf, digestOfBytes } from "./sha256.js";
export {
  isValidAccessToken,
  isValidAddress,
  isValidIdentityName,
  isValidKey,
  isValidLabel,
  isValidMetadata,
  isValidPrefix,
  isValidReason,
  isValidSessionName,
  isValidSettingName,
  isValidTableKey,
  isValidValue,
  type TextRule,
} from "./text-rules.js";
export * from "./views.js";
