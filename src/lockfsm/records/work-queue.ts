/**
 * What later entries continue, in order: keys in which something is left to do, and ended sessions that
 * still hold or wait; and requests whose owners have yet to be searched for cycles of waits, because an
 * entry makes only so many steps of search. Part of the replicated state.
 */
import { assert } from "../../assert.js";
import { Fifo } from "../index/fifo.js";
import { Key } from "./key.js";
import type { Request, Session } from "./session.js";

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

/** A request stands in it at most once; of one that ended nothing is to be looked at any more. */
export class SearchQueue {
  readonly #requests = new Fifo<Request>();

  /** Whether there may be something to look at. */
  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** Returns whether it was not queued before. */
  add(request: Request): boolean {
    if (request.isQueuedForSearch) return false;
    request.isQueuedForSearch = true;
    this.#requests.add(request);
    return true;
  }

  get first(): Request | undefined {
    const requests = this.#requests;
    while (requests.first?.hasEnded === true) this.take();
    return requests.first;
  }

  take(): void {
    const request = this.#requests.take();
    if (request !== undefined) request.isQueuedForSearch = false;
  }

  /** In order, without those that ended. */
  forEach(visit: (request: Request) => void): void {
    this.#requests.forEach((request) => {
      if (!request.hasEnded) visit(request);
    });
  }
}
