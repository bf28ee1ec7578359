/**
 * Opens and closes a port, and refuses an upgrade with an HTTP answer. Operators see these failures
 * on their first day, so each failure is one line that names the address.
 */
import type { Server as PlainServer } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo, Server as StreamServer } from "node:net";
import type { Duplex } from "node:stream";
import { HoldfastError } from "../errors/index.js";
import { lastAnswer } from "./problem.js";
import type { HttpRefusal } from "./types.js";

/** A server of HTTP, with TLS or without. */
export type HttpServer = PlainServer | SecureServer;

/** Port 0 picks a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const CAUSES: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is taken",
  EACCES: "no permission for this port",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the host name is unknown",
};

/**
 * Listens on `address`.
 * @returns the port that was bound
 * @throws {HoldfastError} `UNAVAILABLE`, with a message that names address and port
 */
export function listenOn(server: StreamServer, address: ListenAddress): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      server.off("listening", onListening);
      const code = error.code ?? error.message;
      const cause = CAUSES[code];
      const why = cause === undefined ? code : `${cause} (${code})`;
      const text = `cannot listen on ${formatAddress(address)}: ${why}`;
      reject(new HoldfastError("UNAVAILABLE", text, { cause: error, details: { ...address } }));
    };
    const onListening = (): void => {
      server.off("error", onError);
      resolve((server.address() as AddressInfo).port);
    };
    server.once("error", onError);
    server.once("listening", onListening);
    server.listen(address.port, address.host);
  });
}

/**
 * Stops listening and resolves when the last connection is gone, or at once if the server never
 * listened.
 */
export function closeServer(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) {
      resolve();
      return;
    }
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** `host:port`, with brackets around IPv6. */
export function formatAddress(address: ListenAddress): string {
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}

/** A refusal by this port, which operators may read in the log. */
export interface RequestRefusal extends HttpRefusal {
  /** The host or origin that was refused, which an operator may want to allow. */
  readonly stranger?: string;
}

/** Answers an upgrade request with an HTTP error, and ends the connection. */
export function refuseUpgrade(
  socket: Duplex,
  { status, code, text: detail }: RequestRefusal,
): void {
  socket.on("error", () => socket.destroy());
  socket.once("finish", () => socket.destroy());
  socket.end(lastAnswer({ status, code, detail }));
}

/** The path of a request target, without its query. */
export function pathOf(target: string | undefined): string {
  if (target === undefined) return "/";
  const query = target.indexOf("?");
  return query === -1 ? target : target.slice(0, query);
}
