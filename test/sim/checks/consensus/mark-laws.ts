/**
 * What the mark on the disk of a node must say. Everything that is reported durable is in segments
 * that the mark names: otherwise nothing would notice at opening that a segment is lost, with
 * everything acknowledged in it. The log as it was when a vote was cast is below the mark, so that
 * its loss does not look like a torn tail. The mark also contains every peer that is reported to be
 * in it, and every peer that has the vote of this node, with the directory that the peer came with:
 * what is not in the mark is forgotten when the process ends.
 */
import type { PeerIdentity } from "../../../../src/net/index.js";
import type { VoteReply, VoteRequest } from "../../../../src/raft/index.js";
import type { NodeDisk } from "../../world/disk/node-disk.js";
import type { Fail } from "../violation.js";

type DurableMark = NonNullable<Awaited<ReturnType<NodeDisk["durableMark"]>>>;

export class MarkLaws {
  readonly #fail: Fail;
  /** By node: the last segment when it was looked at last. */
  readonly #looked = new Map<number, number>();
  /** As whom nodes came last, by the node that let them in and theirs. */
  readonly #met = new Map<string, PeerIdentity>();
  /** As whom they first asked for a vote, by the node that they asked, theirs and the term. */
  readonly #askers = new Map<string, PeerIdentity>();

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  /** A write of node `id` is reported durable, which lies in the last segment there is. */
  onDurable(id: number, disk: NodeDisk): void {
    const { lastSegment } = disk;
    if (this.#looked.get(id) === lastSegment) return;
    this.#looked.set(id, lastSegment);
    this.#look(disk, (mark) => {
      const demanded = mark?.lastSegment ?? 0;
      if (demanded >= lastSegment) return;
      const text = `node ${id} has durable writes in ${lastSegment}, its mark ends at ${demanded}`;
      this.#fail("the mark demands what is durable", text);
    });
  }

  /** Node `id` was told that it has noted a peer durably. */
  onNoted(id: number, disk: NodeDisk, peer: PeerIdentity): void {
    this.#look(disk, (mark) => {
      if (mark !== undefined && knows(mark, peer)) return;
      this.#fail("a noted peer is in the mark", `node ${id} has not kept node ${peer.nodeId}`);
    });
  }

  /** Node `id` lets `peer` in, or is let in by it. */
  onMet(id: number, peer: PeerIdentity): void {
    this.#met.set(`${id}/${peer.nodeId}`, peer);
  }

  /** Where somebody asks once more, in another life perhaps, the first time counts. */
  onAsked({ from, to, term }: VoteRequest): void {
    const asker = this.#met.get(`${to}/${from}`);
    const vote = `${to}/${from}/${term}`;
    if (asker !== undefined && !this.#askers.has(vote)) this.#askers.set(vote, asker);
  }

  /** A vote leaves, which the write `seq` of the log holds. */
  onVote({ from, to, term }: VoteReply, disk: NodeDisk, seq: number): void {
    const asker = this.#askers.get(`${from}/${to}/${term}`);
    if (asker === undefined) return;
    this.#look(disk, (mark) => {
      if (mark !== undefined && mark.seq >= seq && knows(mark, asker)) return;
      const text = `node ${from} votes for ${to} by write ${seq}, its mark is at ${mark?.seq}`;
      this.#fail("a vote is below the mark", text);
    });
  }

  /** At the mark as it is now. */
  #look(disk: NodeDisk, check: (mark: DurableMark | undefined) => void): void {
    disk.durableMark().then(check, () => check(undefined));
  }
}

function knows({ peers }: DurableMark, { nodeId, birth, incarnation }: PeerIdentity): boolean {
  const known = peers.get(nodeId);
  if (known === undefined || known.incarnation < incarnation) return false;
  return known.incarnation > incarnation || known.births.at(-1) === birth;
}
