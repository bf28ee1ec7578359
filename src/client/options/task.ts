/**
 * A task inside a session that asks for locks. Two tasks exclude each other, and a
 * deadlock is a cycle of tasks that wait. A task can share what it holds with its own later
 * requests (`reentrance.ts`).
 */

/** One task of a session, from `client.task()`. Requests of one task can share a hold. */
export class Task {
  /** Its number: the `task` of holds and requests in views, errors and the wait-for graph. */
  readonly id: number;
  /** The client whose numbers these are. */
  readonly #client: object;

  constructor(id: number, client: object) {
    this.id = id;
    this.#client = client;
  }

  isOf(client: object): boolean {
    return this.#client === client;
  }
}
