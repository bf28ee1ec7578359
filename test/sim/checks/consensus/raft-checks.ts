/**
 * What must hold of all nodes together at all times (Raft paper, figure 3, and what durability
 * adds). It is checked after every turn of a node, for that node, and for every message that is
 * sent. The cost of a check depends on what is new, not on the length of the log.
 */
import type { PeerMessage } from "../../../../src/net/index.js";
import { decodeBatchHeader } from "../../../../src/protocol/index.js";
import {
  type Configuration,
  decodeConfiguration,
  type Entry,
  isSameConfiguration,
  type Message,
  type Raft,
  type Write,
} from "../../../../src/raft/index.js";
import type { LogBoot } from "../../../../src/storage/index.js";
import { canonicalTextOf } from "../canonical-text.js";
import type { Fail } from "../violation.js";
import { LogMatching } from "./log-matching.js";
import { isSameEntry, type LogOrigin } from "./logical-log.js";
import { isMajority } from "./majority.js";
import { Members } from "./members.js";
import { NodeLedger } from "./node-ledger.js";
import { PeerViews } from "./peer-views.js";
import { Votes } from "./votes.js";

interface CommittedEntry {
  readonly entry: Entry;
  /** The term of the node that first held it for committed. */
  readonly inTerm: number;
}

interface LastSeen {
  term: number;
  commitIndex: number;
  appliedIndex: number;
  /** The highest commit index that what it received allows it. */
  provenCommit: number;
  /** The term it led at the end of its last turn; 0 for none. */
  ledTerm: number;
  turns: number;
  /** The members that counted on it, by its own words; found right. */
  told: Configuration | undefined;
  /** What that was compared with. */
  compared: Configuration | undefined;
  /** By its log. */
  members: Configuration | undefined;
  /** Whose votes it wanted when it last stood: its requests may leave long after. */
  stood: { readonly term: number; readonly members: Configuration } | undefined;
}

/** How the cluster begins. */
export interface RaftFounding extends LogOrigin {
  readonly founders: Configuration;
  /** Cluster time goes on from there. */
  readonly stamp: number;
}

/** A leader's view of its peers is compared with their disks once in this number of turns. */
const TURNS_PER_PEER_CHECK = 4;

export class RaftChecks {
  readonly #fail: Fail;
  readonly #ledgers = new Map<number, NodeLedger>();
  /** What was on the disks that were emptied: what was said of it stays said. */
  readonly #former = new Map<number, NodeLedger[]>();
  readonly #seen = new Map<number, LastSeen>();
  readonly #leaders = new Map<number, number>();
  readonly #votes: Votes;
  readonly #members: Members;
  readonly #matching: LogMatching;
  readonly #views: PeerViews;
  readonly #committed: CommittedEntry[] = [];
  readonly #onCommitted: (entry: Entry, raft: Raft) => void;
  readonly #origin: LogOrigin;
  #lastStamp: number;

  /** `onCommitted`: told of every entry once, in order, when the first node holds it committed. */
  constructor(
    ids: readonly number[],
    founding: RaftFounding,
    fail: Fail,
    onCommitted: (entry: Entry, raft: Raft) => void,
  ) {
    this.#fail = fail;
    this.#votes = new Votes(fail);
    const { founders, stamp } = founding;
    this.#origin = founding;
    this.#lastStamp = stamp;
    this.#members = new Members(founders);
    this.#matching = new LogMatching(fail);
    this.#views = new PeerViews(fail, (id) => this.#everyLedger(id));
    this.#onCommitted = onCommitted;
    for (const id of ids) {
      this.#ledgers.set(id, new NodeLedger(founding, founders.voters.includes(id)));
      this.#seen.set(id, nothingSeen());
    }
  }

  get committedIndex(): number {
    return this.#origin.index + this.#committed.length;
  }

  get committedCount(): number {
    return this.#committed.length;
  }

  /** What was committed in this cluster, up to that index. */
  *committedUpTo(index: number): Generator<Entry> {
    for (const { entry } of this.#committed) if (entry.index <= index) yield entry;
  }

  /** Cluster time in the log of node `id`, which leads, before the entry `index`. */
  stampBefore(id: number, index: number): number {
    const { handed } = this.#ledger(id);
    for (let at = index - 1; at > this.committedIndex; at -= 1) {
      const entry = handed.entry(at);
      if (entry?.kind === "command") return decodeBatchHeader(entry.data).stamp;
    }
    return this.#lastStamp;
  }

  /** The write of node `id` that holds its vote in `term`; 0: one of an earlier process, or term. */
  voteSeqOf(id: number, term: number): number {
    const { durable, hardStateSeq } = this.#ledger(id);
    return durable.hardState.term === term ? hardStateSeq : 0;
  }

  get leaderCount(): number {
    return this.#leaders.size;
  }

  /** The next process of the node has promised nothing; those before it have. */
  onWiped(id: number): void {
    this.#former.set(id, this.#everyLedger(id));
    this.#ledgers.set(id, new NodeLedger(this.#origin, false));
    this.#seen.set(id, nothingSeen());
    this.#members.onWiped(id);
  }

  /** Behind `onWiped`: it comes with the log that it had at some time. */
  onPutBack(id: number): void {
    this.#ledger(id).isUnknown = true;
  }

  /** Behind `onWiped`: who founded the cluster is not known to it. */
  onRecovered(id: number): void {
    this.#members.onRecovered(id);
  }

  onBoot(id: number, boot: LogBoot): void {
    const difference = this.#ledger(id).onBoot(boot);
    if (difference !== undefined) {
      this.#fail("acknowledged implies durable", `node ${id} came back and ${difference}`);
    }
    const seen = this.#of(id);
    seen.term = boot.hardState.term;
    seen.commitIndex = 0;
    seen.appliedIndex = 0;
    seen.provenCommit = boot.snapshot?.index ?? 0;
    seen.ledTerm = 0;
    seen.told = undefined;
    seen.members = undefined;
  }

  onAppend(id: number, write: Write, raft: Raft | undefined): void {
    const ledger = this.#ledger(id);
    if (write.truncateFrom !== undefined) this.#checkTruncation(id, write.truncateFrom, raft);
    ledger.onAppend(write);
    const { term } = ledger.handed.hardState;
    const last = write.entries.at(-1);
    if (last !== undefined && last.term > term) {
      this.#fail("term before entries", `node ${id} wrote term ${last.term} in term ${term}`);
    }
  }

  onDurable(id: number, seq: number): void {
    const ledger = this.#ledger(id);
    ledger.onDurable(seq, ({ entries }) => {
      const before = (entries[0]?.index ?? 1) - 1;
      this.#matching.check(id, entries, ledger.durable.entry(before)?.term);
    });
  }

  /** What leaves must be true of the disk already, where it speaks of the disk. */
  onSend(message: Message): void {
    const { durable } = this.#ledger(message.from);
    const { term, vote } = durable.hardState;
    const { from } = message;
    switch (message.type) {
      case "vote": {
        this.#votes.onVote(from, message.term, from);
        if (!message.isTransfer) {
          const { stood } = this.#of(from);
          const members = stood?.term === message.term ? stood.members : this.membersOf(from);
          this.#votes.checkAsked(from, message.term, members);
        }
        if (term > message.term || this.#leaders.has(message.term)) return;
        if (term !== message.term || vote !== from) {
          this.#early(message, `its disk has term ${term}, vote ${vote}`);
        }
        const last = durable.entry(message.lastLogIndex);
        if (last !== undefined && last.term !== message.lastLogTerm) {
          this.#early(message, `its disk has term ${last.term} at ${last.index}`);
        }
        if (durable.lastIndex < message.lastLogIndex) {
          this.#early(message, `its disk ends at ${durable.lastIndex}`);
        }
        return;
      }
      case "preVoteReply":
        if (message.granted) this.#votes.onPreVote(from, message.term, message.to);
        return;
      case "voteReply":
        if (!message.granted) return;
        this.#votes.onVote(from, message.term, message.to);
        if (term > message.term || (term === message.term && vote === message.to)) return;
        this.#early(message, `its disk has term ${term}, vote ${vote}`);
        return;
      case "appendReply":
        if (!message.success) return;
        if (term > message.term) return;
        if (term === message.term && durable.lastIndex >= message.matchIndex) return;
        this.#early(message, `its disk ends at ${durable.lastIndex} in term ${term}`);
        return;
      case "append":
      case "heartbeat": {
        if (message.type === "append") {
          const { entries, prevLogTerm } = message;
          this.#matching.check(from, entries, prevLogTerm === 0 ? undefined : prevLogTerm);
        }
        const leader = this.#leaders.get(message.term);
        if (leader !== undefined && leader !== from) {
          this.#fail("election safety", `${from} acts as leader of ${message.term}, ${leader} is`);
        }
        return;
      }
      default:
    }
  }

  /** A snapshot of node `id` names those that the committed log says at its index. */
  onSnapshot(id: number, index: number, configuration: Uint8Array): void {
    const named = decodeConfiguration(configuration);
    const isCommitted = index <= this.committedIndex;
    const members = this.#members.committedAt(index);
    if (isCommitted && named !== undefined && isSameConfiguration(named, members)) return;
    const [names, says] = [named, members].map(canonicalTextOf);
    const text = `node ${id}, entry ${index}: ${names}, the log says ${says}`;
    this.#fail("a snapshot names its members", text);
  }

  /** A follower may commit what an append has up to its own last entry, or what a heartbeat says. */
  onReceive(id: number, message: PeerMessage): void {
    const seen = this.#of(id);
    let proven = 0;
    if (message.type === "snapshotOffer") proven = message.snapshot.index;
    else if (message.type === "raft") proven = provenBy(message.message);
    seen.provenCommit = Math.max(seen.provenCommit, proven);
  }

  /** `isAlive`: the process did not die within the turn, with things handed over to nobody. */
  afterTurn(id: number, raft: Raft, isAlive: boolean): void {
    const seen = this.#of(id);
    const membersBefore = seen.members;
    seen.members = this.membersOf(id);
    if (isAlive) this.#checkMembers(id, raft, seen);
    const { term, commitIndex, appliedIndex } = raft;
    if (term < seen.term || commitIndex < seen.commitIndex || appliedIndex < seen.appliedIndex) {
      const now = `${term}, ${commitIndex}, ${appliedIndex}`;
      const before = `${seen.term}, ${seen.commitIndex}, ${seen.appliedIndex}`;
      this.#fail("never go back", `node ${id}: term, commit, applied ${now} after ${before}`);
    }
    if (raft.role === "candidate" && seen.stood?.term !== term) {
      seen.stood = { term, members: seen.members };
    }
    if (raft.role === "leader") this.#checkLeader(id, raft, seen);
    else if (commitIndex > seen.commitIndex && seen.ledTerm === 0) {
      this.#checkProven(id, commitIndex, seen.provenCommit);
    }
    seen.ledTerm = raft.role === "leader" ? term : 0;
    if (commitIndex > seen.commitIndex) {
      // What was committed when the turn began to change the members was so under those before.
      const deciding = [seen.members, membersBefore ?? seen.members];
      this.#checkCommitted(id, raft, isAlive, seen.commitIndex, deciding);
    }
    if (appliedIndex > commitIndex) {
      this.#fail("applied ≤ commit", `node ${id}: ${appliedIndex}, ${commitIndex}`);
    }
    seen.term = term;
    seen.commitIndex = commitIndex;
    seen.appliedIndex = appliedIndex;
    seen.turns += 1;
  }

  #checkTruncation(id: number, from: number, raft: Raft | undefined): void {
    const seen = this.#of(id);
    if (from <= seen.commitIndex) {
      this.#fail("truncation", `node ${id} truncates from ${from}, commit ${seen.commitIndex}`);
    }
    if (raft !== undefined && raft.role === "leader" && seen.ledTerm === raft.term) {
      this.#fail("leader append-only", `leader ${id} of ${raft.term} truncates from ${from}`);
    }
  }

  #checkLeader(id: number, raft: Raft, seen: LastSeen): void {
    const { term } = raft;
    const before = this.#leaders.get(term);
    if (before !== undefined && before !== id) {
      this.#fail("election safety", `${before} and ${id} lead term ${term}`);
    }
    this.#leaders.set(term, id);
    if (seen.ledTerm !== term) this.#checkNewLeader(id, term);
    else if (raft.commitIndex > seen.commitIndex) this.#checkCounting(id, raft);
    if (seen.turns % TURNS_PER_PEER_CHECK !== 0) return;
    this.#views.check(id, raft, this.#ledger(id).handed, this.membersOf(id));
  }

  #checkNewLeader(id: number, term: number): void {
    const { hardState } = this.#ledger(id).durable;
    const hasOwn = hardState.term === term && hardState.vote === id;
    this.#views.begin(id);
    this.#votes.checkElected(id, term, this.membersOf(id), hasOwn);
    this.#checkCompleteness(id, term);
  }

  #checkCompleteness(id: number, term: number): void {
    const { handed } = this.#ledger(id);
    for (const { entry, inTerm } of this.#committed) {
      if (inTerm < term && !handed.holds(entry)) {
        this.#fail("leader completeness", `${id} leads ${term} without entry ${entry.index}`);
      }
    }
  }

  #checkProven(id: number, commitIndex: number, proven: number): void {
    if (commitIndex <= proven) return;
    this.#fail("commit is proven", `follower ${id} commits ${commitIndex}, was shown ${proven}`);
  }

  /** While it leads, a leader moves the commit index by counting, and only to its own entries. */
  #checkCounting(id: number, raft: Raft): void {
    const entry = this.#ledger(id).handed.entry(raft.commitIndex);
    if (entry?.term === raft.term) return;
    const what = `entry ${raft.commitIndex} of term ${entry?.term}`;
    this.#fail("commit by counting", `leader ${id} of ${raft.term} commits ${what}`);
  }

  /** Those that count on node `id`, by everything that it handed to its log. */
  membersOf(id: number): Configuration {
    return this.#members.inForce(id, this.#ledger(id).handed);
  }

  /** The entry that made them so, if it is in its log; 0: it is not, and is committed. */
  membersIndexOf(id: number): number {
    return this.#ledger(id).handed.lastConfiguration?.index ?? 0;
  }

  /** What is last in its log counts, committed or not. */
  #checkMembers(id: number, { configuration }: Raft, seen: LastSeen): void {
    const { members, told } = seen;
    if (members === undefined || (told === configuration && seen.compared === members)) return;
    seen.told = configuration;
    seen.compared = members;
    if (isSameConfiguration(members, configuration)) return;
    const [has, counts] = [configuration, members].map(canonicalTextOf);
    this.#fail("members in force", `node ${id} goes by ${has}, its log says ${counts}`);
  }

  /** What one node holds for committed, no other node ever contradicts. */
  #checkCommitted(
    id: number,
    raft: Raft,
    isAlive: boolean,
    from: number,
    deciding: readonly Configuration[],
  ): void {
    const { handed } = this.#ledger(id);
    const first = Math.max(from, this.#origin.index) + 1;
    for (let index = first; index <= raft.commitIndex; index += 1) {
      const entry = handed.entry(index);
      if (entry === undefined) {
        if (index <= handed.coveredIndex && index <= this.committedIndex) continue;
        // It died before it could hand the entry over, and shows nobody what it took for committed.
        if (!isAlive) return;
        this.#fail("commit is in the log", `${id} commits ${index} without having it`);
        return;
      }
      const known = this.#committed[index - this.#origin.index - 1];
      if (known === undefined) this.#commit(entry, raft, deciding);
      else if (!isSameEntry(known.entry, entry)) {
        this.#fail("state machine safety", `two committed entries ${index}, at ${id}`);
      }
    }
  }

  #commit(entry: Entry, raft: Raft, deciding: readonly Configuration[]): void {
    this.#committed.push({ entry, inTerm: raft.term });
    if (entry.kind === "configuration") this.#members.onCommitted(entry);
    const holds = (id: number): boolean => {
      return this.#everyLedger(id).some(({ durable }) => durable.holds(entry));
    };
    if (!deciding.some((members) => isMajority(members, holds))) {
      const holders = [...this.#ledgers.keys()].filter(holds);
      const message = `entry ${entry.index} is durable on ${holders.join(", ")} only`;
      this.#fail("committed implies durable", message);
    }
    if (entry.kind === "command") {
      const { stamp } = decodeBatchHeader(entry.data);
      if (stamp < this.#lastStamp) {
        this.#fail("cluster time", `${stamp} at ${entry.index} after ${this.#lastStamp}`);
      }
      this.#lastStamp = stamp;
    }
    this.#onCommitted(entry, raft);
  }

  #early(message: Message, disk: string): void {
    this.#fail("nothing leaves early", `${JSON.stringify(message)} leaves, but ${disk}`);
  }

  #ledger(id: number): NodeLedger {
    const ledger = this.#ledgers.get(id);
    if (ledger === undefined) throw new Error(`no node ${id}`);
    return ledger;
  }

  #everyLedger(id: number): NodeLedger[] {
    return [this.#ledger(id), ...(this.#former.get(id) ?? [])];
  }

  #of(id: number): LastSeen {
    const seen = this.#seen.get(id);
    if (seen === undefined) throw new Error(`no node ${id}`);
    return seen;
  }
}

function nothingSeen(): LastSeen {
  return {
    ...{ term: 0, commitIndex: 0, appliedIndex: 0, provenCommit: 0, ledTerm: 0, turns: 0 },
    ...{ told: undefined, compared: undefined, members: undefined, stood: undefined },
  };
}

function provenBy(message: Message): number {
  if (message.type === "heartbeat") return message.commitIndex;
  if (message.type !== "append") return 0;
  return Math.min(message.commitIndex, message.prevLogIndex + message.entries.length);
}
