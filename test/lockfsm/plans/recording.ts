/**
 * An outbox that keeps what was said, for comparison, and may pass it on; and the end of every
 * history: what is said when nobody renews anything any more.
 */
import { expect } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import type { LockTable, TableOutbox } from "../../../src/lockfsm/index.js";
import type { Attached, SessionMessage } from "../../../src/protocol/index.js";
import type { NamedCycle } from "../model/records.js";

export type Said =
  | { readonly session: number; readonly epoch: number; readonly message: SessionMessage }
  | { readonly attached: Attached };

export class Recording implements TableOutbox {
  readonly said: Said[] = [];
  readonly #listener: TableOutbox | undefined;

  constructor(listener?: TableOutbox) {
    this.#listener = listener;
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    this.said.push({ session, epoch, message });
    this.#listener?.toSession(session, epoch, message);
  }

  attached(message: Attached): void {
    this.said.push({ attached: message });
    this.#listener?.attached(message);
  }
}

/** Applies empty entries far in the future until nothing is left to do. */
export function letEverythingEnd(table: LockTable, index: number): Said[] {
  const outbox = new Recording();
  let stamp = table.stamp + 10_000_000;
  for (let next = index + 1; ; next += 1) {
    table.apply({ index: next, stamp, wallMs: 0, commands: [] }, outbox);
    if (table.nextDueAt === undefined && !table.hasQueuedWork) return outbox.said;
    expect(next).toBeLessThan(index + 10_000);
    // What ended may keep its keys closed for a while.
    stamp = Math.max(stamp, table.nextDueAt ?? 0);
  }
}

/** Who was refused for closing a cycle, in order. */
export function cyclesIn(said: readonly Said[]): NamedCycle[] {
  return said.flatMap((one, at) => {
    if (!("message" in one) || !("result" in one.message)) return [];
    const { sequence, result } = one.message;
    if (result.status !== ERROR_NUMBERS.DEADLOCK || !("cycle" in result)) return [];
    return [{ at, session: one.session, sequence, cycle: result.cycle ?? [] }];
  });
}
