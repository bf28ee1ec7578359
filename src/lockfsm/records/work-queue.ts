/**
 * What was begun and is to be gone on with by later entries, in order: keys in which something is left
 * to do, and ended sessions that still hold or wait. Part of the replicated state.
 */
import { assert } from "../../assert.js";
import { Fifo } from "../index/fifo.js";
import { Key } from "./key.js";
import type { Session } from "./session.js";

export type Work = Key | Session;

export class WorkQueue {
  readonly #items = new Fifo<Work>();
  #last: Work | undefined = undefined;

  get size(): number {
    return this.#items.size;
  }

  /** A key stands in it at most once. */
  addKey(key: Key): void {
    if (key.isQueuedForWork) return;
    key.isQueuedForWork = true;
    this.#items.add(key);
    this.#last = key;
  }

  /** An ended session stands in it at most once: only its own step or turn puts it there. */
  addSession(session: Session): void {
    assert(this.#items.size === 0 || this.#last !== session, () => `session ${session.id} twice`);
    this.#items.add(session);
    this.#last = session;
  }

  take(): Work | undefined {
    const item = this.#items.take();
    if (item instanceof Key) item.isQueuedForWork = false;
    return item;
  }

  /** In order. */
  forEach(visit: (item: Work) => void): void {
    this.#items.forEach(visit);
  }

  /** What is to be done, in order: a copy. */
  list(): Work[] {
    return this.#items.list();
  }
}
