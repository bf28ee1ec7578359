/**
 * Who, inside a session, asks for locks: a task. Two tasks exclude each other, and a cycle of waits is
 * one of tasks; one task shares what it holds with what it asks for again (`reentrance.ts`).
 */
import type { AcquireCall } from "./acquire-call.js";
import type { Hold } from "./hold.js";

const NOTHING: readonly never[] = Object.freeze([]);

/** One task of a session, from `client.owner()`: what asks for locks under it shares what it holds. */
export class Owner {
  /** As others see it: `owner` of holds and requests in views, errors and the wait-for graph. */
  readonly id: number;
  /** Numbers mean something in one client only. */
  readonly #client: object;

  constructor(id: number, client: object) {
    this.id = id;
    this.#client = client;
  }

  isOf(client: object): boolean {
    return this.#client === client;
  }
}

/**
 * An owner as its session knows it, with what it has and asks for: mostly one thing, once, so lists are
 * made anew when they change. Every owner is one.
 */
export class Task extends Owner {
  holds: readonly Hold[] = NOTHING;
  /** Acquires whose callers wait, in the order of calls. */
  acquires: readonly AcquireCall[] = NOTHING;

  static of(owner: Owner): Task {
    return owner as Task;
  }

  onAsked(call: AcquireCall): void {
    this.acquires = this.acquires.length === 0 ? [call] : [...this.acquires, call];
  }

  onAnswered(call: AcquireCall): void {
    this.acquires = without(this.acquires, call);
  }

  onGranted(hold: Hold): void {
    this.holds = this.holds.length === 0 ? [hold] : [...this.holds, hold];
  }

  onEnded(hold: Hold): void {
    this.holds = without(this.holds, hold);
  }
}

function without<T>(list: readonly T[], one: T): readonly T[] {
  if (list.length === 1 && list[0] === one) return NOTHING;
  return list.filter((each) => each !== one);
}
