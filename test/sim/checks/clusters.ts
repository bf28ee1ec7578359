/** The clusters of a run: the one that clients use now, and those from which it was restored. */
import type { SimNode } from "../world/node/sim-node.js";
import type { ClusterChecks } from "./cluster-checks.js";

export class Clusters {
  #now: ClusterChecks;
  readonly #former: ClusterChecks[] = [];

  constructor(first: ClusterChecks) {
    this.#now = first;
  }

  get now(): ClusterChecks {
    return this.#now;
  }

  /** The one that there was is stopped for good. */
  goOn(next: ClusterChecks): void {
    this.#former.push(this.#now);
    this.#now = next;
  }

  /** To which a node belongs by what is on its disk. */
  of({ clusterId }: SimNode): ClusterChecks {
    return this.#former.find(({ founding }) => founding.clusterId === clusterId) ?? this.#now;
  }

  /** The cluster that granted it: its tokens are above all tokens of the cluster before it. */
  whichGranted(token: number): ClusterChecks {
    const isIts = ({ witness }: ClusterChecks): boolean => token < witness.table.nextToken;
    return this.#former.find(isIts) ?? this.#now;
  }

  get committedCount(): number {
    return this.#sum(({ raft }) => raft.committedCount);
  }

  get grantCount(): number {
    return this.#sum(({ witness }) => witness.grantCount);
  }

  get leaderCount(): number {
    return this.#sum(({ raft }) => raft.leaderCount);
  }

  #sum(countOf: (cluster: ClusterChecks) => number): number {
    return [...this.#former, this.#now].reduce((sum, cluster) => sum + countOf(cluster), 0);
  }
}
