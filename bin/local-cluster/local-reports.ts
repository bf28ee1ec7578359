/**
 * What the nodes of a local cluster report. Asks each through the socket in its data directory, which
 * answers this user even if the cluster is secured, and at its port if it serves no socket. Never asks
 * a node outside of the plan.
 */
import { resolve } from "node:path";
import { HoldfastError } from "../../src/errors/index.js";
import type { TlsOptions } from "../../src/index.js";
import {
  type AskOptions,
  isReachable,
  type NodeReport,
  nodeReports,
} from "../cluster/node-report.js";
import type { NodePlan } from "./cluster-plan.js";

const READ_MS_MAX = 5_000;

/** One report for each node, in the same order. `tls`: for the ports. */
export async function localReports(
  nodes: readonly NodePlan[],
  tls: TlsOptions,
  options: AskOptions = {},
): Promise<NodeReport[]> {
  const reports = nodes.map(async ({ dataDirectory, endpoint }) => {
    const told = await nodeReports({ endpoints: [`unix:${resolve(dataDirectory)}`] }, options);
    return told.every(isReachable) ? told : nodeReports({ endpoints: [endpoint], ...tls }, options);
  });
  return (await Promise.all(reports)).flat();
}

/**
 * Resolves when the node has applied what was committed when it was asked: before that it may report a
 * secured cluster as open. Asks only through its socket, and gives up when that does not answer.
 */
export async function caughtUp({ dataDirectory }: NodePlan, signal: AbortSignal): Promise<void> {
  const { connectAdmin } = await import("../../src/index.js");
  const endpoints = [`unix:${resolve(dataDirectory)}`];
  try {
    await using admin = await connectAdmin({ endpoints, timeoutMs: READ_MS_MAX, signal });
    await admin.access.check("anonymous", "admin", { prefix: "" });
  } catch (error) {
    if (signal.aborted || !(error instanceof HoldfastError)) throw error;
  }
}
