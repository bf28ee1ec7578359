/** What a client believes to hold: from the grant it heard to what it gave up or lost. */
import type { Belief } from "./belief.js";
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

  /** By whichever of its tokens. */
  of(token: number): Belief | undefined {
    return this.#beliefs.find((belief) => belief.hasToken(token));
  }

  /** A hold that was not known before. `isDoubtful`: it is only there to be given back. */
  add(belief: Belief, isDoubtful: boolean): void {
    if (isDoubtful || this.isClosing || !this.#client.trustsLease) belief.lapse();
    this.#beliefs = this.#beliefs.filter((other) => other.session === belief.session);
    this.#beliefs.push(belief);
  }

  /** The client does not count on it any more, released or not. */
  lapse(token: number): void {
    this.of(token)?.lapse();
  }

  lapseAll(): void {
    for (const belief of this.#beliefs) belief.lapse();
  }

  lapseOf(owner: number): void {
    for (const belief of this.#beliefs) if (belief.owner === owner) belief.lapse();
  }

  /** Those whose time is over by the client's clock. */
  lapseOverdue(nowMs: number): void {
    for (const belief of this.#beliefs) if (nowMs >= belief.deadlineMs) belief.lapse();
  }

  /** What has a release or cancel on its way from before: whether that counted is not known. */
  lapseUncertain(): void {
    for (const belief of this.#beliefs) if (belief.givingBack > 0) belief.lapse();
  }

  /** A release of it was refused, or did not end it: it is to be released again. */
  keep(belief: Belief): void {
    belief.givenUp = "lapsed";
  }

  /** It is not held, by what the cluster says. */
  forget(token: number): void {
    this.lapse(token);
    this.#beliefs = this.#beliefs.filter((belief) => !belief.hasToken(token));
  }

  /** What is present, and belongs to nobody here any more. */
  export(): Belief[] {
    const { present } = this;
    this.#beliefs = this.#beliefs.filter((belief) => !present.includes(belief));
    return present;
  }

  /** The session is no more. */
  end(): void {
    this.lapseAll();
    this.isClosing = false;
  }
}
