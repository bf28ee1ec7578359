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
 *
 * What is noted here can keep a node out for good, so a number of starts that no node can have
 * reached is refused before it is noted.
 */
import type { NodeId } from "../../raft/index.js";
import type { KnownPeer, PeerIdentity } from "../types.js";
import { type HelloRefusal, PEER_CLOSE, refusal } from "./hello.js";

/** As many are kept on disk. */
const BIRTHS_MAX = 64;
/**
 * Starts that a node can have had since it was met last: one a second for half a year. A number
 * beyond that is damage or forged, and would make every later start of the node look like an old one.
 */
export const INCARNATION_JUMP_MAX = 2 ** 24;

export class KnownPeers {
  readonly #peers: Map<NodeId, KnownPeer>;

  constructor(known: ReadonlyMap<NodeId, KnownPeer>) {
    this.#peers = new Map(known);
  }

  /** Why the node cannot be talked to; `undefined` when it can. */
  refusalOf({ nodeId, birth, origin, incarnation }: PeerIdentity): HelloRefusal | undefined {
    const known = this.#peers.get(nodeId);
    const highest = known?.incarnation ?? 0;
    if (incarnation > highest + INCARNATION_JUMP_MAX) {
      const detail = `node ${nodeId} came as incarnation ${incarnation} after ${highest}`;
      return refusal(PEER_CLOSE.farIncarnation, "an incarnation that no node has reached", detail);
    }
    if (known === undefined) return undefined;
    const remedy = "bring it back with holdfast recover";
    if (known.births.at(-1) === birth) {
      if (incarnation >= highest) return undefined;
      const found = `node ${nodeId} came as incarnation ${incarnation} after ${highest}`;
      const reason = `an older process, or an old copy of its directory: ${remedy}`;
      const detail = `${found}, an old copy: ${remedy} --id ${nodeId}`;
      return refusal(PEER_CLOSE.staleIncarnation, reason, detail);
    }
    const isSuccessor = origin === "joined" && incarnation > highest;
    if (isSuccessor && !known.births.includes(birth)) return undefined;
    const what = "another data directory than before";
    const detail = `node ${nodeId} has ${what}: ${remedy} --id ${nodeId}`;
    return refusal(PEER_CLOSE.otherDirectory, `${what}: ${remedy}`, detail);
  }

  /** Whether the node was met, and with another directory. */
  isOther({ nodeId, birth }: PeerIdentity): boolean {
    const known = this.#peers.get(nodeId);
    return known !== undefined && known.births.at(-1) !== birth;
  }

  isKnown(nodeId: NodeId): boolean {
    return this.#peers.has(nodeId);
  }

  /** It was let in like this. */
  note({ nodeId, birth, incarnation }: PeerIdentity): void {
    const former = this.#peers.get(nodeId)?.births ?? [];
    const births = former.at(-1) === birth ? former : [...former, birth].slice(-BIRTHS_MAX);
    this.#peers.set(nodeId, { incarnation, births });
  }
}
