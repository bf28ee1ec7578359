/**
 * How a request fails: as `application/problem+json` (RFC 9457) with Holdfast's error code and one
 * sentence. The status says to generic clients and proxies whether to repeat: 408 and 410 are never
 * used, because clients repeat the first by themselves, and take the second for a loss.
 */
import { type ErrorCode, HoldfastError } from "../../errors/index.js";
import { problemText } from "../../net/index.js";

/** Statuses that mean the same to every client of HTTP. */
const STATUSES: Readonly<Record<ErrorCode, number>> = Object.freeze({
  LOCK_HELD: 409,
  LOCK_TIMEOUT: 409,
  LOCK_LOST: 409,
  DEADLOCK: 409,
  QUEUE_FULL: 429,
  WRONG_KIND: 409,
  LIMIT_MISMATCH: 409,
  NOT_HELD: 409,
  STALE_TOKEN: 409,
  SESSION_EXPIRED: 503,
  TOO_MANY_IN_FLIGHT: 429,
  QUOTA: 429,
  BUSY: 503,
  UNAVAILABLE: 503,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  INVALID_ARGUMENT: 400,
  PROTOCOL: 500,
  DISK_FULL: 503,
  COMPACTED: 409,
  INTERNAL: 500,
  CANCELLED: 409,
  TOKENS_EXHAUSTED: 503,
  UNKNOWN_IDENTITY: 404,
  LAST_ADMIN: 409,
  OUTDATED_ORDER: 409,
});

/** The outcome is not known; repeating the same request finds out. */
const INDETERMINATE_STATUS = 504;
/** With these the same request may be repeated, after a while. */
const LATER: ReadonlySet<number> = new Set([429, 503]);
const RETRY_AFTER_SECONDS = "1";

type Headers = Readonly<Record<string, string>>;

/** An answer that is not a success. */
export class Problem extends Error {
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Headers;

  constructor(
    status: number,
    code: ErrorCode,
    sentence: string,
    headers: Headers = {},
    details?: Readonly<Record<string, unknown>>,
  ) {
    super(sentence);
    this.status = status;
    this.code = code;
    this.details = details;
    this.headers = LATER.has(status) ? { "Retry-After": RETRY_AFTER_SECONDS, ...headers } : headers;
  }

  get body(): string {
    const { status, code, message: detail, details } = this;
    return problemText({ status, code, detail, details });
  }
}

export function badRequest(sentence: string): Problem {
  return new Problem(400, "INVALID_ARGUMENT", sentence);
}

export function stopping(): Problem {
  const sentence = "this node is stopping: repeat the request at another node";
  return new Problem(503, "UNAVAILABLE", sentence, { Connection: "close" });
}

/** For an exception that nobody expects. What it says is for the log alone. */
export function internalError(): Problem {
  const sentence = "this node could not handle the request: its log says why";
  return new Problem(500, "INTERNAL", sentence);
}

/**
 * @param isStranger the caller has shown nothing that could prove who it is
 * @returns `undefined` for an exception that nobody expects
 */
export function problemOf(error: unknown, isStranger: boolean): Problem | undefined {
  if (error instanceof Problem) return error;
  if (error instanceof HoldfastError) return ofHoldfast(error, isStranger);
  // The SDK checks arguments, and its message names the one that is wrong.
  if (error instanceof TypeError || error instanceof RangeError) return badRequest(error.message);
  return undefined;
}

function ofHoldfast({ code, message, details }: HoldfastError, isStranger: boolean): Problem {
  if (code === "UNAUTHENTICATED" || (code === "FORBIDDEN" && isStranger)) {
    const reason = details["reason"];
    const sentence = typeof reason === "string" ? reason : message;
    return new Problem(401, code, sentence, { "WWW-Authenticate": "Bearer" });
  }
  const isIndeterminate = details["indeterminate"] === true;
  const status = isIndeterminate ? INDETERMINATE_STATUS : STATUSES[code];
  const sentence = isIndeterminate
    ? `${message}; it may have been carried out: repeat the same request to find out`
    : message;
  return new Problem(status, code, sentence, {}, details);
}
