/** Leases as the words of the log give them, and ends that were announced. */
interface LawSession {
  epoch: number;
  ttlMs: number;
  leaseEndsAt: number;
  /** 0: no end was announced. */
  endsAt: number;
}

export class LawSessions {
  readonly #sessions = new Map<number, LawSession>();
  readonly #over = new Set<number>();
  readonly #torn = new Set<number>();

  /** Returns whether it is attached anew. */
  attach(session: number, epoch: number, stamp: number, ttlMs: number): boolean {
    const known = this.#sessions.get(session);
    if (known === undefined) {
      this.#sessions.set(session, { epoch, ttlMs, leaseEndsAt: stamp + ttlMs, endsAt: 0 });
      return true;
    }
    if (epoch <= known.epoch) return false;
    known.epoch = epoch;
    known.leaseEndsAt = Math.max(known.leaseEndsAt, stamp + known.ttlMs);
    return true;
  }

  renew(session: number, stamp: number): void {
    const known = this.#sessions.get(session);
    if (known !== undefined) known.leaseEndsAt = Math.max(known.leaseEndsAt, stamp + known.ttlMs);
  }

  leaseOf(session: number): number {
    return this.#sessions.get(session)?.leaseEndsAt ?? 0;
  }

  endOf(session: number): number {
    return this.#sessions.get(session)?.endsAt ?? 0;
  }

  /** Returns what is wrong. */
  announceEnd(session: number, endsAt: number): string | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return "nobody opened it";
    if (known.endsAt === endsAt) return undefined;
    known.endsAt = endsAt;
    if (endsAt >= known.leaseEndsAt) return undefined;
    return `is to end at ${endsAt}, its lease ends at ${known.leaseEndsAt}`;
  }

  end(session: number): void {
    this.#over.add(session);
  }

  isOver(session: number): boolean {
    return this.#over.has(session);
  }

  tear(session: number): void {
    this.#torn.add(session);
  }

  isTorn(session: number): boolean {
    return this.#torn.has(session);
  }
}
