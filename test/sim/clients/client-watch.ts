/** What a client reports to its observers. Types only. */
import type { ErrorCode, ErrorNumber } from "../../../src/errors/index.js";
import type {
  Answer,
  AttachCommand,
  Attached,
  ClaimMode,
  OP,
  Revision,
  SequencedCommand,
  ServerMessage,
  SessionMessage,
} from "../../../src/protocol/index.js";
import type { ViewedConnection } from "../checks/access/viewed-connection.js";
import type { ToldChange, WatchAsked, WatchedKeys } from "../checks/hearing/watch-streams.js";
import type { HandOverAsked } from "../checks/locks/hand-over-laws.js";
import type { HeldBelief } from "./belief.js";
import type { WorldClient } from "./world-client.js";

/** A use of what one key guards, with the token of a hold that may be over. */
export interface GuardedWrite {
  readonly key: string;
  readonly mode: ClaimMode;
  /** The slot of a semaphore; 0 for a lock. */
  readonly slot: number;
  readonly token: number;
  /** The process that writes: what was handed over is another's. */
  readonly belief: HeldBelief;
}

/** How a call of an application ended. */
export type CallEnding =
  | { readonly kind: "granted"; readonly token: number }
  /** A try that found the lock held. */
  | { readonly kind: "none" }
  /** By its caller. */
  | { readonly kind: "aborted" }
  /** `isDefinite`: it says that it was not carried out, and will not be. */
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly isDefinite: boolean };

export interface Said {
  readonly session: number;
  readonly epoch: number;
  readonly command: SequencedCommand;
  readonly order: number | undefined;
}

/** Who reports something. */
export type Host = Pick<WorldClient, "host">;

export interface ClientWatch {
  /** Looks at a connection to that node; `undefined` where everybody may do everything. */
  viewOf(node: number): ViewedConnection | undefined;
  /** Whether not everybody may do everything, by the log. */
  readonly isClosed: boolean;
  /**
   * Sent under its number to `session` by its attachment `epoch`. `order`: which of its calls the
   * client meant by it; `undefined` where only the client knows.
   */
  onSaid(said: Said): void;
  /** A node says something, whatever it is. `way`: how the client last asked for its session. */
  onHeard(way: AttachCommand["op"], message: ServerMessage): void;
  /** Attached, on a new connection. */
  onAttached(client: Host, message: Attached): void;
  /** On a connection that is attached to `session` in `epoch`. */
  onMessage(client: Host, session: number, epoch: number, message: SessionMessage): void;
  /** A node did not admit a command, nor what was sent behind it. */
  onRefused(session: number, epoch: number, sequence: number, status: ErrorNumber): void;
  onExecuted(op: number, status: number): void;
  /** A hold was lost, or something else happened that is worth being seen. */
  onSeen(what: string): void;
  /** It begins to be counted on, or is stronger than before. */
  onBelief(belief: HeldBelief): void;
  onWrite(write: GuardedWrite): void;
  /** `reader`: a client, or one process of it. */
  onRead(reader: number | string, id: number): void;
  /** The call in which an application asked for a lock with this value has ended. */
  onCallEnded(marker: string, ending: CallEnding): void;
  /** An application asks for something that carries no value of its own (`told-fates.ts`). */
  onMade(client: Host, wish: string): void;
  /** Such a call says that it was not carried out, and will not be. */
  onDenied(client: Host, wish: string): void;
  /** An application hands holds over: one, by its number, or (`undefined`) all of its session. */
  onHandOverAsked(client: Host, session: number, target: number | undefined): HandOverAsked;
  /** From now on it is to receive everything. */
  onWatchAsked(watched: WatchedKeys): void;
  /** It receives everything after `after`. `asked`: as of when it began to watch, and since. */
  onWatchBegun(watched: WatchedKeys, after: Revision, asked: WatchAsked): void;
  onWatchTold(watched: WatchedKeys, change: ToldChange): void;
  onWatchEnded(watched: WatchedKeys): void;
  /** It was told that nothing is left of a hold that it gave back. */
  onGivenBack(client: WorldClient, session: number, token: number): void;
  /** Whether the log has a hold of that session under that token, or had it under it. */
  isHeldInLog(session: number, token: number): boolean;
  /** The number by which the session knows it; 0: it does not. */
  numberInLog(session: number, token: number): number;
  /** Whether the session holds something by that number. */
  holdsInLog(session: number, number: number): boolean;
  /** Whether the hold was taken from who believes in it, as the log says by now. */
  isTorn(belief: HeldBelief): boolean;
  /** How the log has the key of a hold now; `undefined`: not under that token. */
  modeInLog(token: number, key: string): string | undefined;
  /** Something that no client may do or see. */
  onBroken(client: Host, rule: string, what: string): void;
  onAnswer(reader: number | string, op: typeof OP.inspect, answer: Answer): void;
  onOperatorNote(text: string): void;
  /** One line for the story of the run. */
  onNote(client: Host, text: string): void;
}
