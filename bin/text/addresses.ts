/**
 * Addresses on the command line: client endpoints (WebSocket URLs), HOST:PORT pairs and lists of
 * one address per node. Parsers throw `AddressError` with a message that says what is wrong and
 * what would be right; they never look anything up.
 */
import { endpointUrl } from "../../src/reach/portable.js";
import type { HostPort } from "../../src/server/index.js";
import { withoutCredentials } from "./printable.js";

/** The endpoints of `holdfast cluster` with its defaults. */
export const DEFAULT_ENDPOINTS: readonly string[] = Object.freeze([
  "ws://127.0.0.1:7411",
  "ws://127.0.0.1:7412",
  "ws://127.0.0.1:7413",
]);

const NODE_ID_MAX = 2 ** 32 - 1;

export class AddressError extends Error {
  override readonly name = "AddressError";
}

/**
 * Comma-separated addresses of nodes. Or one local socket, as a
 * command under `holdfast run --local` finds it in its environment.
 */
export function parseEndpoints(text: string): string[] {
  if (text.startsWith("unix:/")) return [text];
  const endpoints = splitList(text).map(parseEndpoint);
  if (endpoints.length === 0) throw new AddressError("no endpoint was given");
  return [...new Set(endpoints)];
}

/** One address of a node (`endpointUrl`), without path, user or query. */
export function parseEndpoint(text: string): string {
  const candidate = endpointUrl(text);
  const shown = `"${withoutCredentials(text)}"`;
  if (!URL.canParse(candidate)) throw new AddressError(`${shown} is not a URL like ws://host:7411`);
  const url = new URL(candidate);
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw new AddressError(`${shown} must begin with ws://, wss://, http:// or https://`);
  }
  if (url.hostname === "") throw new AddressError(`${shown} has no host`);
  if (url.username !== "" || url.password !== "") {
    const way = "an access token belongs in HOLDFAST_ACCESS_TOKEN or a file for --token-file";
    throw new AddressError(`${shown} can have only a scheme, a host and a port: ${way}`);
  }
  if (url.search !== "" || url.hash !== "") {
    throw new AddressError(`${shown} can have only a scheme, a host and a port`);
  }
  if (url.pathname !== "/") throw new AddressError(`${shown} must not have a path`);
  return `${url.protocol}//${url.host}`;
}

/** `127.0.0.1:7411`, `db-1:7411`, `[::1]:7411`. Port 0 asks the system for a free one. */
export function parseHostPort(text: string): HostPort {
  const address = hostPortIn(text);
  if (address !== undefined) return address;
  throw new AddressError(`"${text}" is not an address like 127.0.0.1:7411 or [::1]:7411`);
}

function hostPortIn(text: string): HostPort | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.%]+)\]|([^\s:[\]/@]+)):(\d{1,5})$/.exec(text.trim());
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > 65_535 ? undefined : { host, port };
}

/** The address at which other nodes reach one: its port must not be 0. */
export function parseMemberAddress(text: string): HostPort {
  const address = hostPortIn(text);
  if (address !== undefined && address.port > 0) return address;
  const problem = "is not an address at which the other nodes can reach this one";
  throw new AddressError(
    `"${text}" ${problem}: such an address looks like db-4:7511 or [fd00::4]:7511`,
  );
}

/** The inverse of `parseHostPort`. */
export function formatHostPort(address: HostPort): string {
  return address.host.includes(":")
    ? `[${address.host}]:${address.port}`
    : `${address.host}:${address.port}`;
}

export interface NodeAddress {
  readonly id: number;
  readonly address: HostPort;
}

/** `1=host:port,2=host:port,…`: every node once. */
export function parseNodeAddresses(text: string): NodeAddress[] {
  const nodes = splitList(text).map(parseNodeAddress);
  const seen = new Set<number>();
  for (const { id } of nodes) {
    if (seen.has(id)) throw new AddressError(`node ${id} is given twice`);
    seen.add(id);
  }
  return nodes;
}

/** 1 … 2^32 − 1. */
export function parseNodeId(text: string): number {
  const id = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (id < 1 || id > NODE_ID_MAX) {
    throw new AddressError(`"${text}" is not a node id: a whole number from 1 to ${NODE_ID_MAX}`);
  }
  return id;
}

function parseNodeAddress(text: string): NodeAddress {
  const separator = text.indexOf("=");
  if (separator < 0) throw new AddressError(`"${text}" does not have the form ID=HOST:PORT`);
  return {
    id: parseNodeId(text.slice(0, separator).trim()),
    address: parseHostPort(text.slice(separator + 1)),
  };
}

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
