/**
 * The queues of the naive model: one list of all requests in the order of arrival, one of all holds
 * in the order of tokens, and a scan of everything for every question. See `model.ts`.
 */
import { ERROR_NUMBERS } from "../../src/errors.js";
import type { TableSettings } from "../../src/lockfsm/index.js";
import {
  BLOCKED_BY,
  type Blocker,
  type KeyView,
  type LockItem,
  type LockMode,
  type Result,
  STATUS,
} from "../../src/protocol/index.js";
import {
  conflict,
  type ModelHold,
  type ModelRequest,
  type ModelSession,
  modeIn,
} from "./model-records.js";

/** Places of a list that a refusal looks at for somebody to name. */
const LOOKS_MAX = 16;

export abstract class NaiveClaims {
  protected stamp = 0;
  protected nextToken = 0;
  protected requests: ModelRequest[] = [];
  protected holds: ModelHold[] = [];
  protected work: (string | ModelSession)[] = [];
  protected budget = 0;
  protected readonly settings: TableSettings;

  constructor(settings: TableSettings) {
    this.settings = settings;
  }

  /** A wait ended with this result. */
  protected abstract settle(session: ModelSession, sequence: number, result: Result): void;

  inspect(key: string): KeyView {
    return {
      key,
      holds: this.holds.flatMap((hold) => {
        const mode = modeIn(hold.items, key);
        if (mode === undefined) return [];
        const { token, session, owner } = hold;
        const leaseMs = session.ended ? 0 : Math.max(0, session.expiresAt - this.stamp);
        const heldMs = this.stamp - hold.since;
        const sessionName = session.name;
        return [{ token, mode, session: session.id, sessionName, owner, heldMs, leaseMs }];
      }),
      waiters: this.requests.flatMap((request) => {
        const mode = modeIn(request.items, key);
        if (mode === undefined) return [];
        const { session, owner, sequence } = request;
        const waitingMs = this.stamp - request.since;
        const sessionName = session.name;
        return [{ mode, session: session.id, sessionName, owner, sequence, waitingMs }];
      }),
    };
  }

  protected isOver(request: ModelRequest): boolean {
    return request.deadline <= this.stamp || !this.isAlive(request.session);
  }

  protected isAlive(session: ModelSession): boolean {
    return !session.ended && session.expiresAt > this.stamp;
  }

  /** Whether something that stands behind `ahead` conflicts with a hold or with any of them. */
  protected isBlocked(mode: string | undefined, key: string, ahead: readonly ModelRequest[]) {
    const others = [...this.holds, ...ahead];
    return others.some(({ items }) => conflict(modeIn(items, key), mode));
  }

  protected isFree({ key, mode }: LockItem): boolean {
    const ahead = this.requests.filter(({ items }) => modeIn(items, key) !== undefined);
    return ahead.every(({ reached }) => reached.includes(key)) && !this.isBlocked(mode, key, ahead);
  }

  protected look(key: string): void {
    for (;;) {
      const queue = this.requests.filter(({ items }) => modeIn(items, key) !== undefined);
      const at = queue.findIndex(({ reached }) => !reached.includes(key));
      const request = queue[at];
      if (request === undefined) return;
      if (this.isBlocked(modeIn(request.items, key), key, queue.slice(0, at))) return;
      if (this.budget === 0) {
        if (!this.work.includes(key)) this.work.push(key);
        return;
      }
      this.budget -= 1;
      request.reached.push(key);
      if (request.reached.length < request.items.length || this.isOver(request)) continue;
      this.requests = this.requests.filter((other) => other !== request);
      const result = this.hold(request);
      this.settle(request.session, request.sequence, result);
    }
  }

  protected hold(
    from: Pick<ModelHold, "session" | "sequence" | "owner"> & { items: readonly LockItem[] },
  ): Result {
    const { session, sequence, owner } = from;
    const token = this.nextToken++;
    this.holds.push({ session, sequence, owner, token, items: [...from.items], since: this.stamp });
    return { status: STATUS.granted, token };
  }

  protected endRequest(request: ModelRequest, result: Result | undefined): void {
    if (result !== undefined) this.settle(request.session, request.sequence, result);
    const left = [...request.items];
    // Its places go one after the other; what is left of it still stands in the other queues.
    const rest: ModelRequest = { ...request, items: left };
    this.requests[this.requests.indexOf(request)] = rest;
    for (const { key } of request.items) {
      left.shift();
      if (left.length === 0) this.requests = this.requests.filter((other) => other !== rest);
      this.look(key);
    }
  }

  protected endHold(hold: ModelHold): void {
    for (const { key } of [...hold.items]) {
      hold.items.shift();
      if (hold.items.length === 0) this.holds = this.holds.filter((other) => other !== hold);
      this.look(key);
    }
  }

  protected endClaims(session: ModelSession): void {
    for (;;) {
      const request = this.requests.find((other) => other.session === session);
      const hold = this.holds.find((other) => other.session === session);
      if (request === undefined && hold === undefined) return;
      if (this.budget === 0) {
        this.work.push(session);
        return;
      }
      this.budget -= 1;
      if (request !== undefined) this.endRequest(request, undefined);
      else if (hold !== undefined) this.endHold(hold);
    }
  }

  protected lockHeld(items: readonly LockItem[]): Result {
    const blockers: Blocker[] = [];
    let byHolds = false;
    for (const item of items.filter((wanted) => !this.isFree(wanted))) {
      const { holds, waiters } = this.inspect(item.key);
      byHolds ||= holds.some(({ mode }) => conflict(mode, item.mode));
      const isInWay = ({ mode }: { readonly mode: LockMode }) => conflict(mode, item.mode);
      // Behind shared places that wait for nobody, those in a shared one's way begin later.
      const first = waiters[0]?.mode === "shared" ? waiters.findIndex(isInWay) : 0;
      const queue = waiters.map((waiter) => ({ ...waiter, token: 0 }));
      const behind = queue.slice(Math.max(0, first));
      for (const other of [...holds.slice(0, LOOKS_MAX), ...behind.slice(0, LOOKS_MAX)]) {
        if (!isInWay(other)) continue;
        const { sessionName, mode, token } = other;
        blockers.push({ sessionName, key: item.key, mode, token });
      }
    }
    return {
      status: ERROR_NUMBERS.LOCK_HELD,
      blockedBy: byHolds ? BLOCKED_BY.holds : BLOCKED_BY.waiters,
      blockers: blockers.slice(0, 4),
    };
  }
}
