/** What a client believes to hold: from the grant it heard to what it gave up or lost. */
import type { Belief, Believer } from "../belief.js";

export class ClientHolds {
  /** A close was asked for: what is granted now may end at any moment. */
  isClosing = false;
  readonly #client: Believer;
  #beliefs: Belief[] = [];

  constructor(client: Believer) {
    this.#client = client;
  }

  /** The holds of this session that were not given back; lapsed ones are still to be given back. */
  get present(): Belief[] {
    const { session } = this.#client;
    return this.#beliefs.filter((belief) => {
      return belief.givenUp !== "released" && belief.session === session;
    });
  }

  get trusted(): Belief[] {
    return this.#beliefs.filter(({ isTrusted }) => isTrusted);
  }

  /** By the number that brought it. */
  of(sequence: number): Belief | undefined {
    const { session } = this.#client;
    return this.#beliefs.find((belief) => {
      return belief.sequence === sequence && belief.session === session;
    });
  }

  /** A hold that was not known before. */
  add(belief: Belief): void {
    if (this.isClosing || !this.#client.trustsLease) belief.lapse();
    this.#beliefs = this.#beliefs.filter((other) => other.session === belief.session);
    this.#beliefs.push(belief);
  }

  lapseAll(): void {
    for (const belief of this.#beliefs) belief.lapse();
  }

  /** Those whose time is over by the client's clock. */
  lapseOverdue(nowMs: number): void {
    for (const belief of this.#beliefs) if (nowMs >= belief.deadlineMs) belief.lapse();
  }

  /** It is not held, by what the cluster says. */
  forget(sequence: number): void {
    const gone = this.of(sequence);
    gone?.lapse();
    this.#beliefs = this.#beliefs.filter((belief) => belief !== gone);
  }

  /** The session is no more. The next one may have its number, if it is of a restored cluster. */
  end(): void {
    this.lapseAll();
    this.#beliefs = [];
    this.isClosing = false;
  }
}
