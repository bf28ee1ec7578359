/**
 * The work that later entries continue, in order: keys in which something is left to do, ended
 * sessions that still have claims, and requests whose tasks have yet to be searched for cycles of
 * waits, because an entry makes only a bounded number of search steps. Part of the replicated
 * state.
 */
import { assert } from "../../errors/index.js";
import { Fifo } from "../structures/fifo.js";
import type { Identity } from "./identity.js";
import { Key } from "./key.js";
import type { Request, Session } from "./session.js";
import type { SessionIndex } from "./session-index.js";

/** The sessions that an identity has, in the order of their numbers. */
export function sessionsOf(sessions: SessionIndex, identity: Identity): Session[] {
  const found: Session[] = [];
  sessions.forEach((session) => {
    if (session.credential.identity === identity) found.push(session);
  });
  return found.sort((left, right) => left.id - right.id);
}

/** An identity that was removed, with the sessions that it had, in the order of their numbers. */
export class RemovedIdentity {
  readonly identity: Identity;
  readonly sessions: readonly Session[];
  /** The name of the identity that removed it. */
  readonly orderedBy: string;
  /** How many of the sessions were dealt with. */
  done = 0;

  constructor(identity: Identity, sessions: readonly Session[], orderedBy: string) {
    this.identity = identity;
    this.sessions = sessions;
    this.orderedBy = orderedBy;
  }
}

export type Work = Key | Session | RemovedIdentity;

export class WorkQueue {
  readonly #items = new Fifo<Work>();
  #last: Work | undefined = undefined;

  get size(): number {
    return this.#items.length;
  }

  /** Adds a key, which is in the queue at most once. */
  addKey(key: Key): void {
    if (key.isQueuedForWork) return;
    key.isQueuedForWork = true;
    this.#items.push(key);
    this.#last = key;
  }

  /**
   * Adds an ended session, which is in the queue at most once: only its own step or turn adds it.
   */
  addSession(session: Session): void {
    assert(this.#items.length === 0 || this.#last !== session, () => `session ${session.id} twice`);
    this.#items.push(session);
    this.#last = session;
  }

  addIdentity(removed: RemovedIdentity): void {
    this.#items.push(removed);
    this.#last = removed;
  }

  take(): Work | undefined {
    const item = this.#items.shift();
    if (item instanceof Key) item.isQueuedForWork = false;
    return item;
  }

  /** Visits the items in order. */
  forEach(visit: (item: Work) => void): void {
    this.#items.forEach(visit);
  }

  /** A copy of the items, in order. */
  list(): Work[] {
    return this.#items.list();
  }
}

/**
 * A queue of requests to search from, each at most once. Requests that have ended are skipped.
 */
export class SearchQueue {
  readonly #requests = new Fifo<Request>();

  /** Whether no request is left. */
  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** Returns whether the request was not queued before. */
  add(request: Request): boolean {
    if (request.isQueuedForSearch) return false;
    request.isQueuedForSearch = true;
    this.#requests.push(request);
    return true;
  }

  get first(): Request | undefined {
    const requests = this.#requests;
    while (requests.at(0)?.hasEnded === true) this.take();
    return requests.at(0);
  }

  take(): void {
    const request = this.#requests.shift();
    if (request !== undefined) request.isQueuedForSearch = false;
  }

  /** Visits the requests in order, without those that have ended. */
  forEach(visit: (request: Request) => void): void {
    this.#requests.forEach((request) => {
      if (!request.hasEnded) visit(request);
    });
  }
}
