/**
 * Asks another member how it is, over the link to it, so that a client that reaches one node hears
 * about all of them: a node may be reachable only from other nodes, or let in only clients with
 * other credentials. The rights of the client were judged before; a member answers every member.
 * One question is never passed on twice, and nothing is repeated: the client may ask again.
 */
import type { PeerMessage } from "../../net/index.js";
import type { VitalsView } from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import type { RequestIds } from "../request-ids.js";
import { vitalsIn, vitalsText } from "./vitals-text.js";

/** Questions to one member that may be unanswered; further ones are refused. */
const QUESTIONS_PER_PEER_MAX = 8;
/** Questions of one member that are answered in a turn; the others are not answered. */
const ANSWERS_PER_TURN_MAX = QUESTIONS_PER_PEER_MAX;
/** Nothing is answered while more than that waits for the member: heartbeats come after it. */
const BUFFERED_BYTES_MAX = 1 << 20;

interface Question {
  readonly peer: NodeId;
  readonly tell: Tell;
  readonly deadlineMs: number;
}

/** Without a view the member was not heard. */
type Tell = (view: VitalsView | undefined) => void;

export interface VitalsRelayParts {
  /** How long a member has to answer. */
  readonly waitMs: number;
  readonly requestIds: RequestIds;
  readonly isLinked: (peer: NodeId) => boolean;
  readonly bufferedBytes: (peer: NodeId) => number;
  readonly send: (peer: NodeId, message: PeerMessage) => void;
  readonly view: (after: number) => VitalsView;
}

export class VitalsRelay {
  readonly #parts: VitalsRelayParts;
  /** By number, in the order of their deadlines. */
  readonly #asked = new Map<number, Question>();
  /** How many were answered in this turn, by the member that asked. */
  readonly #answered = new Map<NodeId, number>();

  constructor(parts: VitalsRelayParts) {
    this.#parts = parts;
  }

  /** When `expire` has something to do. */
  get nextDeadlineMs(): number {
    for (const { deadlineMs } of this.#asked.values()) return deadlineMs;
    return Number.POSITIVE_INFINITY;
  }

  /** Whether no further question to that member is taken now. */
  isFullFor(peer: NodeId): boolean {
    let count = 0;
    for (const question of this.#asked.values()) if (question.peer === peer) count += 1;
    return count >= QUESTIONS_PER_PEER_MAX;
  }

  /** A client of this node wants to know how that member is. Calls `tell` once, perhaps at once. */
  ask(peer: NodeId, after: number, nowMs: number, tell: Tell): void {
    const { waitMs, requestIds, isLinked, send } = this.#parts;
    if (!isLinked(peer)) {
      tell(undefined);
      return;
    }
    const id = requestIds.next();
    this.#asked.set(id, { peer, tell, deadlineMs: nowMs + waitMs });
    send(peer, { type: "vitals", id, after });
  }

  /** A member asks how this node is. */
  onQuestion(peer: NodeId, { id, after }: PeerMessage & { readonly type: "vitals" }): void {
    const { bufferedBytes, send, view } = this.#parts;
    const count = this.#answered.get(peer) ?? 0;
    if (count >= ANSWERS_PER_TURN_MAX || bufferedBytes(peer) > BUFFERED_BYTES_MAX) return;
    this.#answered.set(peer, count + 1);
    send(peer, { type: "vitalsReply", id, text: vitalsText(view(after)) });
  }

  onReply(peer: NodeId, { id, text }: PeerMessage & { readonly type: "vitalsReply" }): void {
    const question = this.#asked.get(id);
    if (question?.peer !== peer) return;
    this.#asked.delete(id);
    question.tell(vitalsIn(text, peer));
  }

  /** Once a turn: answers for members that did not, or whose link is gone. */
  expire(nowMs: number): void {
    if (this.#answered.size > 0) this.#answered.clear();
    for (const [number, question] of this.#asked) {
      if (question.deadlineMs > nowMs && this.#parts.isLinked(question.peer)) continue;
      this.#asked.delete(number);
      question.tell(undefined);
    }
  }
}
