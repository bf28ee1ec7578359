/** What a client tells whoever watches it. Types only. */
import type {
  Answer,
  Attached,
  ClaimMode,
  OP,
  Result,
  SessionMessage,
} from "../../../src/protocol/index.js";
import type { Belief } from "./belief.js";
import type { SimClient } from "./sim-client.js";

/** A use of what one key guards, with the token of a hold that may be over. */
export interface GuardedWrite {
  readonly key: string;
  readonly mode: ClaimMode;
  /** Of a semaphore; 0 of locks. */
  readonly slot: number;
  readonly token: number;
  /** The process that writes: what was handed over is another's. */
  readonly belief: Belief;
}

export interface ClientWatch {
  onInvoke(session: number, sequence: number): void;
  /** Attached, on a new connection. */
  onAttached(client: SimClient, message: Attached): void;
  /** The client is attached to `session`, as the `epoch`th attempt. */
  onMessage(client: SimClient, session: number, epoch: number, message: SessionMessage): void;
  /** A node refused a command by itself. */
  onRefused(session: number, sequence: number, result: Result): void;
  onExecuted(op: number, status: number): void;
  /** Of a hold that was lost, or of something else that is worth being seen. */
  onSeen(what: string): void;
  /** It begins to be counted on, or is stronger than before. */
  onBelief(belief: Belief): void;
  onWrite(write: GuardedWrite): void;
  onRead(reader: number, id: number): void;
  onAnswer(reader: number, op: typeof OP.inspect, answer: Answer): void;
  onOperatorNote(text: string): void;
  /** One line for the story of the run. */
  onNote(client: SimClient, text: string): void;
}
