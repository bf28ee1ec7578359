/**
 * Starts one node in this process: options, ports, TLS files, cluster and directory, in an order in
 * which a failed start leaves nothing behind.
 */
import { listeningAddresses } from "../../node-options/index.js";
import { AccessFile, damageOf, isFreshDirectory, openDataDirectory } from "../../storage/index.js";
import type { NodeOptions, RunningNode } from "../options.js";
import { endpointOf } from "./addresses.js";
import { findBelonging } from "./belonging.js";
import { whenDiskHasSpace } from "./disk-space-wait.js";
import { NodeLogLevels } from "./log-levels.js";
import { NodeTls } from "./node-tls.js";
import { requireFreePort } from "./port-check.js";
import { startQuarantined } from "./quarantine.js";
import { demandOptions, type ResolvedOptions, resolveOptions } from "./resolve-options.js";
import { CLOCK, type Directory, type LeveledOptions, ServingNode } from "./serving-node.js";

/**
 * Resolves once the node listens for clients and peers. On a full disk that is once there is space,
 * and until then only its pages can be read. A node with damaged data is started too, but takes no
 * part in its cluster and says so on its pages. Rejects with `INVALID_ARGUMENT` for impossible
 * options, with `UNAVAILABLE` for an address that is not available or TLS files that cannot be used,
 * with `FORBIDDEN` for a fresh directory of a node that votes in the cluster it joins, and with the
 * error of the directory if that cannot be used or belongs to another node, cluster or process.
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { settled, access } = await settleOptions(options);
  const logLevels = new NodeLogLevels(settled.log, settled.logLevel, CLOCK);
  const resolved = { ...settled, log: logLevels.log, logLevels };
  const { listen, id, log } = resolved;
  for (const [name, address] of listeningAddresses(resolved)) await requireFreePort(name, address);
  const { hostname } = new URL(endpointOf(resolved, listen.port));
  const host = hostname.replace(/^\[|\]$/g, "");
  const tls = resolved.tls && (await NodeTls.load(resolved.tls, id, host, log));
  tls?.follow();
  try {
    return await startWith(resolved, tls, access);
  } catch (error) {
    tls?.close();
    throw error;
  }
}

/**
 * What a start finds out first, from the options and the data directory. Changes nothing. Rejects
 * with `INVALID_ARGUMENT` for impossible options, and with the error of a directory that cannot be
 * used, if the options need what is in it.
 */
export async function settleOptions(
  options: NodeOptions,
): Promise<{ settled: ResolvedOptions; access: AccessFile }> {
  demandOptions(options);
  const { dataDirectory, initialCluster, join, peerListen } = options;
  const access = await AccessFile.read(dataDirectory);
  const isAddressed = (initialCluster ?? join ?? peerListen) !== undefined;
  const settled = resolveOptions(options, {
    access: access.facts.isRequired ? "required" : "open",
    hasData: !isAddressed && !(await isFreshDirectory(dataDirectory)),
  });
  return { settled, access };
}

async function startWith(
  resolved: LeveledOptions,
  tls: NodeTls | undefined,
  access: AccessFile,
): Promise<RunningNode> {
  const found = await findBelonging(resolved, tls);
  const { clusterId } = found;
  try {
    const open = (): Promise<Directory> => openData(resolved, clusterId);
    return await whenDiskHasSpace(resolved, clusterId, tls?.transport, open, async (directory) => {
      let node: ServingNode;
      try {
        node = new ServingNode(resolved, directory, found, tls, access);
      } catch (error) {
        await directory.close();
        throw error;
      }
      try {
        await node.start();
      } catch (error) {
        await node.close();
        throw error;
      }
      return node;
    });
  } catch (error) {
    const damage = damageOf(error);
    if (damage === undefined) throw error;
    return startQuarantined(resolved, clusterId, tls, damage);
  }
}

function openData(options: ResolvedOptions, clusterId: string): Promise<Directory> {
  return openDataDirectory({
    path: options.dataDirectory,
    nodeId: options.id,
    clusterId,
    origin: options.initialCluster === undefined ? "joined" : "initial",
    segmentBytes: options.tuning.segmentBytes,
  });
}
