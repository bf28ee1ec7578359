/**
 * How a node that was added finds its cluster: it asks the nodes it was told of, over HTTP on their
 * client ports, who they belong to, until one of them names it as a member. Everything else it learns
 * from the leader.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../../errors.js";
import type { NodeId } from "../../raft/index.js";
import { readPage } from "../../read-page.js";
import type { Logger } from "../ports.js";

const ASK_TIMEOUT_MS = 2_000;
const ASK_AGAIN_MS = 500;
const REFUSAL_LENGTH_MAX = 200;
/** The log says so often what is being waited for. */
const REMIND_EVERY = 20;

/** A cluster, as one of its nodes knows it. */
export interface FoundCluster {
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  readonly members: readonly { readonly id: NodeId; readonly address: string }[];
}

/** What a node says of its cluster when it is asked. */
interface ClusterAnswer extends FoundCluster {
  readonly commitIndex: number;
  readonly members: readonly AnsweredMember[];
}

interface AnsweredMember {
  readonly id: NodeId;
  readonly address: string;
  readonly isVoter: boolean;
}

/** Resolves when a node of `endpoints` knows `id` as a member; rejects only when aborted. */
export async function findCluster(
  id: NodeId,
  endpoints: readonly string[],
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<ClusterAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    const answers = await Promise.all(endpoints.map((endpoint) => ask(endpoint, signal)));
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
 * A directory without a log must not stand for a node that votes: it may have vouched for what it does
 * not know any more, and the others count on it. Fails with `FORBIDDEN`.
 */
export function demandNoVote(id: NodeId, { members }: ClusterAnswer, dataDirectory: string): void {
  if (!members.some((member) => member.id === id && member.isVoter)) return;
  const message =
    `node ${id} votes in that cluster and ${dataDirectory} knows nothing of it: ` +
    "bring it back with holdfast recover";
  throw new HoldfastError("FORBIDDEN", message, { details: { id, path: dataDirectory } });
}

/** Of those who name `id`, the one who knows most; others may not know of its last change yet. */
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

/** What the node there says, or why it says nothing of use. */
async function ask(
  endpoint: string,
  signal: AbortSignal | undefined,
): Promise<ClusterAnswer | string> {
  const timeout = AbortSignal.timeout(ASK_TIMEOUT_MS);
  const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    const url = new URL("/status", endpoint.replace(/^ws/, "http"));
    const { status, text } = await readPage(url.href, either);
    if (status !== 200) {
      const [line = ""] = text.split("\n");
      return `${endpoint}: ${line.slice(0, REFUSAL_LENGTH_MAX)}`;
    }
    const cluster = clusterIn(JSON.parse(text));
    return cluster ?? `${endpoint} is no node of a cluster`;
  } catch (error) {
    return `${endpoint}: ${reasonOf(error)}`;
  }
}

/** An error of several addresses of one host has a code and no message. */
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
  if (typeof address !== "string" || (role !== "voter" && role !== "learner")) return undefined;
  return { id, address, isVoter: role === "voter" };
}
