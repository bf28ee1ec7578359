/**
 * What a client knows about the nodes: the URLs it was given and those it learned, which node
 * leads, and which failed lately. It decides the order in which a search tries them, and opens
 * nothing itself.
 */

import type { Hello, NodeEndpoint } from "../../protocol/index.js";
import { endpointUrl } from "../../reach/portable.js";
import { noLeaderText } from "../failures.js";

const PATH = "/v1";
/** A node that failed within this time is tried only if no other serves. */
const FAILURE_MEMORY_MS = 5_000;
/** How much of a wrong endpoint a message shows. */
const SHOWN_LENGTH_MAX = 200;

export interface SearchOrder {
  readonly promising: string[];
  /** Endpoints that failed lately, the latest failure last: it may have cost a whole timeout. */
  readonly failed: string[];
}

interface RankedEndpoint {
  readonly url: string;
  readonly rank: number;
}

interface KnownEndpoint {
  readonly url: string;
  /** 0 until the node has told its id. */
  nodeId: number;
  failedAtMs: number;
  /** Whether a node answered when this was last tried. */
  answers: boolean;
}

/** Begins the endpoint of a node's local socket; the path of it, or of its directory, follows. */
const LOCAL = "unix:";

/**
 * Checks an address as a user writes it (`endpointUrl`), and returns its URL without a trailing
 * slash or path `/v1`.
 */
export function normalizeEndpoint(endpoint: string): string {
  if (isLocal(endpoint)) return normalizeLocal(endpoint);
  let url: URL;
  try {
    url = new URL(endpointUrl(endpoint));
  } catch {
    throw new TypeError(`${quoted(endpoint)} is not a URL like ws://host:7411`);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    // Not repeated in the message: there may be a secret in it.
    throw new TypeError(`endpoint at ${url.host} must contain only ws://host:port and a path`);
  }
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    throw new TypeError(`${quoted(endpoint)} must begin with ws://, wss://, http:// or https://`);
  }
  const path = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  return `${url.protocol}//${url.host}${path}`;
}

/** Shown unless it may contain a secret or is too long. */
function quoted(endpoint: string): string {
  const isShown = endpoint.length <= SHOWN_LENGTH_MAX && !/[@?#]/.test(endpoint);
  return isShown ? `endpoint ${JSON.stringify(endpoint)}` : "an endpoint";
}

/** A path is taken as it is written: nothing in it is escaped. */
function normalizeLocal(endpoint: string): string {
  const path = endpoint.slice(LOCAL.length).replace(/^\/\/(?=\/)/, "");
  if (path === "" || path.includes("\0")) {
    throw new TypeError(`${quoted(endpoint)} must name a socket, like unix:/path/to/local.sock`);
  }
  return LOCAL + path.replace(/(?<=.)\/+$/, "");
}

/** Whether the endpoint is the socket in a node's directory. */
export function isLocal(endpoint: string): boolean {
  return endpoint.startsWith(LOCAL);
}

/** The path of a local socket, or of its directory, and the page of an address on it. */
export function localAddress(url: string): { readonly path: string; readonly page: string } {
  const end = url.lastIndexOf("/");
  return { path: url.slice(LOCAL.length, end), page: url.slice(end) };
}

/** Whether a connection to the endpoint is encrypted, and its node verified. */
export function isSecure(endpoint: string): boolean {
  return endpoint.startsWith("wss:");
}

/** Where to open the socket for an endpoint. */
export function socketUrl(endpoint: string): string {
  return endpoint + PATH;
}

export class Endpoints {
  readonly #random: () => number;
  readonly #known = new Map<string, KnownEndpoint>();
  /** Whether other nodes than the given ones may be used, especially the leader. */
  readonly followsLeader: boolean;
  #leaderId = 0;
  /** Whether the connected node was verified. Then no endpoint without TLS is learned from it. */
  #isVerified = false;
  /** Whether the last node that reported the leader knew of none. */
  #isLeaderless = false;
  #voters: readonly number[] = [];

  constructor(given: readonly string[], followsLeader: boolean, random: () => number) {
    // Another node would not know a client of this one's socket as `local`.
    this.followsLeader = followsLeader && !given.some(isLocal);
    this.#random = random;
    for (const endpoint of given) this.#add(normalizeEndpoint(endpoint));
  }

  get urls(): string[] {
    return [...this.#known.keys()];
  }

  /** A node named the members and the leader. `leaderId` 0 means that it knows of none. */
  learn(endpoints: readonly NodeEndpoint[], leaderId: number): void {
    this.#isLeaderless = leaderId === 0;
    if (!this.followsLeader) return;
    for (const { id, endpoint } of endpoints) {
      let url: string;
      try {
        url = normalizeEndpoint(endpoint);
      } catch {
        continue; // Advertised in a form that this client cannot dial; others remain.
      }
      if (this.#isVerified && !isSecure(url)) continue;
      this.#add(url).nodeId = id;
    }
    if (leaderId !== 0) this.#leaderId = leaderId;
  }

  /** The node at `url` told its id and the voters. */
  identify(url: string, { nodeId, voters }: Hello): void {
    this.#voters = voters;
    this.#isVerified = isSecure(url);
    const known = this.#known.get(url);
    if (known === undefined) return;
    known.nodeId = nodeId;
    known.answers = true;
  }

  /** A node answered for the cluster: there is a leader, or was a moment ago. */
  served(): void {
    this.#isLeaderless = false;
  }

  /** What is missing if nodes answer and none of them knows of a leader. */
  get noLeader(): string | undefined {
    if (!this.#isLeaderless) return undefined;
    const answering = this.#voters.filter((id) =>
      [...this.#known.values()].some(({ nodeId, answers }) => nodeId === id && answers),
    );
    return answering.length === 0 ? undefined : noLeaderText(answering.length, this.#voters.length);
  }

  /** All URLs at which the node can be reached. */
  urlsOf(nodeId: number): string[] {
    return this.urls.filter((url) => this.#known.get(url)?.nodeId === nodeId);
  }

  /** Whether another node than the one at `url` leads, as far as is known. */
  leadsElsewhere(url: string): boolean {
    if (this.#leaderId === 0 || this.#known.get(url)?.nodeId === this.#leaderId) return false;
    return this.urlsOf(this.#leaderId).length > 0;
  }

  /** Nothing answers at `url`. */
  fellSilent(url: string): void {
    const known = this.#known.get(url);
    if (known !== undefined) known.answers = false;
  }

  failed(url: string, nowMs: number): void {
    const known = this.#known.get(url);
    if (known === undefined) return;
    known.failedAtMs = nowMs;
    if (known.nodeId === this.#leaderId) this.#leaderId = 0;
  }

  /**
   * The endpoints that one search tries, in order: the leader first, then at random, then failed
   * ones.
   */
  searchOrder(nowMs: number): SearchOrder {
    const promising: RankedEndpoint[] = [];
    const failed: RankedEndpoint[] = [];
    for (const { url, nodeId, failedAtMs } of this.#known.values()) {
      const isLeader = this.#leaderId !== 0 && nodeId === this.#leaderId;
      const hasFailed = nowMs - failedAtMs < FAILURE_MEMORY_MS;
      if (hasFailed) failed.push({ url, rank: failedAtMs });
      else promising.push({ url, rank: isLeader ? -1 : this.#random() });
    }
    return { promising: inOrder(promising), failed: inOrder(failed) };
  }

  #add(url: string): KnownEndpoint {
    let known = this.#known.get(url);
    if (known === undefined) {
      known = { url, nodeId: 0, failedAtMs: Number.NEGATIVE_INFINITY, answers: false };
      this.#known.set(url, known);
    }
    return known;
  }
}

function inOrder(ranked: RankedEndpoint[]): string[] {
  return ranked.sort((a, b) => a.rank - b.rank).map(({ url }) => url);
}
