/**
 * The one meter of a node: every port gets its input through it. It measures for how long the loop
 * works on what each connection sends, adds that up for each identity and address, and lets those wait
 * that are over their share (`loop-shares.ts`). What waits stays in the buffers of the system; of each
 * connection that waits, the node keeps at most what had been read already.
 *
 * It must know nothing of what the input means, and must not read a clock where nothing is received.
 */
import { performance } from "node:perf_hooks";
import { isOwnMachine } from "../gateway/socket-limits.js";
import type { PortLimits } from "../port-limits.js";
import type { MeterTotals } from "../types.js";
import { InputLine } from "./input-line.js";
import { LoopShares, Party, type PartyKind } from "./loop-shares.js";
import { UnfinishedInput, type UnfinishedTuning } from "./unfinished-input.js";

/** Shares are settled when this much time has gone by, or later. */
const SETTLE_MS = 2;
/** Those who wait are served for so long at a time; then the loop looks at everything else. */
const SERVE_MS = 5;
/** What is handled of one input at once should take no longer, while others are there. */
const PIECE_MS = 3;
/**
 * What is handled of a party that is alone before the loop looks whether there are others: who comes new,
 * or after a pause, waits no longer for it. More than `SERVE_MS`, so that every round goes on.
 */
const ROUND_MS = 8;
const PIECE_BYTES_MIN = 1 << 10;
const PIECE_BYTES_MAX = 64 << 10;
/** What a request costs at most that nobody measured by itself. */
const REQUEST_MS_MAX = 0.2;
const REQUEST_SMOOTH = 0.1;

/** What the meter asks of the process. */
export interface MeterClock {
  nowMs(): number;
  /** For how long the loop of this process has not been idle, in milliseconds. */
  busyMs(): number;
  /** Runs when no promise is left that can go on. */
  afterPromises(task: () => void): void;
  /** Runs after the input that waits now. */
  soon(task: () => void): void;
  after(ms: number, task: () => void): void;
}

const CLOCK: MeterClock = {
  nowMs: () => performance.now(),
  busyMs: () => performance.eventLoopUtilization().active,
  // Node.js has run all promises that can go on when it runs this.
  afterPromises: (task) => queueMicrotask(() => process.nextTick(task)),
  soon: (task) => setImmediate(task),
  after: (ms, task) => setTimeout(task, ms).unref(),
};

export interface InputMeterOptions extends Partial<UnfinishedTuning> {
  /** Counts what exceeds a limit by identity or address. Default: enforced, and not counted. */
  readonly limits?: PortLimits;
  /** Whether everybody may do everything: then parties are addresses. Default: always. */
  readonly isOpen?: () => boolean;
  /** Commands that the table has executed, of whomever. Default: none. */
  readonly appliedTotal?: () => number;
  readonly clock?: MeterClock;
}

/** A source of input, as the meter sees it. */
export interface Metered {
  /** As `addressGroup` has it. */
  readonly address: string;
  account: Account;
  /** What waits of it may be handled: at least one piece, if there is one. */
  release(): void;
}

/** A party, with its sums since it was first seen, and its inputs that wait. */
export class Account extends Party {
  readonly line = new InputLine<Metered>();
  inputs = 0;
  requests = 0;
  loopMs = 0;
  /** Requests of this round that nobody has charged for yet. */
  uncharged = 0;
  /** Loop time for each byte, lately. */
  byteMs = 0;
}

export class InputMeter {
  readonly unfinished: UnfinishedInput;
  readonly #limits: PortLimits | undefined;
  readonly #isOpen: () => boolean;
  readonly #appliedTotal: () => number;
  readonly #clock: MeterClock;
  readonly #shares: LoopShares;
  readonly #accounts = new Map<string, Account>();
  readonly #waiting = new Set<Account>();
  /** Those with requests to charge for: at the end of a round, since a request may only count. */
  #asking: Account[] = [];
  /** Without inputs; forgotten once they are not active any more. */
  readonly #left = new Set<Account>();
  readonly #totals = {
    identity: { bytes: 0, requests: 0, loopMs: 0 },
    address: { bytes: 0, requests: 0, loopMs: 0 },
    strangers: { bytes: 0, requests: 0, loopMs: 0 },
    local: { bytes: 0, requests: 0, loopMs: 0 },
  };
  #current: Account | undefined;
  #sinceMs = 0;
  #settledMs: number;
  #busyMs: number;
  #applied = 0;
  /** Since the last settlement: what was measured, and requests. */
  #measuredMs = 0;
  #requests = 0;
  /** What a request costs besides: its part of a turn, of entries and of replies. */
  #requestMs = 0;
  /** What this round has spent. */
  #roundMs = 0;
  #heldTotal = 0;
  #isPlanned = false;
  #isTimed = false;
  readonly #endNow = (): void => this.end();
  readonly #endRound = (): void => this.#onRoundEnd();

  constructor(options: InputMeterOptions = {}) {
    const { limits, isOpen = () => true, appliedTotal = () => 0, clock = CLOCK } = options;
    this.#limits = limits;
    this.#isOpen = isOpen;
    this.#appliedTotal = appliedTotal;
    this.#clock = clock;
    this.#settledMs = clock.nowMs();
    this.#busyMs = clock.busyMs();
    this.#shares = new LoopShares(this.#settledMs);
    this.unfinished = new UnfinishedInput(options, limits);
  }

  /** Since the start. */
  get totals(): MeterTotals {
    return this.#totals;
  }

  /** How often an input was made to wait, since the start. */
  get heldTotal(): number {
    return this.#heldTotal;
  }

  /** Inputs that wait. */
  get heldCount(): number {
    let count = 0;
    for (const { line } of this.#waiting) count += line.length;
    return count;
  }

  /**
   * The account of an input. `identity`: as whom it speaks; `undefined`: it has not said. Must be left
   * once.
   */
  accountOf(address: string, identity: string | undefined, isLocal: boolean): Account {
    const [kind, name] = this.#partyOf(address, identity, isLocal);
    const key = keyOf(kind, name);
    let account = this.#accounts.get(key);
    if (account === undefined) {
      account = new Account(kind, name);
      this.#accounts.set(key, account);
    }
    account.inputs += 1;
    this.#left.delete(account);
    return account;
  }

  leave(input: Metered): void {
    const { account } = input;
    account.line.delete(input);
    if (account.line.length === 0) this.#waiting.delete(account);
    account.inputs -= 1;
    if (account.inputs === 0) this.#left.add(account);
  }

  /** An input now belongs to another identity. */
  move(input: Metered, identity: string | undefined, isLocal: boolean): void {
    const before = input.account;
    const waits = before.line.length;
    this.leave(input);
    input.account = this.accountOf(input.address, identity, isLocal);
    if (before.line.length < waits) this.wait(input);
  }

  /** From now on, until it ends or something else begins, the loop works for that account. */
  begin(account: Account): void {
    const nowMs = this.#clock.nowMs();
    if (this.#current !== undefined) this.#charge(this.#current, nowMs);
    this.#current = account;
    this.#sinceMs = nowMs;
    this.#planRound();
  }

  end(): void {
    if (this.#current === undefined) return;
    this.#charge(this.#current, this.#clock.nowMs());
    this.#current = undefined;
  }

  /** The same once everything has ended that goes on from the running code by promises. */
  endSoon(): void {
    this.#clock.afterPromises(this.#endNow);
  }

  /** For how long the loop has been working for the current account. */
  get spentMs(): number {
    return this.#current === undefined ? 0 : this.#clock.nowMs() - this.#sinceMs;
  }

  /** `bytes` have come. */
  received(account: Account, bytes: number): void {
    this.#totals[account.kind].bytes += bytes;
  }

  /** A request was taken, which the loop will work for later as well. */
  request(account: Account): void {
    account.requests += 1;
    account.uncharged += 1;
    this.#roundMs += this.#requestMs;
    if (account.uncharged > 1) return;
    this.#asking.push(account);
    this.#planRound();
  }

  /** Whether input of that account may be handled now; nobody overtakes those who wait. */
  mayBegin(account: Account): boolean {
    if (account.line.length > 0) return false;
    if (!this.#shares.isContended(account)) return this.#roundMs < ROUND_MS;
    return this.#isServed(account);
  }

  /** Whether the loop should look at others before it goes on with this account. */
  mustYield(account: Account): boolean {
    const { spentMs } = this;
    if (this.#shares.isContended(account)) return spentMs >= PIECE_MS;
    return this.#roundMs + spentMs >= ROUND_MS;
  }

  /** How many bytes of it to handle at once. */
  pieceBytesOf(account: Account): number {
    if (account.byteMs === 0) return PIECE_BYTES_MAX;
    const mostMs = this.#shares.isContended(account) ? PIECE_MS : ROUND_MS;
    const bytes = Math.floor(mostMs / account.byteMs);
    return Math.max(PIECE_BYTES_MIN, Math.min(PIECE_BYTES_MAX, bytes));
  }

  /** A piece was handled: its bytes, the milliseconds that took, and the requests in it. */
  learn(account: Account, bytes: number, ms: number, requests: number): void {
    const byteMs = (ms + requests * this.#requestMs) / bytes;
    account.byteMs += (byteMs - account.byteMs) / 4;
  }

  /** Calls `release` when it is the turn of that input. */
  wait(input: Metered): void {
    const { account } = input;
    if (account.line.add(input) && !this.#shares.mayBegin(account)) this.#noteHeld(input);
    this.#waiting.add(account);
    this.#planRound();
  }

  #noteHeld({ address, account }: Metered): void {
    this.#heldTotal += 1;
    if (account.kind === "identity")
      this.#limits?.note("identity", "loopShare", account.name, undefined);
    else this.#limits?.note("address", "loopShare", address, undefined);
  }

  #partyOf(
    address: string,
    identity: string | undefined,
    isLocal: boolean,
  ): readonly [PartyKind, string] {
    if (isLocal) return ["local", ""];
    if (this.#isOpen()) return ["address", isOwnMachine(address) ? "" : address];
    return identity === undefined ? ["strangers", ""] : ["identity", identity];
  }

  #charge(account: Account, nowMs: number): void {
    const ms = nowMs - this.#sinceMs;
    this.#shares.spend(account, ms);
    this.#measuredMs += ms;
    this.#roundMs += ms;
    account.loopMs += ms;
    this.#totals[account.kind].loopMs += ms;
  }

  #chargeRequests(): void {
    if (this.#asking.length === 0) return;
    for (const account of this.#asking) {
      const { uncharged } = account;
      const ms = uncharged * this.#requestMs;
      account.uncharged = 0;
      account.loopMs += ms;
      this.#requests += uncharged;
      this.#totals[account.kind].requests += uncharged;
      this.#totals[account.kind].loopMs += ms;
      this.#shares.spend(account, ms);
    }
    this.#asking = [];
  }

  #planRound(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#clock.soon(this.#endRound);
  }

  /** All input that was there has been looked at once. */
  #onRoundEnd(): void {
    this.#isPlanned = false;
    this.end();
    this.#roundMs = 0;
    this.#chargeRequests();
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#settledMs >= SETTLE_MS) this.#settle(nowMs);
    if (this.#waiting.size > 0) this.#serve(nowMs, []);
  }

  #settle(nowMs: number): void {
    const busyMs = this.#clock.busyMs();
    const applied = this.#appliedTotal();
    const unmeasuredMs = Math.max(0, busyMs - this.#busyMs - this.#measuredMs);
    const executed = Math.max(this.#requests, applied - this.#applied);
    if (executed > 0) {
      const requestMs = Math.min(REQUEST_MS_MAX, unmeasuredMs / executed);
      this.#requestMs += (requestMs - this.#requestMs) * REQUEST_SMOOTH;
    }
    const otherMs = Math.max(0, unmeasuredMs - this.#requests * this.#requestMs);
    this.#shares.settle(nowMs, otherMs);
    this.#settledMs = nowMs;
    this.#busyMs = busyMs;
    this.#applied = applied;
    this.#measuredMs = 0;
    this.#requests = 0;
    for (const account of this.#left) {
      if (account.isActive) continue;
      this.#left.delete(account);
      this.#accounts.delete(keyOf(account.kind, account.name));
    }
  }

  /**
   * Lets those go on who may, one after the other, for a short time. What one goes on with by promises
   * comes before the next, so that it counts, and for whom it was.
   */
  #serve(beganMs: number, turn: Account[]): void {
    this.end();
    if (this.#waiting.size === 0) return;
    if (this.#clock.nowMs() - beganMs >= SERVE_MS) {
      this.#planService();
      return;
    }
    for (let account = turn.pop(); account !== undefined; account = turn.pop()) {
      if (!this.#waiting.has(account) || !this.#isServed(account)) continue;
      const input = account.line.shift();
      if (account.line.length === 0) this.#waiting.delete(account);
      input?.release();
      this.#clock.afterPromises(() => this.#serve(beganMs, turn));
      return;
    }
    const next = [...this.#waiting].filter((account) => this.#isServed(account));
    if (next.length > 0) this.#serve(beganMs, next.reverse());
    else this.#planService();
  }

  #isServed(account: Account): boolean {
    return this.#shares.mayBegin(account) || this.#limits?.isEnforced === false;
  }

  #planService(): void {
    let waitMs = Number.POSITIVE_INFINITY;
    for (const account of this.#waiting) {
      waitMs = Math.min(waitMs, this.#shares.waitMsOf(account));
    }
    if (waitMs === 0) this.#planRound();
    else if (!this.#isTimed) {
      this.#isTimed = true;
      this.#clock.after(Math.ceil(waitMs), () => {
        this.#isTimed = false;
        this.#planRound();
      });
    }
  }
}

function keyOf(kind: PartyKind, name: string): string {
  return `${kind} ${name}`;
}
