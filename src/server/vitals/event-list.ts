/**
 * What happened on this node lately, for people who look at it: a bounded list of sentences. It
 * compares what it is shown with what it was shown before, so that no other part has to report
 * anything. It must never name a lock, a session or a client, because anyone who may observe one
 * key may read it.
 */
import {
  VITALS_EVENTS_MAX,
  type VitalsEvent,
  type VitalsEventKind,
  type VitalsView,
} from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";

/** What is compared; a change of any of it is an event. */
export interface WatchedState {
  readonly term: number;
  /** 0 while unknown. */
  readonly leader: NodeId;
  readonly voters: readonly NodeId[];
  /** The voters in the old half of a joint configuration. */
  readonly outgoing: readonly NodeId[];
  readonly learners: readonly NodeId[];
  /** The peers to which there is a link. */
  readonly linked: readonly NodeId[];
  readonly isDiskFull: boolean;
  readonly isMemoryScarce: boolean;
  readonly isOpen: boolean;
  /** The index of the newest snapshot that the log names; 0 without one. */
  readonly snapshotIndex: number;
  readonly auditState: VitalsView["auditState"];
}

const SNAPSHOT_WORDS = "the log begins after the snapshot of entry";

export class EventList {
  readonly #self: NodeId;
  readonly #events: VitalsEvent[] = [];
  #known: WatchedState;

  /** `first`: how the node is when it starts. */
  constructor(self: NodeId, first: WatchedState, text: string, wallMs: number) {
    this.#self = self;
    this.#known = first;
    this.#add(wallMs, "started", text);
  }

  /** The events after that wall time, oldest first. */
  after(wallMs: number): VitalsEvent[] {
    return this.#events.filter((event) => event.wallMs > wallMs);
  }

  /** Notes what is different from the last call. */
  compare(now: WatchedState, wallMs: number): void {
    const before = this.#known;
    this.#known = now;
    const add = (kind: VitalsEventKind, text: string): void => this.#add(wallMs, kind, text);
    this.#compareLeader(before, now, add);
    const members = membersText(now);
    if (members !== membersText(before)) add("members", members);
    for (const peer of now.linked) {
      if (!before.linked.includes(peer)) add("peer", `the link to node ${peer} is up`);
    }
    for (const peer of before.linked) {
      if (!now.linked.includes(peer)) add("peer", `the link to node ${peer} is down`);
    }
    compareConditions(before, now, add);
  }

  #compareLeader(
    before: WatchedState,
    now: WatchedState,
    add: (kind: VitalsEventKind, text: string) => void,
  ): void {
    const { leader, term } = now;
    if (leader === before.leader && (leader === 0 || term === before.term)) return;
    const who = leader === this.#self ? "this node leads" : `node ${leader} leads`;
    if (leader === 0) add("noLeader", `no leader is known in term ${term}`);
    else add("leader", `${who} in term ${term}`);
  }

  #add(wallMs: number, kind: VitalsEventKind, text: string): void {
    if (this.#events.length === VITALS_EVENTS_MAX) this.#events.shift();
    this.#events.push({ wallMs, kind, text });
  }
}

function compareConditions(
  before: WatchedState,
  now: WatchedState,
  add: (kind: VitalsEventKind, text: string) => void,
): void {
  if (now.isDiskFull !== before.isDiskFull) {
    add("disk", now.isDiskFull ? "the disk has no room for the log" : "the disk has room again");
  }
  if (now.isMemoryScarce !== before.isMemoryScarce) {
    const scarce = "memory is scarce: new locks are refused";
    add("memory", now.isMemoryScarce ? scarce : "there is enough memory again");
  }
  if (now.isOpen !== before.isOpen) {
    add("access", now.isOpen ? "everybody may do everything now" : "access is limited now");
  }
  if (now.snapshotIndex !== before.snapshotIndex) {
    add("snapshot", `${SNAPSHOT_WORDS} ${now.snapshotIndex}`);
  }
  if (now.auditState !== before.auditState) {
    add(
      "audit",
      now.auditState === "failing" ? "the audit cannot be written" : "the audit is written again",
    );
  }
}

function membersText({ voters, outgoing, learners }: WatchedState): string {
  const parts = [`voters ${listed(voters)}`];
  if (outgoing.length > 0) parts.push(`before the change ${listed(outgoing)}`);
  if (learners.length > 0) parts.push(`learners ${listed(learners)}`);
  return parts.join("; ");
}

function listed(nodes: readonly NodeId[]): string {
  return nodes.length === 0 ? "none" : [...nodes].sort((a, b) => a - b).join(", ");
}
