/**
 * A lock history and what follows from it: which call granted which token, which keys a token
 * holds, and from when on a hold may have ended without a release. A hold that was not reported as
 * lost, whose client lives and whose deadline has not passed, must not end: that is the promise.
 */
import type { Note, PairedHistory } from "../operations.js";
import type { Grant } from "./grant.js";
import { lapses } from "./lapses.js";
import { type Item, type LockCall, numberIn, readLockCalls } from "./lock-calls.js";

export interface LockHistory {
  readonly paired: PairedHistory;
  readonly calls: readonly LockCall[];
  /** By token; if a token was granted twice, the first in order of invocation. */
  readonly grants: ReadonlyMap<number, Grant>;
  /** Further grants of tokens that another task had been granted before. */
  readonly grantedAgain: readonly Grant[];
  /** Position from which the hold of a token may have ended by itself, or been ended by others. */
  readonly mayEndAt: ReadonlyMap<number, number>;
  /** The first position at which the client's own deadline had passed. */
  readonly lapsedAt: ReadonlyMap<number, number>;
  /** The first position at which the hold can have ended for any reason. */
  readonly endsFrom: (grant: Grant) => number;
  /** `lost` notes by token: position of the first. */
  readonly lostAt: ReadonlyMap<number, number>;
  /** `queued` notes by call. */
  readonly queuedAt: ReadonlyMap<LockCall, Note>;
  /** By key: the first invocation of an acquire without an answer. */
  readonly unknownAcquireAt: ReadonlyMap<string, number>;
  /** The first invocation of an upgrade or adopt without an answer. */
  readonly unknownExchangeAt: number;
}

export function readLockHistory(paired: PairedHistory): LockHistory {
  return new LockHistoryReader(paired).read();
}

class LockHistoryReader {
  readonly #paired: PairedHistory;
  readonly #calls: readonly LockCall[];
  readonly #grants = new Map<number, Grant>();
  readonly #grantedAgain: Grant[] = [];
  readonly #mayEndAt = new Map<number, number>();
  readonly #lapsedAt = new Map<number, number>();
  readonly #lostAt = new Map<number, number>();
  readonly #queuedAt = new Map<LockCall, Note>();
  readonly #releasedAt = new Map<number, number>();
  /** By token: when the last release was invoked that found it held. */
  readonly #heldAt = new Map<number, number>();
  readonly #closedAt = new Map<string, number[]>();
  readonly #unknownAcquireAt = new Map<string, number>();
  #unknownExchangeAt = Number.POSITIVE_INFINITY;
  readonly #bySession = new Map<string, Grant[]>();
  readonly #byKey = new Map<string, Grant[]>();

  constructor(paired: PairedHistory) {
    this.#paired = paired;
    this.#calls = readLockCalls(paired);
  }

  read(): LockHistory {
    for (const call of this.#calls) this.#readGrant(call);
    this.#readNotes();
    this.#readLapses();
    for (const call of this.#calls) {
      this.#readEnds(call);
      this.#readUnknown(call);
    }
    for (const call of this.#calls) this.#readOrderlyEnds(call);
    return {
      paired: this.#paired,
      calls: this.#calls,
      grants: this.#grants,
      grantedAgain: this.#grantedAgain,
      mayEndAt: this.#mayEndAt,
      lapsedAt: this.#lapsedAt,
      endsFrom: (grant) => this.#endsFrom(grant),
      lostAt: this.#lostAt,
      queuedAt: this.#queuedAt,
      unknownAcquireAt: this.#unknownAcquireAt,
      unknownExchangeAt: this.#unknownExchangeAt,
    };
  }

  #readGrant(call: LockCall): void {
    if (call.granted === undefined) return;
    const first = this.#grants.get(call.granted);
    if (first !== undefined && isReentry(first.call, call)) return;
    const replaces =
      call.f === "acquire" || call.token === undefined ? undefined : this.#grants.get(call.token);
    const items = call.f === "acquire" ? call.items : upgraded(call, replaces?.items ?? []);
    const grant = { token: call.granted, call, items, session: call.session, replaces };
    if (first !== undefined) {
      this.#grantedAgain.push(grant);
      return;
    }
    this.#grants.set(call.granted, grant);
    append(this.#bySession, call.session, grant);
    for (const item of items) append(this.#byKey, item.key, grant);
  }

  #readNotes(): void {
    const callOf = new Map(this.#calls.map((call) => [call.operation, call]));
    for (const note of this.#paired.notes) {
      const { event, at } = note;
      const value = (event.value ?? {}) as Readonly<Record<string, unknown>>;
      if (event.f === "lost") {
        const token = numberIn(value, "token");
        if (token === undefined) continue;
        if (!this.#lostAt.has(token)) this.#lostAt.set(token, at);
        this.#mayEnd(token, at);
      } else if (event.f === "crash") {
        for (const grant of this.#bySession.get(event.session ?? event.process) ?? []) {
          // A lease outlives its client; if the deadline is known, that is when it may end.
          if (grant.call.untilNs === undefined) this.#mayEnd(grant.token, at);
        }
      } else if (event.f === "queued") {
        const call = note.during === undefined ? undefined : callOf.get(note.during);
        if (call !== undefined && !this.#queuedAt.has(call)) this.#queuedAt.set(call, note);
      }
    }
  }

  /** If the client's own deadline is known and nothing renewed it, the hold may end then. */
  #readLapses(): void {
    for (const [token, at] of lapses(this.#paired, this.#calls, this.#grants)) {
      this.#lapsedAt.set(token, at);
      this.#mayEnd(token, at);
    }
  }

  /** What a call may end even if its own outcome does not say so. */
  #readEnds(call: LockCall): void {
    const { operation } = call;
    const { invokedAt, outcome, returnedAt } = operation;
    if (call.f === "release" && call.token !== undefined && !this.#releasedAt.has(call.token)) {
      this.#releasedAt.set(call.token, invokedAt);
    }
    if (call.f === "release" && call.token !== undefined && outcome === "ok" && call.answer) {
      this.#heldAt.set(call.token, Math.max(invokedAt, this.#heldAt.get(call.token) ?? 0));
    }
    if (call.f === "close") append(this.#closedAt, call.session, invokedAt);
    // The client gave the hold up before it asked, and repeats the request until it gets an answer.
    if (call.f === "release" && outcome !== "ok" && call.token !== undefined) {
      this.#mayEnd(call.token, invokedAt);
    }
    if (call.f === "close" && outcome !== "ok") {
      for (const grant of this.#bySession.get(call.session) ?? []) {
        this.#mayEnd(grant.token, invokedAt);
      }
    }
    if (isEndByOthers(call) && outcome !== "fail" && !call.hasGrace) {
      for (const { token, call: granting } of this.#touchedBy(call)) {
        if (granting.operation.invokedAt < returnedAt) this.#mayEnd(token, invokedAt);
      }
    }
    if (call.isSteal && outcome === "info") {
      for (const item of call.items) {
        for (const token of this.#onKey(item.key)) this.#mayEnd(token, invokedAt);
      }
    }
  }

  /**
   * Ends that a holder hears of before, or at which its own deadline is over: a revoke with a
   * grace, and the longest time of a hold. They come unseen only if the holder has just given it
   * up.
   */
  #readOrderlyEnds(call: LockCall): void {
    if (call.granted !== undefined && call.maxHoldMs !== undefined) {
      this.#mayEndWithRelease(call.granted, call.operation.invokedAt);
    }
    if (!isEndByOthers(call) || !call.hasGrace || call.operation.outcome === "fail") return;
    const { invokedAt } = call.operation;
    for (const { token } of this.#touchedBy(call)) this.#mayEndWithRelease(token, invokedAt);
  }

  #mayEndWithRelease(token: number, at: number): void {
    const releasedAt = this.#releasedAt.get(token);
    if (releasedAt !== undefined) this.#mayEnd(token, Math.max(at, releasedAt));
  }

  /** Holds whose token may have been exchanged unseen, or that wait for somebody who adopts them. */
  #readUnknown(call: LockCall): void {
    const { invokedAt, outcome } = call.operation;
    if (outcome === "fail") return;
    if (call.f === "hand-over" && call.token !== undefined) this.#mayEnd(call.token, invokedAt);
    if (outcome === "ok") return;
    if ((call.f === "upgrade" || call.f === "adopt") && call.token !== undefined) {
      this.#mayEnd(call.token, invokedAt);
      this.#unknownExchangeAt = Math.min(this.#unknownExchangeAt, invokedAt);
    }
    for (const { key } of call.items) {
      if (!this.#unknownAcquireAt.has(key)) this.#unknownAcquireAt.set(key, invokedAt);
    }
  }

  #endsFrom({ token, session, call }: Grant): number {
    // Nothing else can have ended it before the last release that found it held, and one that did
    // not find it held has not ended it.
    const heldAt = this.#heldAt.get(token);
    if (heldAt !== undefined) return heldAt;
    const closed = this.#closedAt.get(session)?.find((at) => at > call.operation.invokedAt);
    return Math.min(
      this.#mayEndAt.get(token) ?? Number.POSITIVE_INFINITY,
      closed ?? Number.POSITIVE_INFINITY,
    );
  }

  /** The grants that a revoke or an end of a session concerns. */
  #touchedBy({ f, token, target, operation }: LockCall): readonly Grant[] {
    if (f === "end-session") return target === undefined ? [] : (this.#bySession.get(target) ?? []);
    if (token === undefined) return this.#byKey.get(operation.key ?? "") ?? [];
    const grant = this.#grants.get(token);
    return grant === undefined ? [] : [grant];
  }

  #onKey(key: string | undefined): number[] {
    return (this.#byKey.get(key ?? "") ?? []).map((grant) => grant.token);
  }

  #mayEnd(token: number, at: number): void {
    const known = this.#mayEndAt.get(token);
    const grantedAt = this.#grants.get(token)?.call.operation.invokedAt ?? at;
    const from = Math.max(at, grantedAt);
    if (known === undefined || from < known) this.#mayEndAt.set(token, from);
  }
}

/** It ends holds of others, if it is not a steal. */
function isEndByOthers({ f }: LockCall): boolean {
  return f === "revoke" || f === "end-session";
}

/** The same task asked again for its hold, and is counted. */
export function isReentry(first: LockCall, call: LockCall): boolean {
  return call.isReentrant && call.hasNamedTask && call.task === first.task;
}

function upgraded(call: LockCall, items: readonly Item[]): readonly Item[] {
  if (call.f !== "upgrade") return items;
  const key = call.operation.key;
  return items.map((item) => {
    const isMeant = item.mode === "shared" && (key === undefined || key === item.key);
    return isMeant ? { ...item, mode: "exclusive" } : item;
  });
}

function append<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
