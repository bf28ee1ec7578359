/**
 * How a new node finds the cluster to which it was added: it asks the nodes that its options name,
 * over HTTP on their client ports, for their cluster and its members, until one of them names it as
 * a member. It learns everything else from the leader.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../../errors/index.js";
import { isMemberRole } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import { type PageTls, readPage } from "../../reach/index.js";
import { isProtected, within } from "../../reach/portable.js";
import { sentenceIn } from "../../text/index.js";
import type { NodeLogger } from "../ports.js";

const ASK_TIMEOUT_MS = 2_000;
const ASK_AGAIN_MS = 500;
const REFUSAL_LENGTH_MAX = 200;
/** The log repeats what the node waits for after this many attempts. */
const REMIND_EVERY = 20;

/** A cluster, as one of its nodes knows it. */
export interface FoundCluster {
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  readonly members: readonly { readonly id: NodeId; readonly address: string }[];
}

/** What a node answers about its cluster. */
interface ClusterAnswer extends FoundCluster {
  readonly commitIndex: number;
  readonly members: readonly AnsweredMember[];
}

interface AnsweredMember {
  readonly id: NodeId;
  readonly address: string;
  readonly isVoter: boolean;
}

/** How the new node proves to a closed cluster that it may ask; both are asked for at each attempt. */
export interface JoinProof {
  /** The current credentials for requests over `https:`. */
  readonly tls?: (() => PageTls | undefined) | undefined;
  /** An access token, which is sent through TLS or to this machine only. */
  readonly token?: (() => Promise<string | undefined>) | undefined;
}

/** Resolves when a node of `endpoints` knows `id` as a member; rejects only when aborted. */
export async function findCluster(
  id: NodeId,
  endpoints: readonly string[],
  log: NodeLogger,
  signal: AbortSignal | undefined,
  proof: JoinProof = {},
): Promise<ClusterAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    const answers = await Promise.all(endpoints.map((endpoint) => ask(endpoint, signal, proof)));
    const found = newestOf(answers, id);
    if (found !== undefined) return found;
    signal?.throwIfAborted();
    if (attempt % REMIND_EVERY === 0) {
      const reason = answers.find((answer) => typeof answer === "string");
      log("warn", "waiting to be a member", {
        id,
        hint: `holdfast member add ${id} HOST:PORT`,
        ...(reason === undefined ? {} : { unreachable: reason }),
      });
    }
    await sleep(ASK_AGAIN_MS, undefined, signal === undefined ? {} : { signal });
  }
}

/**
 * A voting node must not begin with an empty directory: it may have vouched for entries and votes
 * that it has lost, and the others count on them. Fails with `FORBIDDEN`.
 */
export function demandNoVote(id: NodeId, { members }: ClusterAnswer, dataDirectory: string): void {
  if (!members.some((member) => member.id === id && member.isVoter)) return;
  const message =
    `node ${id} votes in that cluster but ${dataDirectory} has none of its data: ` +
    "bring it back with holdfast recover";
  throw new HoldfastError("FORBIDDEN", message, { details: { id, path: dataDirectory } });
}

/** The newest answer that names `id`; older ones may not know the last change of that member. */
function newestOf(
  answers: readonly (ClusterAnswer | string)[],
  id: NodeId,
): ClusterAnswer | undefined {
  let newest: ClusterAnswer | undefined;
  for (const answer of answers) {
    if (typeof answer === "string" || !answer.members.some((member) => member.id === id)) continue;
    if (newest === undefined || answer.commitIndex > newest.commitIndex) newest = answer;
  }
  return newest;
}

/** The answer of that node, or the reason why there is none. */
async function ask(
  endpoint: string,
  signal: AbortSignal | undefined,
  { tls, token }: JoinProof,
): Promise<ClusterAnswer | string> {
  try {
    const url = new URL("/status", endpoint.replace(/^ws/, "http"));
    const isSafe = isProtected(url.href);
    const given = await token?.();
    const { status, text } = await within(ASK_TIMEOUT_MS, signal, (either) =>
      readPage(url.href, either, tls?.(), isSafe ? given : undefined),
    );
    if (status === 401) return `${endpoint}: the cluster is secured: ${closedText(isSafe, given)}`;
    if (status !== 200) {
      return `${endpoint}: ${sentenceIn(text).slice(0, REFUSAL_LENGTH_MAX)}`;
    }
    const cluster = clusterIn(JSON.parse(text));
    return cluster ?? `${endpoint} is not a node of a cluster`;
  } catch (error) {
    return `${endpoint}: ${reasonOf(error)}`;
  }
}

/** What the node lacks that asks a closed cluster. No text contains the token. */
function closedText(isSafe: boolean, token: string | undefined): string {
  if (token === undefined) return "this node needs an access token (HOLDFAST_ACCESS_TOKEN_FILE)";
  return isSafe
    ? "its access token is not known there, has expired, or has no permission"
    : "an access token is sent through wss: only, except on this machine";
}

/** An error of several addresses of one host has a code but no message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === "" && "code" in error ? String(error.code) : error.message;
}

function clusterIn(status: unknown): ClusterAnswer | undefined {
  if (typeof status !== "object" || status === null) return undefined;
  const { clusterId, commitIndex, members } = status as Record<string, unknown>;
  if (typeof clusterId !== "string" || !/^[0-9a-f]{32}$/.test(clusterId)) return undefined;
  if (typeof commitIndex !== "number" || !Array.isArray(members)) return undefined;
  const found: AnsweredMember[] = [];
  for (const value of members) {
    const member = memberIn(value);
    if (member === undefined) return undefined;
    found.push(member);
  }
  return { clusterId, commitIndex, members: found };
}

function memberIn(value: unknown): AnsweredMember | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { id, address, role } = value as Record<string, unknown>;
  if (typeof id !== "number" || !Number.isSafeInteger(id)) return undefined;
  if (typeof address !== "string" || !isMemberRole(role)) return undefined;
  return { id, address, isVoter: role === "voter" };
}
