/**
 * What was begun and is to be gone on with by later entries, in order: keys in which something is left
 * to do, ended sessions that still hold or wait, and requests whose search for a circle of waits was
 * cut short. Part of the replicated state.
 */
import { assert } from "../assert.js";
import { Key } from "./key.js";
import type { Request } from "./request.js";
import type { Session } from "./session.js";

export type Work = Key | Session | Request;

/** Served items are cut off when there are so many. */
const SERVED_MAX = 1_024;

export class WorkQueue {
  #items: Work[] = [];
  /** Index of the first item that was not served. */
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  /** A key stands in it at most once. */
  addKey(key: Key): void {
    if (key.isQueuedForWork) return;
    key.isQueuedForWork = true;
    this.#items.push(key);
  }

  /** An ended session stands in it at most once: only its own step or turn puts it there. */
  addSession(session: Session): void {
    assert(this.#items[this.#items.length - 1] !== session, () => `session ${session.id} twice`);
    this.#items.push(session);
  }

  /** May have ended by its turn. */
  addRequest(request: Request): void {
    this.#items.push(request);
  }

  take(): Work | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) this.#cut();
    else if (this.#head >= SERVED_MAX && this.#head * 2 > this.#items.length) this.#cut();
    if (item instanceof Key) item.isQueuedForWork = false;
    return item;
  }

  /** In order. */
  forEach(visit: (item: Work) => void): void {
    for (let at = this.#head; at < this.#items.length; at += 1) visit(this.#items[at] as Work);
  }

  /** What is to be done, in order: a copy. */
  list(): Work[] {
    return this.#items.slice(this.#head);
  }

  #cut(): void {
    this.#items.splice(0, this.#head);
    this.#head = 0;
  }
}
