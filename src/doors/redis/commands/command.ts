/** What a command of Redis is to the door: how many arguments it has, what it needs, what it does. */
import type { Buffer } from "node:buffer";
import type { ConnectionState } from "../connection-state.js";
import type { RespReply } from "../resp/index.js";

/** No further command of the connection begins before the task has ended. */
export type HoldBack = (task: Promise<unknown>) => void;

export interface DoorCommand {
  /** In upper case. */
  readonly name: string;
  /** Arguments after the name: the least, and the most if there is a most. */
  readonly least: number;
  readonly most?: number;
  /** It asks the cluster, so the connection must have a client. */
  readonly asksCluster?: boolean;
  /** Who may do nothing yet may give it, to say who it is or to leave. */
  readonly isForStrangers?: boolean;
  /** It works within a transaction instead of being queued. */
  readonly endsQueue?: boolean;
  /** It changes or ends what the connection is, which a transaction cannot do as one of its steps. */
  readonly isNeverQueued?: boolean;
  /**
   * It changes as whom, in which database or in which protocol the connection speaks, so it begins once every
   * command before it has its reply.
   */
  readonly changesConnection?: boolean;
  /** A client of RESP2 may give it while it is subscribed. */
  readonly isForSubscribers?: boolean;
  /**
   * Throws `RefusedCommand` for what is refused whatever the locks are: before `run`, and when it is
   * queued, so that a client does not hear of it by EXEC only.
   */
  check?(connection: ConnectionState, args: readonly Buffer[]): void;
  /** Throws or rejects with what `failureOf` knows. */
  run(
    connection: ConnectionState,
    args: readonly Buffer[],
    holdBack: HoldBack,
  ): RespReply | Promise<RespReply>;
}

/** An argument as a word: in upper case, and of any bytes. */
export function wordOf(argument: Buffer | undefined): string {
  return argument === undefined ? "" : argument.toString("latin1").toUpperCase();
}
