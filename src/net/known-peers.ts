/**
 * Whether a node that says who it is can be the one that was met under its number before, with the
 * votes and entries it vouched for then.
 *
 * A directory has its birth for ever, and its incarnation rises with every start on it. The same
 * birth with a lower incarnation is an old copy. Another birth is another directory, which knows
 * nothing of what was promised: it is let in only as one that was made to be told everything by the
 * others (`joined`), and later than all that was met, which is what `holdfast recover` makes after
 * the cluster has ceased to count on the node. However often a directory that was made in any other
 * way is started, it stays refused; so does one that another has taken the place of. All this is
 * remembered of nodes that were removed too.
 */
import type { NodeId } from "../raft/index.js";
import { type HelloRefusal, PEER_CLOSE } from "./peer-hello.js";
import type { KnownPeer, PeerIdentity } from "./types.js";

/** As many are kept on disk. */
const BIRTHS_MAX = 64;

export class KnownPeers {
  readonly #peers: Map<NodeId, KnownPeer>;

  constructor(known: ReadonlyMap<NodeId, KnownPeer>) {
    this.#peers = new Map(known);
  }

  /** Why the node cannot be talked to; `undefined` when it can. */
  refusalOf({ nodeId, birth, origin, incarnation }: PeerIdentity): HelloRefusal | undefined {
    const known = this.#peers.get(nodeId);
    if (known === undefined) return undefined;
    const remedy = `bring it back with holdfast recover --id ${nodeId}`;
    if (known.births.at(-1) === birth) {
      if (incarnation >= known.incarnation) return undefined;
      const found = `node ${nodeId} came as incarnation ${incarnation} after ${known.incarnation}`;
      return { code: PEER_CLOSE.staleIncarnation, reason: `${found}, an old copy: ${remedy}` };
    }
    const isSuccessor = origin === "joined" && incarnation > known.incarnation;
    if (isSuccessor && !known.births.includes(birth)) return undefined;
    const reason = `node ${nodeId} has another data directory than before: ${remedy}`;
    return { code: PEER_CLOSE.otherDirectory, reason };
  }

  /** It was let in like this. */
  note({ nodeId, birth, incarnation }: PeerIdentity): void {
    const former = this.#peers.get(nodeId)?.births ?? [];
    const births = former.at(-1) === birth ? former : [...former, birth].slice(-BIRTHS_MAX);
    this.#peers.set(nodeId, { incarnation, births });
  }
}
