/**
 * Which upgrades a port takes: those to WebSocket. Any other is ignored, as HTTP wants it (RFC 9110,
 * 7.8), and its request is answered like every other one: the clients of the JDK and of Apache ask
 * for an upgrade by default.
 *
 * Node.js hands every upgrade to one listener and stops reading the connection. So a request whose
 * upgrade is ignored goes back to where it came from, without the upgrade in its head, and Node.js
 * reads the connection as if it were new. It must never be read while an earlier request has no
 * answer: the answers would come out of order.
 */
import type { IncomingMessage } from "node:http";
import { Server as SecureServer } from "node:https";
import type { Duplex } from "node:stream";
import type { WebSocket, Server as WebSockets } from "ws";
import { assert } from "../errors/index.js";
import { type HttpServer, refuseUpgrade } from "./listen.js";

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Fields of a head that are about the upgrade. */
const UPGRADE_FIELDS: ReadonlySet<string> = new Set(["upgrade", "http2-settings"]);

/** A field that is not part of the interface of Node.js. A test fails if it is missing. */
interface Answering {
  /** The response whose turn it is, until all of it is written. */
  readonly _httpMessage?: unknown;
}

/** Must come before other listeners of the server for connections. */
export function takeWebSockets(server: HttpServer, onUpgrade: UpgradeListener): void {
  const isSecure = server instanceof SecureServer;
  const [read] = server.listeners(isSecure ? "secureConnection" : "connection");
  assert(read !== undefined, () => "a server that reads no connection");
  server.on("upgrade", (request, socket, head) => {
    if (isWebSocket(request)) onUpgrade(request, socket, head);
    else if (isAnswering(socket)) socket.destroy();
    else {
      socket.unshift(Buffer.concat([headWithoutUpgrade(request), head]));
      read.call(server, socket);
    }
  });
  server.on("connect", (_request, socket) => {
    const text = "CONNECT is not served here";
    if (isAnswering(socket)) socket.destroy();
    else refuseUpgrade(socket, { status: 405, code: "INVALID_ARGUMENT", text });
  });
}

/** What `ws` refuses of a handshake is answered like every other refusal. */
export function answerBadHandshakes<T extends typeof WebSocket>(webSockets: WebSockets<T>): void {
  webSockets.on("wsClientError", ({ message: text }, socket, { method }) => {
    refuseUpgrade(socket, { status: method === "GET" ? 400 : 405, code: "INVALID_ARGUMENT", text });
  });
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.trim().toLowerCase() === "websocket";
}

function isAnswering(socket: Duplex): boolean {
  return ((socket as Answering)._httpMessage ?? undefined) !== undefined;
}

function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = [rawHeaders[at], rawHeaders[at + 1]];
    const field = name.toLowerCase();
    if (field === "connection") lines.push(`${name}: ${otherOptions(value)}`);
    else if (!UPGRADE_FIELDS.has(field)) lines.push(`${name}: ${value}`);
  }
  // Node.js reads headers as Latin-1.
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

/** What else `Connection` says. */
function otherOptions(value: string): string {
  return value
    .split(",")
    .map((option) => option.trim())
    .filter((option) => !UPGRADE_FIELDS.has(option.toLowerCase()))
    .join(", ");
}
