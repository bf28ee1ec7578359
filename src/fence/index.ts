/**
 * `holdfast/fence`: guards a resource against holders that come back too late. Knows nothing of
 * clusters or connections, and runs wherever JavaScript does.
 */
export { type ErrorCode, HoldfastError } from "../errors/index.js";
export { type Claim, type ClaimMode, claimOf, type HeldKeys } from "./claim.js";
export { FENCE_HEADER, formatClaim, parseClaim } from "./claim-text.js";
export type { FenceState } from "./fence-state.js";
export {
  type FencedObject,
  type ObjectStore,
  readFenced,
  requireConditionalWrites,
  type StoredObject,
  type WriteCondition,
  writeFenced,
} from "./fenced-object.js";
export { Gate, type GateOptions } from "./gate.js";
export {
  answerTo,
  claimOfRequest,
  type FenceAnswer,
  type FencedRequest,
  type FencedResponse,
  type FenceMiddleware,
  type FenceRequestsOptions,
  fenceRequests,
} from "./http.js";
export { fencedRedis, type RedisCommand, type RedisFence, type RedisSend } from "./redis.js";
export {
  type ObjectFetch,
  type ObjectRequest,
  type ObjectResponse,
  type S3ObjectsOptions,
  s3Objects,
} from "./s3-objects.js";
export { SqlFence, type SqlFenceOptions, type SqlRun, type SqlRunSync } from "./sql-fence.js";
export type { SqlStep } from "./sql-guard.js";
export { type SqlDialect, type SqlExpression, type SqlStatement, sql } from "./sql-text.js";
export type { FenceColumns, FencedChange, FencedUpdate } from "./sql-update.js";
export type { StaleTokenDetails } from "./stale-token.js";
