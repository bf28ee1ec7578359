/**
 * One term of a leader, by its messages and the answers to them: which peer answered when and in
 * which round, and which ones have the entry that opened the term. Learners answer like voters;
 * only the members (`members.ts`) say who counts.
 */
import type {
  AppendReply,
  Configuration,
  HeartbeatReply,
  Message,
  Write,
} from "../../../../src/raft/index.js";
import { isMajority } from "./majority.js";

/** The entry that opened the term, and the write that holds it. */
interface Opening {
  readonly index: number;
  readonly seq: number;
}

export class Reign {
  readonly term: number;
  readonly sinceMs: number;
  readonly #leader: number;
  /** The highest round that was sent to anybody. */
  round = 0;
  #opening: Opening | undefined;
  #isOpeningDurable = false;
  readonly #heardMs = new Map<number, number>();
  readonly #rounds = new Map<number, number>();
  readonly #matches = new Map<number, number>();

  constructor(leader: number, term: number, sinceMs: number) {
    this.#leader = leader;
    this.term = term;
    this.sinceMs = sinceMs;
  }

  onWrite({ seq, entries }: Write): void {
    const first = entries.find(({ term }) => term === this.term);
    if (first !== undefined) this.#opening ??= { index: first.index, seq };
  }

  onPersisted(seq: number): void {
    if (this.#opening !== undefined && seq >= this.#opening.seq) this.#isOpeningDurable = true;
  }

  onSend(message: Message): void {
    if (message.type === "heartbeat") this.round = Math.max(this.round, message.round);
  }

  onAnswer(message: AppendReply | HeartbeatReply, nowMs: number): void {
    const { from, term } = message;
    if (term !== this.term) return;
    this.#heardMs.set(from, nowMs);
    if (message.type === "heartbeatReply") raise(this.#rounds, from, message.round);
    else if (message.success) raise(this.#matches, from, message.matchIndex);
  }

  /** The last entry that `id` acknowledged in this term; 0 for none. */
  acknowledgedBy(id: number): number {
    return this.#matches.get(id) ?? 0;
  }

  /** Whether a majority, this leader included, answered at `sinceMs` or later, or the term is younger. */
  wasAnswered(members: Configuration, sinceMs: number): boolean {
    return isMajority(members, (id) => {
      return id === this.#leader || (this.#heardMs.get(id) ?? this.sinceMs) >= sinceMs;
    });
  }

  /** Whether a majority, this leader included, answered a round later than `round`. */
  hasConfirmed(members: Configuration, round: number): boolean {
    return isMajority(members, (id) => {
      return id === this.#leader || (this.#rounds.get(id) ?? 0) > round;
    });
  }

  /** Whether a majority said that it has the entry `index`; what this leader has is not asked. */
  hasAcknowledged(members: Configuration, index: number): boolean {
    return isMajority(members, (id) => id === this.#leader || this.acknowledgedBy(id) >= index);
  }

  /** Whether a majority said that it has the entry that opened the term. */
  hasCommitted(members: Configuration): boolean {
    const { index } = this.#opening ?? { index: Number.POSITIVE_INFINITY };
    return isMajority(members, (id) => {
      return id === this.#leader ? this.#isOpeningDurable : (this.#matches.get(id) ?? 0) >= index;
    });
  }
}

function raise(values: Map<number, number>, id: number, value: number): void {
  values.set(id, Math.max(values.get(id) ?? 0, value));
}
