/**
 * Plain HTTP on the client port: what to answer, and which upgrades to allow. Nothing here reads a
 * request body or keeps state.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { SUBPROTOCOL } from "../../protocol/index.js";
import { quoted } from "../../text/index.js";
import { cutText } from "../cut-text.js";
import { pathOf, type RequestRefusal } from "../listen.js";
import { problemAnswer } from "../problem.js";
import type { HttpAnswer, PageBrowser, PageCaller, Pages } from "../types.js";
import { hostOf, type KnownHosts } from "./known-hosts.js";

const CLIENT_PATH = "/v1";
/** Paths of the HTTP door. */
const DOOR_PATHS = "/v1/";
const NAME_BYTES_SHOWN = 200;

/** As the door answers while it cannot serve. */
const NO_DOOR: HttpAnswer = Object.freeze(
  problemAnswer(503, "UNAVAILABLE", "this node serves no locks now: ask another one"),
);

/**
 * Limits on requests. Requests for status pages are small and quick; anything else is an attack.
 */
export const HTTP_LIMITS = {
  maxHeaderSize: 8 << 10,
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
} as const;

/** Options of servers whose requests are handled in turn, which `RequestTurns` checks. */
export const TURN_OPTIONS = { ...HTTP_LIMITS, requireHostHeader: false } as const;

/**
 * Answers GET and HEAD by path, or with `refusal` if there is one. `pages` belongs to the node; its
 * exceptions are not caught.
 */
export function answerHttp(
  request: IncomingMessage,
  response: ServerResponse,
  pages: Pages,
  caller: PageCaller,
  refusal: RequestRefusal | undefined,
): void {
  const path = pathOf(request.url);
  if (refusal !== undefined) {
    write(request, response, problemAnswer(refusal.status, refusal.code, refusal.text));
  } else if (isDoorPath(request.url)) {
    response.setHeader("Retry-After", "1");
    write(request, response, NO_DOOR);
  } else if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("Allow", "GET, HEAD");
    const sentence = `${request.method} is not served here`;
    write(request, response, problemAnswer(405, "INVALID_ARGUMENT", sentence));
  } else if (path === CLIENT_PATH) {
    response.setHeader("Upgrade", "websocket");
    const sentence = `${CLIENT_PATH} speaks WebSocket, ${SUBPROTOCOL}`;
    write(request, response, problemAnswer(426, "INVALID_ARGUMENT", sentence));
  } else {
    const answer = pages(path, caller);
    if (answer.status === 401) response.setHeader("WWW-Authenticate", "Bearer");
    write(request, response, answer);
  }
}

/** Whether the HTTP door answers a request for this target. */
export function isDoorPath(target: string | undefined): boolean {
  return target?.startsWith(DOOR_PATHS) === true;
}

/**
 * Why the door refuses what a browser sends for a page; `undefined` if it does not. A page of another
 * site can send requests without reading the answers, which is enough to take a lock. So unlisted
 * origins are refused for every method, and so is what another site sends without an origin.
 */
export function judgePageOfDoor(
  { headers }: IncomingMessage,
  listed: readonly string[],
): RequestRefusal | undefined {
  const { origin } = headers;
  if (origin !== undefined) {
    if (listed.includes(origin)) return undefined;
    const text = `pages of ${shown(origin)} may not ask this node: allow them with --allow-origin`;
    return { status: 403, code: "FORBIDDEN", text, stranger: origin };
  }
  const site = headers["sec-fetch-site"];
  if (site !== "cross-site" && site !== "same-site") return undefined;
  return { status: 403, code: "FORBIDDEN", text: "a page of another site may not ask this node" };
}

/** The token that the request shows, unchecked. */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}

/** Unless it says that it takes none of it. */
const GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** What a request says of the browser that sent it. */
export function browserOf({ headers }: IncomingMessage, hosts: KnownHosts): PageBrowser {
  const { accept = "", host } = headers;
  return {
    wantsHtml: /\btext\/html\b/i.test(accept),
    takesGzip: GZIP.test(String(headers["accept-encoding"] ?? "")),
    host: host !== undefined && host !== "" && hosts.has(host) ? host.toLowerCase() : undefined,
  };
}

/** These reveal nothing that a page could use, and health checks use any host name. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(["/livez", "/readyz"]);

/** Why a request with this host name is refused; `undefined` if it is not. */
export function judgeHost(request: IncomingMessage, hosts: KnownHosts): RequestRefusal | undefined {
  const { host } = request.headers;
  if (host === undefined || hosts.has(host) || HEALTH_PATHS.has(pathOf(request.url))) {
    return undefined;
  }
  const stranger = hostOf(host);
  const text = `this node does not answer to ${shown(stranger)}: allow it with --allow-host`;
  return { status: 421, code: "FORBIDDEN", text, stranger };
}

/**
 * Why this upgrade request is refused; `undefined` if it is not. The rest of RFC 6455 is left to
 * `ws`.
 */
export function judgeUpgrade(
  request: IncomingMessage,
  mayConnect: (origin: string, host: string | undefined) => boolean,
): RequestRefusal | undefined {
  const { origin, host } = request.headers;
  if ((request.headersDistinct["host"]?.length ?? 0) > 1) {
    return { status: 400, code: "INVALID_ARGUMENT", text: "the request has two headers Host" };
  }
  if (pathOf(request.url) !== CLIENT_PATH) {
    const text = `WebSocket clients connect to ${CLIENT_PATH}`;
    return { status: 404, code: "INVALID_ARGUMENT", text };
  }
  // Every page that a browser shows can connect to loopback; only listed origins may take locks.
  if (origin !== undefined && !mayConnect(origin, host)) {
    const text = `pages of ${shown(origin)} may not connect: allow them with --allow-origin`;
    return { status: 403, code: "FORBIDDEN", text, stranger: origin };
  }
  const offered = request.headers["sec-websocket-protocol"] ?? "";
  if (!offered.split(",").some((name) => name.trim() === SUBPROTOCOL)) {
    const text = `the subprotocol ${SUBPROTOCOL} is required`;
    return { status: 400, code: "INVALID_ARGUMENT", text };
  }
  return undefined;
}

/** Anyone can choose this text, so it is cut short and kept on one line. */
function shown(name: string): string {
  return quoted(cutText(name, NAME_BYTES_SHOWN));
}

function write(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
  const body = answer.bytes ?? answer.body;
  response.writeHead(answer.status, {
    "Content-Type": answer.contentType,
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...answer.headers,
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
