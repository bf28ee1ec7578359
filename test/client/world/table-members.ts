/**
 * The members of a `TableServer`, by the rules of a leader: a request for what is already so
 * changes nothing, a learner is promoted when it has caught up, and no change leaves fewer
 * reachable voters than a majority needs.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import {
  type ChangeMemberOperation,
  type LeaderOperation,
  type MembersView,
  OP,
  STATUS,
} from "../../../src/protocol/index.js";

interface Member {
  role: "voter" | "learner";
  address: string;
  readonly endpoint: string;
}

/** What of an answer the membership decides. */
interface Outcome {
  readonly status: typeof STATUS.ok | ErrorNumber;
  readonly payload: unknown;
}

/** The part of the cluster that operations look at and change. */
interface Cluster {
  leaderId: number;
  readonly faults: { readonly downNodes: ReadonlySet<number> };
}

const DONE: Outcome = Object.freeze({ status: STATUS.ok, payload: null });

export class TableMembers {
  readonly #members = new Map<number, Member>();
  /** Entries that a node still lacks. */
  readonly lag = new Map<number, number>();
  /** Everything that reached the leader, in order. */
  readonly asked: LeaderOperation[] = [];
  /** What really changed. */
  changes = 0;

  constructor(nodes: readonly { readonly id: number; readonly endpoint: string }[]) {
    for (const { id, endpoint } of nodes) {
      this.#members.set(id, { role: "voter", address: `node-${id}:7511`, endpoint });
    }
  }

  unavailable(): Outcome {
    return refused("UNAVAILABLE", "no leader carried it out in time");
  }

  carryOut(operation: LeaderOperation, cluster: Cluster): Outcome {
    this.asked.push(operation);
    if (operation.op === OP.members) return { status: STATUS.ok, payload: this.#view(cluster) };
    if (operation.op === OP.changeMember) return this.#change(operation, cluster);
    const voters = this.#voters().filter((id) => !cluster.faults.downNodes.has(id));
    const next = operation.node || voters.find((id) => id !== cluster.leaderId);
    if (next === undefined || !voters.includes(next)) {
      return refused("INVALID_ARGUMENT", `node ${operation.node} is not a voter and cannot lead`);
    }
    if (next !== cluster.leaderId) this.changes += 1;
    cluster.leaderId = next;
    return DONE;
  }

  #change({ action, node, address }: ChangeMemberOperation, cluster: Cluster): Outcome {
    const member = this.#members.get(node);
    if (action === "add") return this.#add(node, address ?? "", member);
    if (member === undefined) {
      if (action === "remove") return DONE;
      return refused("INVALID_ARGUMENT", `node ${node} is not a member; add it first`);
    }
    const isVoter = action === "promote";
    if (action !== "remove" && (member.role === "voter") === isVoter) return DONE;
    if (isVoter && (this.lag.get(node) ?? 0) > 0) {
      return refused("BUSY", "the node has not caught up with the log yet");
    }
    if (!isVoter && member.role === "voter" && !this.#canSpare(node, cluster)) {
      return refused("FORBIDDEN", "the cluster would lose its majority");
    }
    this.changes += 1;
    if (action === "remove") this.#members.delete(node);
    else member.role = isVoter ? "voter" : "learner";
    return DONE;
  }

  #add(node: number, address: string, member: Member | undefined): Outcome {
    if (member?.address === address) return DONE;
    this.changes += 1;
    if (member !== undefined) member.address = address;
    else this.#members.set(node, { role: "learner", address, endpoint: "" });
    return DONE;
  }

  #canSpare(node: number, { faults }: Cluster): boolean {
    const rest = this.#voters().filter((id) => id !== node);
    return rest.filter((id) => !faults.downNodes.has(id)).length * 2 > rest.length;
  }

  #voters(): number[] {
    return [...this.#members].flatMap(([id, { role }]) => (role === "voter" ? [id] : []));
  }

  #view({ leaderId, faults }: Cluster): MembersView {
    const members = [...this.#members].map(([id, { role, address, endpoint }]) => ({
      id,
      role,
      address,
      endpoint,
      isReachable: !faults.downNodes.has(id),
      lagEntries: this.lag.get(id) ?? 0,
      incarnation: 1,
    }));
    return { leaderId, term: 1, commitIndex: 1, isJoint: false, members };
  }
}

function refused(code: keyof typeof ERROR_NUMBERS, message: string): Outcome {
  return { status: ERROR_NUMBERS[code], payload: { message } };
}
