/**
 * The cluster to which a node belongs: the cluster in its data or, for a fresh directory, in its
 * options. Data must never be started as the data of another cluster.
 */
import { OptionError } from "../../errors/index.js";
import { isFreshDirectory, readIdentity } from "../../storage/index.js";
import { foundingConfiguration } from "./addresses.js";
import { demandPlausibleClock } from "./founding-clock.js";
import { demandNoVote, type FoundCluster, findCluster, type JoinProof } from "./join-cluster.js";
import type { NodeTls } from "./node-tls.js";
import type { ResolvedOptions } from "./resolve-options.js";

/**
 * Data may only be started with the founders under which they were written: one of three nodes,
 * started as a cluster of one, would elect itself and grant locks that the others have granted
 * already.
 */
export async function findBelonging(
  options: ResolvedOptions,
  tls: NodeTls | undefined,
): Promise<FoundCluster> {
  const { id, initialCluster, clusterId, join, dataDirectory, log, signal } = options;
  const stored = await readIdentity(dataDirectory);
  const members = foundingConfiguration(initialCluster ?? []).addresses;
  if (stored === undefined) {
    if (clusterId !== undefined) {
      demandPlausibleClock(Date.now());
      return { clusterId, members };
    }
    if (join.length > 0) {
      const found = await findCluster(id, join, log, signal, joinProof(options, tls));
      // Opening the directory handles damaged data.
      if (await isFreshDirectory(dataDirectory)) demandNoVote(id, found, dataDirectory);
      return found;
    }
    throw new OptionError(
      "INVALID_ARGUMENT",
      (say) =>
        `a fresh data directory needs ${say("initialCluster")}, to found a cluster, or ${say("join")}`,
    );
  }
  if (clusterId === undefined || clusterId === stored.clusterId) {
    return { clusterId: stored.clusterId, members };
  }
  throw new OptionError(
    "INVALID_ARGUMENT",
    (say) =>
      `the data in ${dataDirectory} belong to another cluster: ${say("initialCluster")} and ` +
      `${say("clusterName")} must be those it was created with (${say("peerAddresses")} says ` +
      "where a peer has moved); leave both out for a node that was restored or has joined",
    { details: { stored: stored.clusterId, options: clusterId } },
  );
}

/** A node that has never received its members must ask for them before it can answer clients. */
export async function askForMembers(
  options: ResolvedOptions,
  clusterId: string,
  tls: NodeTls | undefined,
): Promise<FoundCluster> {
  const { id, join, dataDirectory, log, signal } = options;
  if (join.length === 0) {
    const why = "no leader has sent this node its members yet";
    throw new OptionError(
      "INVALID_ARGUMENT",
      (say) => `${why}: ${say("join")} or ${say("initialCluster")} is needed`,
    );
  }
  const found = await findCluster(id, join, log, signal, joinProof(options, tls));
  if (found.clusterId !== clusterId) {
    throw new OptionError(
      "INVALID_ARGUMENT",
      (say) =>
        `the data in ${dataDirectory} belong to a different cluster from the one at ${say("join")}`,
      { details: { stored: clusterId, options: found.clusterId } },
    );
  }
  demandNoVote(id, found, dataDirectory);
  return found;
}

function joinProof({ joinToken }: ResolvedOptions, tls: NodeTls | undefined): JoinProof {
  return { tls: () => tls?.transport.pageTls, token: joinToken };
}
