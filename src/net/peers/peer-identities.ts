/**
 * The identities of the peers, as their hellos state them, and whether a link to a peer is allowed.
 *
 * A hello is refused if it shows that the two nodes would not mean the same thing: another cluster,
 * another node than the one dialed, our own id, a node that is not a member, or a node whose votes
 * and log cannot be those it vouched for. `known-peers.ts` decides the last of these.
 *
 * Without TLS a hello proves nothing, and a false one that is recorded can keep the real node out for good. So
 * new facts about a node are believed only if it answers where that node is dialed: the address of
 * a member is in the log, and no stranger answers there. From a node that dialed in, a higher
 * incarnation on the known directory is believed as well: only a node that has learned the birth of
 * that directory knows it.
 */
import type { NodeId } from "../../raft/index.js";
import type { KnownPeer, PeerIdentity } from "../types.js";
import { decodeHello, type HelloRefusal, PEER_CLOSE, type PeerHello, refusal } from "./hello.js";
import { KnownPeers } from "./known-peers.js";

export class PeerIdentities {
  readonly own: PeerIdentity;
  #members: ReadonlySet<NodeId>;
  /** The last hello of each peer since this node started. */
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

  /** Sets the nodes that may have a link from now on. */
  setMembers(members: Iterable<NodeId>): void {
    this.#members = new Set(members);
  }

  isMember(nodeId: NodeId): boolean {
    return this.#members.has(nodeId);
  }

  /**
   * Reads the first message of a link. `dialed` is the node that this one dialed, 0 if the other
   * side dialed. `certified` is the node that the certificate of the link names, 0 without TLS.
   *
   * @returns the sender's identity if a link to it is allowed, otherwise why not
   */
  admit(data: Uint8Array, dialed: NodeId, certified: NodeId): PeerIdentity | HelloRefusal {
    const hello = decodeHello(data);
    if ("code" in hello) return hello;
    if (certified !== 0 && hello.identity.nodeId !== certified) {
      const detail = `it has the certificate of node ${certified} and says it is node ${hello.identity.nodeId}`;
      return refusal(PEER_CLOSE.certificate, "the certificate of another node", detail);
    }
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
      before.advertise === identity.advertise &&
      before.redisAddress === identity.redisAddress
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
      const detail = `node ${nodeId} belongs to cluster ${clusterId}, not ${own.clusterId}`;
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
      const detail = `node ${nodeId} is not a member known to node ${own.nodeId}`;
      return refusal(PEER_CLOSE.notAMember, "not a member", detail);
    }
    const refused = this.#known.refusalOf(hello.identity);
    if (refused !== undefined || dialed !== 0 || !this.#known.isOther(hello.identity)) {
      return refused;
    }
    const detail =
      `node ${nodeId} says it has another directory, ` +
      "which counts only after this node has dialed it";
    const reason = "another directory counts only after this node has dialed the node that has it";
    return { code: PEER_CLOSE.unproven, reason, detail, unproven: nodeId };
  }
}
