/**
 * Who the peers are, as their hellos say, and whether a link to one may stand.
 *
 * A hello is refused when it shows that two nodes would not mean the same thing: another cluster,
 * another node than the one dialed, our own id, a node that is no member, or one whose votes and log
 * cannot be those it vouched for. Whether they can, `known-peers.ts` judges.
 */
import type { NodeId } from "../raft/index.js";
import { KnownPeers } from "./known-peers.js";
import { decodeHello, type HelloRefusal, PEER_CLOSE, type PeerHello } from "./peer-hello.js";
import type { KnownPeer, PeerIdentity } from "./types.js";

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
    const refusal = this.#judge(hello, dialed);
    if (refusal !== undefined) return refusal;
    const { identity } = hello;
    const before = this.#met.get(identity.nodeId);
    if (
      before === undefined ||
      before.incarnation !== identity.incarnation ||
      before.advertise !== identity.advertise
    ) {
      this.#met.set(identity.nodeId, identity);
      this.#known.note(identity);
      this.#onIdentity(identity);
    }
    return identity;
  }

  #judge(hello: PeerHello, dialed: NodeId): HelloRefusal | undefined {
    const own = this.own;
    const { nodeId, clusterId } = hello.identity;
    if (clusterId !== own.clusterId) {
      const reason = `node ${nodeId} is of cluster ${clusterId}, not ${own.clusterId}`;
      return { code: PEER_CLOSE.wrongCluster, reason };
    }
    if (nodeId === own.nodeId) {
      const reason = `a second process has the id ${nodeId}, or node ${nodeId} dialed itself`;
      return { code: PEER_CLOSE.ownId, reason };
    }
    if (dialed !== 0 && nodeId !== dialed) {
      return { code: PEER_CLOSE.wrongNode, reason: `node ${nodeId} answered, not node ${dialed}` };
    }
    if (hello.expectedId !== own.nodeId) {
      const reason = `node ${nodeId} seeks node ${hello.expectedId}, but this is ${own.nodeId}`;
      return { code: PEER_CLOSE.wrongNode, reason };
    }
    if (!this.#members.has(nodeId)) {
      const reason = `node ${nodeId} is no member that node ${own.nodeId} knows`;
      return { code: PEER_CLOSE.notAMember, reason };
    }
    return this.#known.refusalOf(hello.identity);
  }
}
