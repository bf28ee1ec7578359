/**
 * What this node knows of one client's connection: the session it is attached to, where the client is
 * in the order of its commands, and those that came on it and were not executed yet.
 */
import type { ClientConnection } from "../../net/index.js";
import { Fifo } from "../fifo.js";
import type { KeptCommand } from "./kept-command.js";
import { Lane } from "./lane.js";
import type { Watch } from "./watch.js";

export class Attachment {
  readonly connection: ClientConnection;
  /** In order of arrival. Settled ones leave when they come to the front. */
  readonly kept = new Fifo<KeptCommand>();
  /** Those that wait to leave this node. */
  readonly lane = new Lane();
  /** The number that the next command of the session must have; everything below was admitted. */
  expected = 0;
  /** The command with that number was refused: what comes with higher ones is dropped. */
  isRefusing = false;
  /** It had a session at some time: what was on its way when that ended is dropped. */
  wasAttached = false;
  /** Key of the attach that this connection waits for; `undefined` when it waits for none. */
  awaitedAttach: string | undefined;
  /** Reads without an answer yet. */
  readCount = 0;
  /** By the number that the client gave them. */
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
}
