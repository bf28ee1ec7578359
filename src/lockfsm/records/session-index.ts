/**
 * The sessions that have not ended, by number and by the digest of their nonce. The remaining
 * claims of an ended session refer to it directly; it can no longer be found here, so that no
 * command can act for it.
 */
import { assert } from "../../errors/index.js";
import { hashNumber, hashText, ShardedMap } from "../structures/sharded-map.js";
import { TtlCensus } from "../structures/ttl-census.js";
import type { Session } from "./session.js";
import { bytesOfSession } from "./sizes.js";

export class SessionIndex {
  readonly #byId = new ShardedMap<number, Session>(hashNumber);
  readonly #byNonceDigest = new ShardedMap<string, Session>(hashText);
  readonly #ttls = new TtlCensus();
  #bytes = 0;

  get size(): number {
    return this.#byId.size;
  }

  /** The size of the sessions without their claims; see `sizes.ts`. */
  get bytes(): number {
    return this.#bytes;
  }

  get shortestTtlMs(): number | undefined {
    return this.#ttls.shortestMs;
  }

  find(id: number): Session | undefined {
    return this.#byId.get(id);
  }

  /** The newest session opened with the nonce of this digest. */
  findByNonce(nonceDigest: string): Session | undefined {
    return this.#byNonceDigest.get(nonceDigest);
  }

  /**
   * Adds a session. A session with the same nonce whose lease is due but not swept is then no
   * longer found by that nonce.
   */
  add(session: Session): void {
    assert(this.#byId.get(session.id) === undefined, () => `session ${session.id} twice`);
    this.#byId.set(session.id, session);
    this.#byNonceDigest.set(session.nonceDigest, session);
    this.#ttls.add(session.ttlMs);
    this.#count(session, 1);
  }

  remove(session: Session): void {
    session.copies.copier?.copyEnding(session);
    const removed = this.#byId.delete(session.id);
    assert(removed, () => `session ${session.id} is not in the table`);
    const { nonceDigest } = session;
    if (this.#byNonceDigest.get(nonceDigest) === session) this.#byNonceDigest.delete(nonceDigest);
    this.#ttls.remove(session.ttlMs);
    this.#count(session, -1);
  }

  #count(session: Session, sessions: 1 | -1): void {
    const bytes = sessions * bytesOfSession(session);
    const { identity } = session.credential;
    identity.sessionCount += sessions;
    identity.bytes += bytes;
    this.#bytes += bytes;
  }

  /**
   * Yields the sessions with numbers below `end`, in no particular order, while others come and go.
   * Each one that stays is included.
   */
  below(end: number): Generator<Session, void, void> {
    return this.#byId.valuesUntil((session) => session.id >= end);
  }

  /** Visits the sessions in no particular order. */
  forEach(visit: (session: Session) => void): void {
    this.#byId.forEach(visit);
  }
}
