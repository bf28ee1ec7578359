/**
 * Brings a node back whose data are damaged or lost. It may have forgotten a vote or an entry that
 * it once vouched for, so the others must stop counting on it before it starts anew: the directory
 * is not touched until the cluster has confirmed that the node is a learner.
 */
import type { Admin, MembersView, MemberView } from "../../src/index.js";
import type { NodeFinding, RecoveredNode, RecoverNodeOptions } from "../../src/server/index.js";
import { EXIT } from "../output/exit-codes.js";
import { Failure } from "../output/failure.js";

/** What is done to the directory, by `src/server`. */
export interface RecoverySteps {
  /** Changes nothing but the count of starts. Rejects when it is in use or another node's. */
  examine(options: { readonly id: number; readonly dataDirectory: string }): Promise<NodeFinding>;
  /** Sets the files aside and makes a fresh directory of the node, whose first start is a join. */
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
 * Fails with exit code 5 when the node is no member, leads, or cannot be spared by the others; with
 * 1 or 2 when the directory cannot be used; with 4 when nobody leads.
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
  tell(`${dataDirectory}: ${finding.problem ?? "nothing wrong can be seen from outside"}`);
  const view = await admin.members();
  const member = requireMember(view, id);
  const wasVoter = member.role === "voter";
  if (wasVoter) {
    await admin.demoteMember(id);
    tell(`the cluster counts on node ${id} no more: it is a learner`);
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
      `node ${id} is no member of the cluster (${ids}): a new node is added with member add`,
    );
  }
  if (view.leaderId === id) {
    throw new Failure(EXIT.refused, `node ${id} leads the cluster: it runs, and on other data`);
  }
  return member;
}
