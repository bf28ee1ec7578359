/**
 * Who the peers are, as their hellos say, and whether a link to one may stand.
 *
 * A hello is refused when it shows that two nodes would not mean the same thing: another cluster,
 * another node than the one dialed, our own id, a node that is no member, or one whose votes and log
 * cannot be those it vouched for. Whether they can, `known-peers.ts` judges.
 *
 * A hello proves nothing, and one that is noted can keep the real node out for good. So what is new
 * about a node is believed only of the one that answers where that node is dialed: the address of a
 * member stands in the log, and no stranger answers there. Of one that dialed in, a higher
 * incarnation on the directory that is known is believed as well: who knows its birth has been told.
 */
import type { NodeId } from "../../raft/index.js";
import type { KnownPeer, PeerIdentity } from "../types.js";
import { decodeHello, type HelloRefusal, PEER_CLOSE, type PeerHello, refusal } from "./hello.js";
import { KnownPeers } from "./known-peers.js";

export class PeerDirectory {
  readonly own: PeerIdentity;
  #members: ReadonlySet<NodeId>;
  /** The last hello of each, of this life. */
  readonly #met = new Map<NodeId, PeerIdentity>();
  readonly #known: KnownPeers;
  readonly #onIdentity: (identity: PeerIdentity) => void;

  constructor(
    own: PeerIdentity,
    members: Iterable<NodeId>,
    known: ReadonlyMap<NodeId, KnownPeer>,
    onIdentity: (identity: PeerIdentity) => void,
  ) {
    this.own = own;
    this.#members = new Set(members);
    this.#known = new KnownPeers(known);
    this.#onIdentity = onIdentity;
  }

  /** Exactly these may have a link from now on. */
  setMembers(members: Iterable<NodeId>): void {
    this.#members = new Set(members);
  }

  isMember(nodeId: NodeId): boolean {
    return this.#members.has(nodeId);
  }

  /**
   * Reads the first message of a link: its sender, when it may be talked to, else why not. `dialed`
   * is the node this one meant to reach, 0 when the other side dialed.
   */
  admit(data: Uint8Array, dialed: NodeId): PeerIdentity | HelloRefusal {
    const hello = decodeHello(data);
    if ("code" in hello) return hello;
    const refused = this.#judge(hello, dialed);
    if (refused !== undefined) return refused;
    const { identity } = hello;
    if (dialed === 0 && !this.#known.isKnown(identity.nodeId)) return identity;
    this.#note(identity);
    return identity;
  }

  #note(identity: PeerIdentity): void {
    const before = this.#met.get(identity.nodeId);
    if (
      before?.incarnation === identity.incarnation &&
      before.birth === identity.birth &&
      before.advertise === identity.advertise
    ) {
      return;
    }
    this.#met.set(identity.nodeId, identity);
    this.#known.note(identity);
    this.#onIdentity(identity);
  }

  #judge(hello: PeerHello, dialed: NodeId): HelloRefusal | undefined {
    const own = this.own;
    const { nodeId, clusterId } = hello.identity;
    if (clusterId !== own.clusterId) {
      const detail = `node ${nodeId} is of cluster ${clusterId}, not ${own.clusterId}`;
      return refusal(PEER_CLOSE.wrongCluster, "another cluster", detail);
    }
    if (nodeId === own.nodeId) {
      const detail = `a second process has the id ${nodeId}, or node ${nodeId} dialed itself`;
      return refusal(PEER_CLOSE.ownId, "two processes with one id, or a node's own port", detail);
    }
    if (dialed !== 0 && nodeId !== dialed) {
      const detail = `node ${nodeId} answered, not node ${dialed}`;
      return refusal(PEER_CLOSE.wrongNode, "another node than the one dialed", detail);
    }
    if (hello.expectedId !== own.nodeId) {
      const detail = `node ${nodeId} seeks node ${hello.expectedId}, but this is ${own.nodeId}`;
      return refusal(PEER_CLOSE.wrongNode, "another node than the one sought", detail);
    }
    if (!this.#members.has(nodeId)) {
      const detail = `node ${nodeId} is no member that node ${own.nodeId} knows`;
      return refusal(PEER_CLOSE.notAMember, "no member", detail);
    }
    const refused = this.#known.refusalOf(hello.identity);
    if (refused !== undefined || dialed !== 0 || !this.#known.isOther(hello.identity)) {
      return refused;
    }
    const detail = `node ${nodeId} says it has another directory: it is dialed before that counts`;
    const reason = "a directory that counts when it was met where this node dials";
    return { code: PEER_CLOSE.unproven, reason, detail, unproven: nodeId };
  }
}
