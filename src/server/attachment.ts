/**
 * What this node knows of one client's connection: the session it is attached to and the commands
 * that came on it and were not applied here yet.
 */
import type { ClientConnection } from "../net/index.js";
import type { Command } from "../protocol/index.js";
import { Fifo } from "./fifo.js";
import { isSameCommand, type KeptCommand } from "./kept-command.js";
import { Lane } from "./lane.js";
import type { Watch } from "./watch.js";

export class Attachment {
  readonly connection: ClientConnection;
  /** In order of arrival. Settled ones leave when they come to the front. */
  readonly kept = new Fifo<KeptCommand>();
  /** Those that wait to leave this node. */
  readonly lane = new Lane();
  /** The highest sequence executed before this connection attached: up to it, a command is a retry. */
  highestSequence = 0;
  /** Key of the attach that this connection waits for; `undefined` when it waits for none. */
  awaitedAttach: string | undefined;
  /** The turn in which a command of this connection was refused: the rest of the turn goes with it. */
  refusedInTurn = -1;
  /** It sent more than this node can keep: nothing is taken from it any more. */
  isFull = false;
  /** Reads without an answer yet. */
  readCount = 0;
  /** By the number that the client gave them; also those whose beginning still waits. */
  readonly watches = new Map<number, Watch>();
  /** The last time of trouble in which the client was told to go elsewhere. */
  toldInTrouble = 0;
  isClosed = false;

  constructor(connection: ClientConnection) {
    this.connection = connection;
  }

  /** Drops settled commands from the front. */
  trim(): void {
    for (let first = this.kept.at(0); first?.isSettled === true; first = this.kept.at(0)) {
      this.kept.shift();
    }
  }

  /** The kept command that `command`, read back from the log, is. Nearly always the first one. */
  find(command: Command): KeptCommand | undefined {
    for (let i = 0; i < this.kept.length; i += 1) {
      const kept = this.kept.at(i);
      if (kept !== undefined && !kept.isSettled && isSameCommand(kept.command, command)) {
        return kept;
      }
    }
    return undefined;
  }
}
