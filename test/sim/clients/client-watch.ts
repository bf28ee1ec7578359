/** What a client tells whoever watches it. Types only. */
import type {
  Answer,
  Attached,
  LockItem,
  OP,
  Result,
  SessionMessage,
} from "../../../src/protocol/index.js";
import type { SimClient } from "./sim-client.js";

/** A hold that a client believes in. */
export interface Belief {
  readonly client: SimClient;
  readonly session: number;
  readonly token: number;
  readonly items: readonly LockItem[];
  /** Why the client itself does not count on it any more. */
  givenUp: "released" | "lapsed" | undefined;
}

export interface ClientWatch {
  onInvoke(session: number, sequence: number): void;
  onAttached(message: Attached): void;
  /** The client is attached to `session`. */
  onMessage(client: SimClient, session: number, message: SessionMessage): void;
  /** A node refused a command by itself. */
  onRefused(session: number, sequence: number, result: Result): void;
  onExecuted(op: number, status: number): void;
  onBelief(belief: Belief): void;
  onRead(reader: number, id: number): void;
  onAnswer(reader: number, op: typeof OP.inspect, answer: Answer): void;
  onOperatorNote(text: string): void;
  /** One line for the story of the run. */
  onNote(client: SimClient, text: string): void;
}
