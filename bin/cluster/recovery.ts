/**
 * Recovers a node whose data are damaged or lost. It may have forgotten a vote or an entry that it
 * once confirmed, so the others must stop counting on it before it starts again: the directory is
 * not changed until the cluster has confirmed that the node is a learner.
 */
import type { Admin, MembersView, MemberView } from "../../src/index.js";
import type { NodeFinding, RecoveredNode, RecoverNodeOptions } from "../../src/server/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";

/** What `src/server` does with the directory. */
export interface RecoverySteps {
  /**
   * Changes nothing but the count of starts. Rejects if it is in use or belongs to another node.
   */
  examine(options: { readonly id: number; readonly dataDirectory: string }): Promise<NodeFinding>;
  /** Sets the files aside and creates a new directory of the node, whose first start is a join. */
  recover(options: RecoverNodeOptions): Promise<RecoveredNode>;
}

export interface RecoveryPlan {
  readonly id: number;
  readonly dataDirectory: string;
}

export interface Recovery {
  readonly finding: NodeFinding;
  readonly wasVoter: boolean;
  readonly recovered: RecoveredNode;
}

/**
 * Fails with exit code 5 if the node is not a member, leads, or cannot be spared by the others;
 * with 1 or 2 if the directory cannot be used; with 4 if there is no leader.
 */
export async function recoverFromCluster(
  admin: Pick<Admin, "clusterId" | "members" | "demoteMember">,
  steps: RecoverySteps,
  plan: RecoveryPlan,
  tell: (line: string) => void,
): Promise<Recovery> {
  const { id, dataDirectory } = plan;
  const finding = await steps.examine({ id, dataDirectory });
  requireSameCluster(finding, admin.clusterId, plan);
  tell(`${dataDirectory}: ${finding.problem ?? "nothing wrong is visible"}`);
  const view = await admin.members();
  const member = requireMember(view, id);
  const wasVoter = member.role === "voter";
  if (wasVoter) {
    await admin.demoteMember(id);
    tell(`the cluster no longer counts on node ${id}: it is a learner`);
  }
  const recovered = await steps.recover({
    id,
    dataDirectory,
    clusterId: admin.clusterId,
    // The others admit no process that is older than one they have seen.
    incarnationMin: member.incarnation,
  });
  return { finding, wasVoter, recovered };
}

function requireSameCluster(finding: NodeFinding, clusterId: string, plan: RecoveryPlan): void {
  if (finding.clusterId === undefined || finding.clusterId === clusterId) return;
  throw new Failure(
    EXIT.usage,
    `${plan.dataDirectory} belongs to another cluster (${finding.clusterId}, not ${clusterId})`,
  );
}

function requireMember(view: MembersView, id: number): MemberView {
  const member = view.members.find((candidate) => candidate.id === id);
  if (member === undefined) {
    const ids = view.members.map((candidate) => candidate.id).join(", ");
    throw new Failure(
      EXIT.refused,
      `node ${id} is not a member of the cluster (${ids}): add a new node with member add`,
    );
  }
  if (view.leaderId === id) {
    throw new Failure(EXIT.refused, `node ${id} leads the cluster: it is running, with other data`);
  }
  return member;
}
