/**
 * Decides whether a node that sends a hello can be the node that was seen under its id before, with
 * the votes and entries it vouched for then.
 *
 * A directory keeps its birth forever, and its incarnation rises with every start on it. The same
 * birth with a lower incarnation is an old copy. Another birth is another directory, which has no
 * record of what was promised. It is accepted only if it was made to receive everything from the
 * others (`joined`) and its incarnation is higher than all that were seen. `holdfast recover` makes
 * such a directory, after the cluster has stopped counting on the node. A directory made in any
 * other way stays refused however often it is started, and so does one that has been replaced. All
 * this also applies to removed nodes.
 *
 * A fact recorded here can keep a node out for good. So an incarnation that no node can have
 * reached is refused before it is recorded.
 */
import type { NodeId } from "../../raft/index.js";
import type { KnownPeer, PeerIdentity } from "../types.js";
import { type HelloRefusal, PEER_CLOSE, refusal } from "./hello.js";

/** As many as are kept on disk. */
const BIRTHS_MAX = 64;
/**
 * The most starts that a node can have had since it was last seen: one a second for half a year. A
 * number beyond that is damaged or forged, and would make every later start of the node look old.
 */
export const INCARNATION_JUMP_MAX = 2 ** 24;

export class KnownPeers {
  readonly #peers: Map<NodeId, KnownPeer>;

  constructor(known: ReadonlyMap<NodeId, KnownPeer>) {
    this.#peers = new Map(known);
  }

  /** Why no link to the node is allowed; `undefined` if one is. */
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

  /** Whether the node was seen before, with another directory. */
  isOther({ nodeId, birth }: PeerIdentity): boolean {
    const known = this.#peers.get(nodeId);
    return known !== undefined && known.births.at(-1) !== birth;
  }

  isKnown(nodeId: NodeId): boolean {
    return this.#peers.has(nodeId);
  }

  /** Records a node that was accepted with this identity. */
  note({ nodeId, birth, incarnation }: PeerIdentity): void {
    const former = this.#peers.get(nodeId)?.births ?? [];
    const births = former.at(-1) === birth ? former : [...former, birth].slice(-BIRTHS_MAX);
    this.#peers.set(nodeId, { incarnation, births });
  }
}
