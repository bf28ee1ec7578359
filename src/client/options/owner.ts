/**
 * Who, inside a session, asks for locks: a task. Two tasks exclude each other, and a cycle of waits is
 * one of tasks; one task shares what it holds with what it asks for again (`reentrance.ts`).
 */

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
