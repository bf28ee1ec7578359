/**
 * Requests whose owners are to be looked at for cycles of waits by later entries, in order, because an
 * entry makes only so many steps of search. A request stands in it at most once; of one that ended
 * nothing is to be looked at any more. Part of the replicated state.
 */
import { Fifo } from "../index/fifo.js";
import type { Request } from "./request.js";

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
