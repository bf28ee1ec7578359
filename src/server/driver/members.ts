/**
 * The members of the cluster as the driver follows them. A configuration counts from the moment it
 * is appended (whom to connect to, what is a majority); whether this node was removed counts once
 * it is applied. Decides nothing: the core makes the changes.
 */
import type { PeerMessage } from "../../net/index.js";
import type { MembersView, NodeEndpoint } from "../../protocol/index.js";
import {
  type Configuration,
  encodeConfiguration,
  isJoint,
  isVoter,
  type MemberAddress,
  membersOf,
  type NodeId,
  type Raft,
} from "../../raft/index.js";
import { MemberHints } from "./member-hints.js";

/** How long a removed peer has to learn of its removal, in election timeouts. */
const REMOVED_PEER_TIMEOUTS = 10;

/** An entry, and the members at that entry. */
export interface AppliedPosition {
  readonly index: number;
  readonly configuration: Configuration;
}

export class Members {
  readonly #nodeId: NodeId;
  readonly #removedPeerMs: number;
  readonly #onPeers: (peers: readonly MemberAddress[]) => void;
  readonly #send: (peer: NodeId, message: PeerMessage) => void;
  #present: readonly MemberAddress[] = [];
  /** Former members, which may not know of their removal yet. */
  #removed: readonly MemberAddress[] = [];
  #dropRemovedAtMs = Number.POSITIVE_INFINITY;
  readonly #hints = new MemberHints();
  #appliedIndex = 0;
  /** At the last applied entry; empty until a leader has sent the members. */
  #applied: ReadonlySet<NodeId> = new Set();
  #wasMember = false;
  #isRemoved = false;

  /** `onPeers` is called with the members to be linked with from now on. */
  constructor(
    nodeId: NodeId,
    electionTimeoutMs: number,
    onPeers: (peers: readonly MemberAddress[]) => void,
    send: (peer: NodeId, message: PeerMessage) => void,
  ) {
    this.#send = send;
    this.#nodeId = nodeId;
    this.#removedPeerMs = REMOVED_PEER_TIMEOUTS * electionTimeoutMs;
    this.#onPeers = onPeers;
  }

  /** When `dropRemovedPeers` has something to do. */
  get nextDeadlineMs(): number {
    return this.#dropRemovedAtMs;
  }

  /**
   * This node was a member, is not one at the last entry it applied, and no later entry that it knows
   * of adds it again. Such an entry may be in its log, and the next leader might commit it; or another
   * member has applied it, and the next leader might need the vote of this node.
   */
  get isRemoved(): boolean {
    const isSelf = ({ id }: MemberAddress): boolean => id === this.#nodeId;
    return this.#isRemoved && !this.#present.some(isSelf) && !this.#hints.members.some(isSelf);
  }

  /** By the newest entry or the last applied one; any node may be one of a cluster not known yet. */
  isMember(id: NodeId): boolean {
    if (this.#present.length === 0 && this.#applied.size === 0) return true;
    return this.#applied.has(id) || this.#present.some((member) => member.id === id);
  }

  /**
   * Whether a snapshot of `sender` with these voters can be one of this cluster: this node knows
   * one of them besides itself, by its own log or by what others than the sender said. A node that
   * waits to learn the members knows none.
   */
  knowsVoterOf({ voters }: Configuration, sender: NodeId): boolean {
    const known = new Set([...this.#applied, ...this.#hints.namedByOthersThan(sender)]);
    for (const { id } of [...this.#removed, ...this.#present]) known.add(id);
    known.delete(this.#nodeId);
    return known.size === 0 || voters.some((id) => known.has(id));
  }

  /**
   * Whether that node was removed, and this node has applied its removal. Its links stay for a
   * while, so that it can learn of that. It is no longer heard, except for messages that say how
   * much it learned.
   */
  isGone(peer: NodeId): boolean {
    if (this.#removed.length === 0 || this.#applied.size === 0) return false;
    const isKnown = ({ id }: MemberAddress): boolean => id === peer;
    return !this.isMember(peer) && !this.#hints.members.some(isKnown);
  }

  /** `configuration` is in force from now on, committed or not. */
  onEffective({ addresses }: Configuration, nowMs: number): void {
    const left = [...this.#removed, ...this.#present].filter(
      ({ id }) => !addresses.some((member) => member.id === id),
    );
    this.#present = addresses;
    this.#removed = left;
    this.#dropRemovedAtMs =
      left.length === 0 ? Number.POSITIVE_INFINITY : nowMs + this.#removedPeerMs;
    this.#hints.follow(this.#appliedIndex, (id) => this.isMember(id));
    this.#publish();
  }

  /** `sender` applied this configuration at `index`. */
  onHint(sender: NodeId, index: number, configuration: Configuration | undefined): void {
    if (configuration === undefined) return;
    this.#hints.note(sender, index, configuration.addresses);
    this.#followHints();
  }

  /** Once a turn: ends the links to peers that were removed long ago. */
  dropRemovedPeers(nowMs: number): void {
    if (nowMs < this.#dropRemovedAtMs) return;
    this.#removed = [];
    this.#dropRemovedAtMs = Number.POSITIVE_INFINITY;
    this.#publish();
  }

  /** Sends `peers` the members at the last applied entry. */
  tell(peers: readonly NodeId[], { index, configuration }: AppliedPosition): void {
    if (configuration.addresses.length === 0) return;
    const encoded = encodeConfiguration(configuration);
    for (const peer of peers) this.#send(peer, { type: "members", index, configuration: encoded });
  }

  /** Every other member, according to the log of this node. */
  get others(): readonly NodeId[] {
    return this.#present.map(({ id }) => id).filter((id) => id !== this.#nodeId);
  }

  /** If a node has several addresses, the newest one counts. */
  #publish(): void {
    const byId = new Map<NodeId, MemberAddress>();
    for (const member of [...this.#removed, ...this.#present, ...this.#hints.members]) {
      byId.set(member.id, member);
    }
    this.#onPeers([...byId.values()]);
  }

  /** Everything up to `index` is applied: hints about earlier entries are no longer needed. */
  onIndex(index: number): void {
    this.#appliedIndex = index;
    this.#followHints();
  }

  /** `configuration` is the one in force at the last applied entry. */
  onApplied(configuration: Configuration): void {
    this.#applied = new Set(membersOf(configuration));
    const isMember = this.#applied.has(this.#nodeId);
    this.#isRemoved = this.#wasMember && !isMember;
    this.#wasMember ||= isMember;
    this.#followHints();
  }

  #followHints(): void {
    if (this.#hints.follow(this.#appliedIndex, (id) => this.isMember(id))) this.#publish();
  }

  /** The leader's answer to `members`. */
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
