/** What a client believes to hold: from the grant it heard to what it gave up or lost. */
import type { Belief } from "./client-watch.js";
import type { SimClient } from "./sim-client.js";

export class ClientHolds {
  /** A close was sent: what is granted now may end at any moment. */
  isClosing = false;
  readonly #client: SimClient;
  #beliefs: Belief[] = [];

  constructor(client: SimClient) {
    this.#client = client;
  }

  /** Of this session, and not given back by a release; lapsed ones are to be given back too. */
  get present(): Belief[] {
    const { session } = this.#client;
    return this.#beliefs.filter((belief) => {
      return belief.givenUp !== "released" && belief.session === session;
    });
  }

  of(token: number): Belief | undefined {
    return this.#beliefs.find((belief) => belief.token === token);
  }

  /** Grants what was heard to be granted, unless it was told before; returns what is new. */
  grant(items: Belief["items"], token: number, isCancelled: boolean): Belief | undefined {
    if (this.of(token) !== undefined) return undefined;
    const client = this.#client;
    const { session, trustsLease } = client;
    const isLapsed = isCancelled || this.isClosing || !trustsLease;
    const givenUp = isLapsed ? "lapsed" : undefined;
    const belief: Belief = { client, session, token, items, givenUp };
    this.#beliefs = this.#beliefs.filter((other) => other.session === session);
    this.#beliefs.push(belief);
    return belief;
  }

  /** The client does not count on it any more, released or not. */
  lapse(token: number): void {
    const belief = this.of(token);
    if (belief !== undefined) belief.givenUp ??= "lapsed";
  }

  lapseAll(): void {
    for (const belief of this.#beliefs) belief.givenUp ??= "lapsed";
  }

  /** A release of it was refused: it is to be released again. */
  keep(token: number): void {
    const belief = this.of(token);
    if (belief !== undefined) belief.givenUp = "lapsed";
  }

  /** It is not held, by what the cluster says. */
  forget(token: number): void {
    this.#beliefs = this.#beliefs.filter((belief) => belief.token !== token);
  }

  /** The session is no more. */
  end(): void {
    this.lapseAll();
    this.isClosing = false;
  }
}
