/**
 * Who belongs to the cluster, as the driver follows it: what counts from the moment it is appended
 * (whom to talk to, who makes a majority) and what is known to everybody once it is applied (whether
 * this node was removed). It decides nothing; changes are made by the core.
 */
import type { MembersView, NodeEndpoint } from "../protocol/index.js";
import {
  type Configuration,
  isJoint,
  isVoter,
  type MemberAddress,
  membersOf,
  type NodeId,
  type Raft,
} from "../raft/index.js";

/** Election timeouts for which a node that left is still talked to: it should hear that it did. */
const FAREWELL_TIMEOUTS = 10;

export class Members {
  readonly #nodeId: NodeId;
  readonly #farewellMs: number;
  readonly #onPeers: (peers: readonly MemberAddress[]) => void;
  #present: readonly MemberAddress[] = [];
  /** Members until lately. */
  #departing: readonly MemberAddress[] = [];
  #departedAtMs = Number.POSITIVE_INFINITY;
  #wasMember = false;
  #isRemoved = false;

  /** `onPeers`: told of everybody who is to be linked with from now on. */
  constructor(
    nodeId: NodeId,
    electionTimeoutMs: number,
    onPeers: (peers: readonly MemberAddress[]) => void,
  ) {
    this.#nodeId = nodeId;
    this.#farewellMs = FAREWELL_TIMEOUTS * electionTimeoutMs;
    this.#onPeers = onPeers;
  }

  /** When `bidFarewell` has something to do. */
  get nextDeadlineMs(): number {
    return this.#departedAtMs;
  }

  /** This node was a member, and is none as of the last entry it applied. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  /** It counts from now on, committed or not. */
  onEffective({ addresses }: Configuration, nowMs: number): void {
    const left = [...this.#departing, ...this.#present].filter(
      ({ id }) => !addresses.some((member) => member.id === id),
    );
    this.#present = addresses;
    this.#departing = left;
    this.#departedAtMs = left.length === 0 ? Number.POSITIVE_INFINITY : nowMs + this.#farewellMs;
    this.#onPeers([...addresses, ...left]);
  }

  /** Once a turn: who left long ago is not talked to any more. */
  bidFarewell(nowMs: number): void {
    if (nowMs < this.#departedAtMs) return;
    this.#departing = [];
    this.#departedAtMs = Number.POSITIVE_INFINITY;
    this.#onPeers(this.#present);
  }

  /** `configuration` is that of the last applied entry. */
  onApplied(configuration: Configuration): void {
    const isMember = membersOf(configuration).includes(this.#nodeId);
    this.#isRemoved = this.#wasMember && !isMember;
    this.#wasMember ||= isMember;
  }

  /** What `members` answers on the leader. */
  view(
    raft: Raft,
    endpoints: readonly NodeEndpoint[],
    incarnations: ReadonlyMap<NodeId, number>,
    ownIncarnation: number,
  ): MembersView {
    const { configuration, commitIndex } = raft;
    const peers = new Map(raft.peers.map((peer) => [peer.id, peer]));
    const members = membersOf(configuration)
      .sort((a, b) => a - b)
      .map((id) => {
        const isSelf = id === this.#nodeId;
        const peer = peers.get(id);
        const incarnation = isSelf ? ownIncarnation : (incarnations.get(id) ?? 0);
        return {
          id,
          role: isVoter(configuration, id) ? ("voter" as const) : ("learner" as const),
          address: configuration.addresses.find((member) => member.id === id)?.address ?? "",
          endpoint: endpoints.find((endpoint) => endpoint.id === id)?.endpoint ?? "",
          isReachable: isSelf || peer?.isReachable === true,
          lagEntries: isSelf ? 0 : Math.max(0, commitIndex - (peer?.matchIndex ?? 0)),
          incarnation,
        };
      });
    return {
      leaderId: raft.leader,
      term: raft.term,
      commitIndex,
      isJoint: isJoint(configuration),
      members,
    };
  }
}
