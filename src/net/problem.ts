/**
 * How every port of HTTP says what is wrong: `application/problem+json` (RFC 9457) with Holdfast's
 * error code and one sentence. The doors answer in the same form. What probes read (`/livez`,
 * `/readyz`) is an answer and no problem.
 */
import type { ErrorCode } from "../errors/index.js";
import type { HttpAnswer } from "./types.js";

export const PROBLEM_TYPE = "application/problem+json";

const TITLES: Readonly<Record<number, string>> = Object.freeze({
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  417: "Expectation Failed",
  421: "Misdirected Request",
  426: "Upgrade Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
  504: "Gateway Timeout",
});

export interface HttpProblem {
  readonly status: number;
  readonly code: ErrorCode;
  /** One sentence, in one line. */
  readonly detail: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The body of the answer. */
export function problemText({ status, code, detail, details }: HttpProblem): string {
  return `${JSON.stringify({ title: TITLES[status], status, code, detail, details })}\n`;
}

export function problemAnswer(status: number, code: ErrorCode, detail: string): HttpAnswer {
  return { status, contentType: PROBLEM_TYPE, body: problemText({ status, code, detail }) };
}

/** A whole answer of HTTP/1.1, after which the connection ends. */
export function lastAnswer(problem: HttpProblem): string {
  const body = problemText(problem);
  const { status } = problem;
  return (
    `HTTP/1.1 ${status} ${TITLES[status]}\r\nConnection: close\r\n` +
    `Content-Type: ${PROBLEM_TYPE}\r\nCache-Control: no-store\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}
