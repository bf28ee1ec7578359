/**
 * How a node that was added finds its cluster: it asks the nodes it was told of, over HTTP on their
 * client ports, who they belong to, until one of them names it as a member. Everything else it learns
 * from the leader.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { NodeId } from "../raft/index.js";
import type { Logger } from "./ports.js";

const ASK_TIMEOUT_MS = 2_000;
const ASK_AGAIN_MS = 500;
/** The log says so often what is being waited for. */
const REMIND_EVERY = 20;

/** A cluster, as one of its nodes knows it. */
export interface FoundCluster {
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  readonly members: readonly { readonly id: NodeId; readonly address: string }[];
}

/** Resolves when a node of `endpoints` knows `id` as a member; rejects only when aborted. */
export async function findCluster(
  id: NodeId,
  endpoints: readonly string[],
  log: Logger,
  signal: AbortSignal | undefined,
): Promise<FoundCluster> {
  for (let attempt = 0; ; attempt += 1) {
    const answers = await Promise.all(endpoints.map((endpoint) => ask(endpoint, signal)));
    const found = answers.find(
      (answer) => typeof answer !== "string" && answer.members.some((member) => member.id === id),
    );
    if (found !== undefined && typeof found !== "string") return found;
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

/** What the node there says, or why it says nothing of use. */
async function ask(
  endpoint: string,
  signal: AbortSignal | undefined,
): Promise<FoundCluster | string> {
  const timeout = AbortSignal.timeout(ASK_TIMEOUT_MS);
  const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    const url = new URL("/status", endpoint.replace(/^ws/, "http"));
    const response = await fetch(url, { signal: either, redirect: "error" });
    const cluster = clusterIn(await response.json());
    return cluster ?? `${endpoint} is no node of a cluster`;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return `${endpoint}: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}

function clusterIn(status: unknown): FoundCluster | undefined {
  if (typeof status !== "object" || status === null) return undefined;
  const { clusterId, members } = status as Record<string, unknown>;
  if (typeof clusterId !== "string" || !/^[0-9a-f]{32}$/.test(clusterId)) return undefined;
  if (!Array.isArray(members) || !members.every(isMember)) return undefined;
  return { clusterId, members };
}

function isMember(value: unknown): value is FoundCluster["members"][number] {
  if (typeof value !== "object" || value === null) return false;
  const { id, address } = value as Record<string, unknown>;
  return Number.isSafeInteger(id) && typeof address === "string";
}
