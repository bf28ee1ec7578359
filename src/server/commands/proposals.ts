/**
 * Entries on their way from the waiting line into the core: at most one per turn, holding all that
 * was collected. Lays the bytes of an entry out once; these bytes then go to disk and to the peers.
 */
import { assert } from "../../assert.js";
import type { TableCommand } from "../../lockfsm/index.js";
import { BATCH_HEADER_BYTES, writeBatchHeader } from "../../protocol/index.js";
import { KeptCommand, type WaitingItem } from "./waiting-items.js";
import type { WaitingLine } from "./waiting-line.js";

export interface Proposal {
  readonly id: number;
  readonly stamp: number;
  readonly data: Uint8Array;
  readonly items: readonly WaitingItem[];
  readonly commands: readonly TableCommand[];
}

export class Proposals {
  readonly #batchBytesMax: number;
  #lastId = 0;
  #open: Proposal | undefined;

  constructor(batchBytesMax: number) {
    this.#batchBytesMax = batchBytesMax;
  }

  /** Entries proposed since the start. */
  get count(): number {
    return this.#lastId;
  }

  compose(line: WaitingLine, stamp: number, wallMs: number): Proposal {
    assert(this.#open === undefined, () => `proposal ${this.#lastId} has no answer yet`);
    const { bytes, view, items } = line.take(this.#batchBytesMax, BATCH_HEADER_BYTES);
    const commands: TableCommand[] = [];
    for (const item of items) {
      if (item instanceof KeptCommand) commands.push(item);
      else for (const command of item.commands) commands.push(command);
    }
    writeBatchHeader(view, stamp, wallMs, commands.length);
    this.#lastId += 1;
    this.#open = { id: this.#lastId, stamp, data: bytes, items, commands };
    return this.#open;
  }

  /** The core's answer came: gives back the proposal `id`. */
  close(id: number): Proposal {
    const proposal = this.#open;
    assert(proposal?.id === id, () => `answer to proposal ${id}, open is ${proposal?.id}`);
    this.#open = undefined;
    return proposal;
  }
}
