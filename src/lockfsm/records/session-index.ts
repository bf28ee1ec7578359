/**
 * The sessions that were not ended, by number and by the digest of their nonce. What an ended session still holds or
 * waits for refers to it directly; here it cannot be found any more, so that nothing can speak or
 * ask for it.
 */
import { assert } from "../../assert.js";
import { hashNumber, hashText, ShardedMap } from "../index/sharded-map.js";
import { TtlCensus } from "../index/ttl-census.js";
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

  /** What they take without their claims; see `sizes.ts`. */
  get bytes(): number {
    return this.#bytes;
  }

  get shortestTtlMs(): number | undefined {
    return this.#ttls.shortestMs;
  }

  find(id: number): Session | undefined {
    return this.#byId.get(id);
  }

  /** The newest session that was opened with the nonce of this digest. */
  findByNonce(nonceDigest: string): Session | undefined {
    return this.#byNonceDigest.get(nonceDigest);
  }

  /** A session whose lease is due but not swept may lose its nonce to its successor here. */
  add(session: Session): void {
    assert(this.#byId.get(session.id) === undefined, () => `session ${session.id} twice`);
    this.#byId.set(session.id, session);
    this.#byNonceDigest.set(session.nonceDigest, session);
    this.#ttls.add(session.ttlMs);
    this.#bytes += bytesOfSession(session);
  }

  remove(session: Session): void {
    session.copies.copier?.copyEnding(session);
    const removed = this.#byId.delete(session.id);
    assert(removed, () => `session ${session.id} is not in the table`);
    const { nonceDigest } = session;
    if (this.#byNonceDigest.get(nonceDigest) === session) this.#byNonceDigest.delete(nonceDigest);
    this.#ttls.remove(session.ttlMs);
    this.#bytes -= bytesOfSession(session);
  }

  /**
   * Sessions with numbers below `end`, while others come and go: each that stays is among them. In
   * no order that means anything.
   */
  below(end: number): Generator<Session, void, void> {
    return this.#byId.valuesUntil((session) => session.id >= end);
  }

  /** In no order that means anything. */
  forEach(visit: (session: Session) => void): void {
    this.#byId.forEach(visit);
  }
}
