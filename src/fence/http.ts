/**
 * Fencing in HTTP: the holder sends its claim in a header, and the service refuses claims that come
 * too late. Only a few members of requests and responses are used, so that `node:http`, Connect,
 * Express and others all fit, and nothing is imported from Node.
 */
import { HoldfastError } from "../errors/index.js";
import type { Claim } from "./claim.js";
import { FENCE_HEADER, parseClaim } from "./claim-text.js";
import type { Gate } from "./gate.js";

/** The part of a request that is read. */
export interface FencedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The part of a response that is used. */
export interface FencedResponse {
  statusCode: number;
  readonly writableEnded?: boolean;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
  once(event: "close", listener: () => void): unknown;
}

export interface FenceRequestsOptions<Request extends FencedRequest> {
  /**
   * The gate of the resource that a request writes to; `undefined` admits the request without a
   * claim, for example a read. The same resource must always have the same gate.
   */
  readonly gateOf: (request: Request) => Gate | undefined;
}

export type FenceMiddleware<Request extends FencedRequest> = (
  request: Request,
  response: FencedResponse,
  next: (error?: unknown) => void,
) => void;

/** The response to a refused request. */
export interface FenceAnswer {
  /** 428: no claim; 400: a malformed claim; 412: a stale token. */
  readonly status: 400 | 412 | 428;
  readonly code: "INVALID_ARGUMENT" | "STALE_TOKEN";
  readonly message: string;
}

/**
 * The claim in a request's headers. Throws `INVALID_ARGUMENT` if it is missing, malformed or given
 * twice; `answerTo` makes a response of that error.
 */
export function claimOfRequest({ headers }: FencedRequest): Claim {
  const value = headers[FENCE_HEADER];
  if (value === undefined) {
    throw new HoldfastError(
      "INVALID_ARGUMENT",
      `a header like "${FENCE_HEADER}: exclusive 42" with the token of the lock is required`,
      { details: { isMissing: true } },
    );
  }
  return parseClaim(Array.isArray(value) ? value.join(", ") : value);
}

/** The response to an error of this module; `undefined` for any other error. */
export function answerTo(error: unknown): FenceAnswer | undefined {
  if (!(error instanceof HoldfastError)) return undefined;
  const { code, message, details } = error;
  if (code === "STALE_TOKEN") return { status: 412, code, message };
  if (code !== "INVALID_ARGUMENT") return undefined;
  return { status: details["isMissing"] === true ? 428 : 400, code, message };
}

/**
 * Middleware that calls `next` only if the gate admits the request's claim, and keeps newer claims
 * waiting until the response has ended, so that two writers never overlap. The gates live as long
 * as the process, so the guarded resource must not live longer; for a database, use the claim in
 * the transaction (`SqlFence`) and read it with `claimOfRequest`.
 */
export function fenceRequests<Request extends FencedRequest>({
  gateOf,
}: FenceRequestsOptions<Request>): FenceMiddleware<Request> {
  return (request, response, next) => {
    let isClosed = false;
    const closed = new Promise<void>((resolve) => {
      response.once("close", () => {
        isClosed = true;
        resolve();
      });
    });
    let isThrough = false;
    const through = (): Promise<void> => {
      // The client may have gone while earlier requests were served.
      if (isClosed) return closed;
      isThrough = true;
      next();
      return closed;
    };
    const guard = async (): Promise<void> => {
      const gate = gateOf(request);
      if (gate === undefined) next();
      else await gate.run(claimOfRequest(request), through);
    };
    guard().catch((error: unknown) => {
      // The handler may throw errors with the same codes that are not about this gate.
      const answer = isThrough ? undefined : answerTo(error);
      if (answer === undefined) next(error);
      else writeAnswer(response, answer);
    });
  };
}

function writeAnswer(response: FencedResponse, { status, code, message }: FenceAnswer): void {
  if (response.writableEnded === true) return;
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  response.end(`${JSON.stringify({ code, message })}\n`);
}
