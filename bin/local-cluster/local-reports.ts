/**
 * What the nodes of a local cluster report. Asks each through the socket in its data directory, which
 * answers this user even if the cluster is closed, and at its port if it serves no socket. Never asks
 * a node outside of the plan.
 */
import { resolve } from "node:path";
import type { TlsOptions } from "../../src/index.js";
import {
  type AskOptions,
  isReachable,
  type NodeReport,
  nodeReports,
} from "../cluster/node-report.js";
import type { NodePlan } from "./cluster-plan.js";

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
