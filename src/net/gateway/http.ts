/**
 * Plain HTTP on the client port: what to answer, and whom to let upgrade. Nothing here reads a
 * request body or keeps state.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { SUBPROTOCOL } from "../../protocol/index.js";
import { quoted } from "../../safe-text.js";
import { cutText } from "../cut-text.js";
import { pathOf } from "../listen.js";
import type { HttpAnswer } from "../types.js";
import { hostOf, type KnownHosts } from "./known-hosts.js";

const CLIENT_PATH = "/v1";
const NAME_BYTES_SHOWN = 200;

/** Limits on requests; a page of status is small and quick, or it is an attack. */
export const HTTP_LIMITS = {
  maxHeaderSize: 8 << 10,
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
} as const;

export interface Refusal {
  readonly status: number;
  readonly text: string;
  /** The host or origin that was refused, which an operator may want to let in. */
  readonly stranger?: string;
}

/** Answers GET and HEAD by path, unless with a refusal. `pages` is the node's; an exception of it is not caught. */
export function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  pages: (path: string) => HttpAnswer,
  refusal: Refusal | undefined,
): void {
  const path = pathOf(request.url);
  if (refusal !== undefined) {
    write(request, response, text(refusal.status, refusal.text));
  } else if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("Allow", "GET, HEAD");
    write(request, response, text(405, `${request.method} is not served here`));
  } else if (path === CLIENT_PATH) {
    response.setHeader("Upgrade", "websocket");
    write(request, response, text(426, `${CLIENT_PATH} speaks WebSocket, ${SUBPROTOCOL}`));
  } else {
    write(request, response, pages(path));
  }
}

/** These say nothing that a page could use, and probes come by any name. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(["/livez", "/readyz"]);

/** Why a page is not shown to a request by this host name; or `undefined`. */
export function judgeHost(request: IncomingMessage, hosts: KnownHosts): Refusal | undefined {
  const { host } = request.headers;
  if (host === undefined || hosts.has(host) || HEALTH_PATHS.has(pathOf(request.url))) {
    return undefined;
  }
  const stranger = hostOf(host);
  const text = `this node has no name ${shown(stranger)}: --allow-host gives it one`;
  return { status: 421, text, stranger };
}

/** Why this upgrade request is refused, or `undefined`. The rest of RFC 6455 is left to `ws`. */
export function judgeUpgrade(
  request: IncomingMessage,
  allowedOrigins: readonly string[],
): Refusal | undefined {
  const { origin } = request.headers;
  if (pathOf(request.url) !== CLIENT_PATH) {
    return { status: 404, text: `WebSocket clients connect to ${CLIENT_PATH}` };
  }
  // Every page a browser shows can connect to loopback; only the listed ones may take locks.
  if (origin !== undefined && !allowedOrigins.includes(origin)) {
    const text = `pages of ${shown(origin)} may not connect: --allow-origin lets them in`;
    return { status: 403, text, stranger: origin };
  }
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  if (!offered.split(",").some((name) => name.trim() === SUBPROTOCOL)) {
    return { status: 400, text: `the subprotocol ${SUBPROTOCOL} is required` };
  }
  return undefined;
}

/** It is the browser's word, or anybody's: short, and on one line. */
function shown(name: string): string {
  return quoted(cutText(name, NAME_BYTES_SHOWN));
}

function text(status: number, line: string): HttpAnswer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${line}\n` };
}

function write(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
  response.writeHead(answer.status, {
    "Content-Type": answer.contentType,
    "Content-Length": Buffer.byteLength(answer.body),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(request.method === "HEAD" ? undefined : answer.body);
}
