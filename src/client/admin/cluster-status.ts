/**
 * Asks nodes for their status over HTTP on the client port. Needs no session and no leader, so it
 * works even when nothing else does.
 */
import { HoldfastError } from "../../errors/index.js";
import {
  type AccessState,
  type AuditState,
  isMemberRole,
  type MemberRole,
  type NodeRole,
} from "../../protocol/index.js";
import { isLate, isProtected, within } from "../../reach/portable.js";
import { printable, sentenceIn } from "../../text/index.js";
import { requireEndpoints } from "../options/connect-options.js";
import { type ClusterStatusOptions, resolveStatusOptions } from "../options/operator-options.js";
import { defaultEndpoints } from "../transport/default-endpoints.js";
import { loadReadPage } from "../transport/load-platform.js";
import type { Page } from "../transport/platform.js";
import { readToken } from "../transport/sign-in.js";

const REFUSAL_LENGTH_MAX = 200;

/** What a node reports about itself on `/status`. */
export interface NodeStatus {
  readonly id: number;
  /**
   * "learner": receives every entry and has no vote. "starting": reads its log. "quarantined": its
   * data are damaged, so it takes part in nothing until it is recovered.
   */
  readonly role: NodeRole | "preCandidate";
  readonly pid: number;
  readonly term: number;
  readonly leader: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly endpoint: string;
  /**
   * For how many milliseconds a cluster restored from a snapshot still opens no session; otherwise
   * 0.
   */
  readonly quietMs?: number;
  /**
   * What clients may do that have not shown who they are, as this node knows: everything ("open"),
   * something ("partlyOpen") or nothing ("closed"). `identities`: how many there are.
   */
  readonly access?: {
    readonly state: AccessState;
    readonly identities: number;
  };
  /** Its disk has no room. A node that is "starting" waits for room. */
  readonly isDiskFull?: boolean;
  /**
   * Its port for lock clients of Redis, if it has one. `redlock`: that clients use Redlock over the nodes
   * of this cluster and get no lock so, and what to do.
   */
  readonly redis?: { readonly address: string; readonly redlock?: string };
  readonly isMemoryScarce?: boolean;
  /** Whether it has heard from a majority, or from a leader that has, within an election timeout. */
  readonly hasQuorumContact?: boolean;
  readonly isDraining?: boolean;
  readonly auditState?: AuditState;
  /** When its TLS certificate expires, in milliseconds since 1970; `null` without TLS. */
  readonly certificateEndsWallMs?: number | null;
  /** The longest stall of its event loop within the last ten seconds. */
  readonly loopDelayMaxMs?: number;
  readonly version?: string;
  /** The members as this node knows them. */
  readonly members?: readonly NodeMember[];
  /** Only of a quarantined node. */
  readonly damage?: NodeDamage;
}

export interface NodeMember {
  readonly id: number;
  readonly role: MemberRole;
  /** Where the other nodes reach it. */
  readonly address: string;
}

/** Which data are damaged, and where. */
export interface NodeDamage {
  readonly file: string;
  readonly reason: string;
}

/** A node that answered, or the reason why it did not. */
export type NodeReport = (NodeStatus & { readonly isReachable: true }) | UnreachableNode;

/** A node that did not answer, or whose answer was not a status. */
export interface UnreachableNode {
  readonly isReachable: false;
  readonly role: "unreachable";
  /** The endpoint as it was given. */
  readonly endpoint: string;
  readonly error: HoldfastError;
}

/**
 * The status of each endpoint, in the order given; all are asked at once. A node that cannot be
 * reached has an `error` with code `UNAVAILABLE`; if its answer is not a status, the code is
 * `PROTOCOL`, and `UNAUTHENTICATED` if its cluster is secured and refuses who asks.
 *
 * @throws the signal's reason when aborted; `INVALID_ARGUMENT` for `ca`, `cert` or `key` that cannot
 *   be used; never because of a node
 */
export async function clusterStatus(
  endpoints: readonly string[] = defaultEndpoints(),
  options: ClusterStatusOptions = {},
): Promise<NodeReport[]> {
  const urls = requireEndpoints(endpoints);
  const { timeoutMs, signal, tls, token } = resolveStatusOptions(options, urls);
  signal?.throwIfAborted();
  const readPage = await loadReadPage({ ...tls, endpoints: urls });
  const shown = token === undefined ? undefined : await readToken(token);
  const read: ReadStatus = async (url, either) => {
    // Never in plain text to another machine.
    const isSafe = isProtected(url);
    const page = await readPage(url, either, isSafe ? shown : undefined);
    return { ...page, lacks: page.status === 401 ? lackText(isSafe, shown) : undefined };
  };
  const reports = await Promise.all(urls.map((url) => report(read, url, timeoutMs, signal)));
  signal?.throwIfAborted();
  return reports;
}

/** `lacks`: what the caller needs, if the node shows the page to identities of its cluster only. */
type StatusPage = Page & { readonly lacks: string | undefined };
type ReadStatus = (url: string, signal: AbortSignal) => Promise<StatusPage>;

function lackText(isSafe: boolean, token: string | undefined): string {
  if (token === undefined) return "its cluster is secured: an access token is needed";
  return isSafe
    ? "its cluster is secured, and refuses this access token: it was removed or replaced, " +
        "belongs to another cluster, or its identity has no permission"
    : "its cluster is secured, and an access token is sent through wss: only, except on this " +
        "machine";
}

async function report(
  readPage: ReadStatus,
  endpoint: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<NodeReport> {
  let isTooLate = false;
  let body: unknown;
  try {
    const url = `${endpoint.replace(/^ws/, "http")}/status`;
    const page = await within(timeoutMs, signal, (either) => {
      either.addEventListener("abort", () => {
        isTooLate = isLate(either);
      });
      return readPage(url, either);
    });
    if (page.lacks !== undefined) return closedTo(endpoint, page.lacks);
    if (page.status !== 200) return strange(endpoint, refusalText(page));
    body = JSON.parse(page.text);
  } catch (cause) {
    const why = isTooLate ? `no answer in ${timeoutMs} ms` : reasonOf(cause);
    const error = new HoldfastError("UNAVAILABLE", `${endpoint}: ${why}`, {
      cause,
      details: { endpoint },
    });
    return unreachable(endpoint, error);
  }
  if (!isNodeStatus(body)) return strange(endpoint, "with something that is not a node's status");
  return { ...body, isReachable: true };
}

/** A node that does not show its pages says why in one line. */
function refusalText({ status, text }: Page): string {
  const told = printable(sentenceIn(text).slice(0, REFUSAL_LENGTH_MAX));
  return `HTTP status ${status}${told === "" ? "" : `: ${told}`}`;
}

function strange(endpoint: string, what: string): UnreachableNode {
  const details = { endpoint };
  const error = new HoldfastError("PROTOCOL", `${endpoint} answered ${what}`, { details });
  return unreachable(endpoint, error);
}

function closedTo(endpoint: string, lacks: string): UnreachableNode {
  const details = { endpoint };
  const error = new HoldfastError("UNAUTHENTICATED", `${endpoint}: ${lacks}`, { details });
  return unreachable(endpoint, error);
}

function unreachable(endpoint: string, error: HoldfastError): UnreachableNode {
  return { isReachable: false, role: "unreachable", endpoint, error };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? String(error.code) : error.message;
}

const NUMBERS = ["id", "pid", "term", "leader", "commitIndex", "appliedIndex"] as const;
const TEXTS = ["role", "endpoint"] as const;
/** What a node may say besides, and of which type that is. */
const CONDITIONS: readonly (readonly [string, readonly string[]])[] = [
  ...["isDiskFull", "isMemoryScarce", "hasQuorumContact", "isDraining"].map(
    (name) => [name, ["undefined", "boolean"]] as const,
  ),
  ...["auditState", "version"].map((name) => [name, ["undefined", "string"]] as const),
  ["certificateEndsWallMs", ["undefined", "null", "number"]],
  ["loopDelayMaxMs", ["undefined", "number"]],
];

function isNodeStatus(body: unknown): body is NodeStatus {
  if (typeof body !== "object" || body === null) return false;
  const fields = body as Record<string, unknown>;
  return (
    NUMBERS.every((name) => typeof fields[name] === "number") &&
    TEXTS.every((name) => typeof fields[name] === "string") &&
    (fields["quietMs"] === undefined || typeof fields["quietMs"] === "number") &&
    (fields["access"] === undefined || isAccess(fields["access"])) &&
    (fields["members"] === undefined || areMembers(fields["members"])) &&
    CONDITIONS.every(([name, types]) => types.includes(typeOf(fields[name]))) &&
    (fields["damage"] === undefined || isDamage(fields["damage"]))
  );
}

/** `null` is a type of its own here. */
function typeOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function areMembers(members: unknown): boolean {
  return (
    Array.isArray(members) &&
    members.every((member: unknown) => {
      if (typeof member !== "object" || member === null) return false;
      const { id, role, address } = member as Record<string, unknown>;
      return typeof id === "number" && isMemberRole(role) && typeof address === "string";
    })
  );
}

function isAccess(access: unknown): boolean {
  if (typeof access !== "object" || access === null) return false;
  const { state, identities } = access as Record<string, unknown>;
  return typeof state === "string" && typeof identities === "number";
}

function isDamage(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { file, reason } = value as Record<string, unknown>;
  return typeof file === "string" && typeof reason === "string";
}
