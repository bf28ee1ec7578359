/**
 * Fencing in HTTP: the holder sends its claim in a header, the service refuses what came too late.
 * Written against the few members of requests and responses that are used, so that `node:http`,
 * Connect, Express and the like all fit, and nothing of Node is imported.
 */
import { HoldfastError } from "../errors.js";
import type { Claim } from "./claim.js";
import type { Gate } from "./gate.js";
import { FENCE_HEADER, parseClaim } from "./header.js";

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
   * The gate of what a request writes to; `undefined` lets it through without a claim, as reads.
   * The same resource must always be given the same gate.
   */
  readonly gateOf: (request: Request) => Gate | undefined;
}

export type FenceMiddleware<Request extends FencedRequest> = (
  request: Request,
  response: FencedResponse,
  next: (error?: unknown) => void,
) => void;

/** What to answer instead. */
export interface FenceAnswer {
  /** 428: no claim; 400: no claim that can be read; 412: a token that is too old. */
  readonly status: 400 | 412 | 428;
  readonly code: "INVALID_ARGUMENT" | "STALE_TOKEN";
  readonly message: string;
}

/**
 * The claim in a request's headers. Throws `INVALID_ARGUMENT` when it is missing, malformed or
 * given twice; `answerTo` makes an answer of that.
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

/** How to answer after an error of this room; `undefined`: it is none, and not the client's. */
export function answerTo(error: unknown): FenceAnswer | undefined {
  if (!(error instanceof HoldfastError)) return undefined;
  const { code, message, details } = error;
  if (code === "STALE_TOKEN") return { status: 412, code, message };
  if (code !== "INVALID_ARGUMENT") return undefined;
  return { status: details["isMissing"] === true ? 428 : 400, code, message };
}

/**
 * Middleware that calls `next` only under a claim that its gate lets through, and keeps newer
 * claims waiting until the response has ended: two writers never overlap. The gates live as long as
 * the process, so this is for what lives no longer; before a database, put the claim into the
 * transaction (`SqlFence`) and use `claimOfRequest`.
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
      // Who asked may have gone while earlier requests were served.
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
      // What is behind the gate may know errors of the same codes, which are not about this gate.
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
