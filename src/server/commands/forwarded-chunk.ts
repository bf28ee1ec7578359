/**
 * What another node forwarded in one message: records of many sessions, which that node took in
 * turns. The leader proposes it as a whole or refuses it as a whole.
 */
import type { TableCommand } from "../../lockfsm/index.js";
import type { NodeId } from "../../raft/index.js";
import type { WaitingItem } from "./lane.js";

export class ForwardedChunk {
  readonly from: NodeId;
  /** The sender's number for it, repeated in a refusal. */
  readonly id: number;
  readonly records: Uint8Array;
  /** `records`, decoded. */
  readonly commands: readonly TableCommand[];
  /** Sessions that have commands in it; one counts again where its commands are apart. */
  readonly weight: number;
  isInLine = false;
  nextInLane: WaitingItem | undefined = undefined;

  constructor(from: NodeId, id: number, records: Uint8Array, commands: readonly TableCommand[]) {
    this.from = from;
    this.id = id;
    this.records = records;
    this.commands = commands;
    this.weight = countRuns(commands);
  }

  get recordBytes(): number {
    return this.records.length;
  }
}

/** At least 1. */
function countRuns(commands: readonly TableCommand[]): number {
  let count = 1;
  let before = commands[0]?.session;
  for (const { session } of commands) {
    if (session !== before) count += 1;
    before = session;
  }
  return count;
}
