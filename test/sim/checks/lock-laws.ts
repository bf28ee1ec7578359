/**
 * The laws of locks, held against what was said in the order of the log: words only, no table. What
 * is granted conflicts with nothing that is held, closed or waits before it; tokens rise; whoever waits
 * leaves in one documented way; nothing ends before its time, and who loses something was due to.
 *
 * Where words do not tell enough the laws are silent: about tickets that may have ended, and the tokens
 * of a session that was taken over, until somebody asks. Whether anything was left unsaid is the
 * business of others (`witness.ts`).
 */
import { ERROR_NUMBERS } from "../../../src/errors.js";
import type { TableCommand } from "../../../src/lockfsm/index.js";
import {
  type AcquireCommand,
  type Attached,
  type ClaimCommand,
  END_REASON,
  type EndReason,
  MESSAGE,
  OP,
  type Result,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import { LawHolds } from "./law-holds.js";
import { type LawHold, type LawWait, UNSEEN_OWNER, wantedOf } from "./law-records.js";
import { LawSessions } from "./law-sessions.js";
import { LawWaits } from "./law-waits.js";

type ResultOf<S extends number> = Extract<Result, { readonly status: S }>;

const PRIORITY_STEP_MS = 1_000;

export class LockLaws {
  grantCount = 0;
  complaint: string | undefined;
  readonly #sessions = new LawSessions();
  readonly #holds = new LawHolds();
  readonly #waits = new LawWaits();
  readonly #commands = new Map<string, SequencedCommand>();
  /** Over which attachment each of them came. */
  readonly #epochs = new Map<string, number>();
  readonly #answered = new Set<string>();
  /** The token that a sequence was granted. */
  readonly #granted = new Map<string, number>();
  #stamp = 0;
  #arrivals = 0;
  #priorityStepMs = PRIORITY_STEP_MS;
  /** Something in the entry takes holds away at once. */
  #isForcing = false;
  #takeOvers: readonly string[] = [];
  /** Told that somebody waits, while nobody was known to: who does may be answered later. */
  #unexplained: LawHold[] = [];

  /** The next entry. */
  begin(stamp: number, commands: readonly TableCommand[]): void {
    this.#stamp = stamp;
    this.#holds.begin(stamp);
    this.#isForcing = false;
    const takeOvers: string[] = [];
    for (const { session, epoch, command } of commands) {
      if (command === undefined) continue;
      if (command.op === OP.takeOver) takeOvers.push(`${command.session}/${command.attempt}`);
      if ("now" in command && command.now) this.#isForcing = true;
      if (!("sequence" in command)) continue;
      const key = `${session}/${command.sequence}`;
      // What an older attachment sent has no effect, and may differ: what is left of a wait does.
      if (this.#answered.has(key) || epoch < (this.#epochs.get(key) ?? 0)) continue;
      this.#commands.set(key, command);
      this.#epochs.set(key, epoch);
    }
    this.#takeOvers = takeOvers;
  }

  /** Everything was said of the entry. */
  finish(): void {
    for (const { token } of this.#unexplained) this.#complain(`${token} is contended by nobody`);
    this.#unexplained = [];
  }

  attached({ status, session, epoch, attempt, stamp, ttlMs }: Attached): void {
    if (status !== STATUS.ok || stamp !== this.#stamp) return;
    if (!this.#sessions.attach(session, epoch, stamp, ttlMs)) return;
    if (this.#takeOvers.includes(`${session}/${attempt}`)) this.#holds.obscure(session);
  }

  hear(session: number, message: SessionMessage): void {
    switch (message.kind) {
      case MESSAGE.reply:
        if (message.stamp === this.#stamp) this.#reply(session, message.sequence, message.result);
        return;
      case MESSAGE.outcome:
        this.#outcome(session, message.sequence, message.result);
        return;
      case MESSAGE.pulse:
        this.#sessions.renew(session, this.#stamp);
        return;
      case MESSAGE.recalled:
        this.#sessions.renew(session, this.#stamp);
        for (const recalled of message.tokens) {
          if (recalled.held) this.#holds.reveal(session, recalled);
        }
        return;
      case MESSAGE.contended:
        this.#contended(session, message.token);
        return;
      case MESSAGE.revoking:
        this.#revoking(session, message.token, message.endsAt);
        return;
      case MESSAGE.lost:
        this.#lost(session, message.token, message.reason);
        return;
      case MESSAGE.ended:
        this.#ended(session, message.reason);
        return;
    }
  }

  /** Whether the end that was announced to a session, or of one of its holds, is due. */
  isWarned(session: number, token: number): boolean {
    const endsAt = token === 0 ? this.#sessions.endOf(session) : this.#holds.of(token)?.revokedAt;
    return endsAt !== undefined && endsAt > 0 && endsAt <= this.#stamp;
  }

  /** Whether a hold was taken away without time for its holder to hear of it. */
  isTorn(session: number, token: number): boolean {
    return this.#sessions.isTorn(session) || this.#holds.isTorn(token);
  }

  /** Whether the session has a hold of that token. */
  isHeldBy(session: number, token: number): boolean {
    return this.#holds.of(token)?.session === session;
  }

  #complain(what: string): void {
    this.complaint ??= what;
  }

  #reply(session: number, sequence: number, result: Result): void {
    const key = `${session}/${sequence}`;
    const command = this.#commands.get(key);
    const isFirst = !this.#answered.has(key);
    if (command === undefined || result.status === ERROR_NUMBERS.SESSION_EXPIRED || !isFirst)
      return;
    this.#answered.add(key);
    if (command.op !== OP.close) this.#sessions.renew(session, this.#stamp);
    switch (command.op) {
      case OP.acquire:
        this.#acquired(key, this.#waitOf(session, command), command, result);
        return;
      case OP.upgrade:
        this.#acquired(key, this.#upgradeOf(session, command), command, result);
        return;
      case OP.claim:
        if (result.status === STATUS.claimed) this.#claimed(session, command, result);
        return;
      case OP.release:
        this.#released(session, command.token, result, END_REASON.released);
        return;
      case OP.revoke:
        this.#holds.doubtTickets();
        if (command.key !== undefined) {
          this.#holds.open([command.key], command.token || Number.POSITIVE_INFINITY);
        }
        return;
      case OP.cancel:
        this.#cancelled(session, command.target, result);
        return;
      default:
        if (result.status === STATUS.ok) this.#done(command);
    }
  }

  /** What needs no more than `ok`. */
  #done(command: SequencedCommand): void {
    if (command.op === OP.downgrade) this.#holds.weaken(command.token, command.key);
    else if (command.op === OP.detach) {
      const { token, secret, ticketTtlMs } = command;
      this.#holds.detach(token, { secret, endsAt: this.#stamp + ticketTtlMs });
    } else if (command.op === OP.setLimit) this.#holds.setLimit(command.key, command.limit);
    else if (command.op === OP.changeSetting && command.name === "priorityStepMs") {
      this.#priorityStepMs = command.value ?? PRIORITY_STEP_MS;
    }
  }

  #acquired(key: string, wait: LawWait, command: SequencedCommand, result: Result): void {
    const names = wait.items.map((item) => item.key);
    this.#unexplained = this.#unexplained.filter(({ claims }) => {
      return !claims.some((claim) => names.includes(claim.key));
    });
    for (const item of wait.items) {
      const isKnown = result.status === STATUS.granted || result.status === STATUS.queued;
      if (isKnown && item.mode === "permits" && item.limit !== undefined) {
        this.#holds.setLimit(item.key, item.limit);
      }
    }
    if (result.status === STATUS.queued) this.#waits.add(key, wait);
    else this.#settled(key, wait, command, result);
  }

  #outcome(session: number, sequence: number, result: Result): void {
    const key = `${session}/${sequence}`;
    const command = this.#commands.get(key);
    const wait = this.#waits.take(key);
    if (wait === undefined || command === undefined) {
      this.#complain(`${key} does not wait and has an outcome ${result.status}`);
      return;
    }
    const problem = this.#waits.problemOfOutcome(wait, result, this.#stamp, (name) => {
      return this.#holds.limitOf(name);
    });
    if (problem !== undefined) this.#complain(`${key}: ${problem}`);
    this.#settled(key, wait, command, result);
  }

  #settled(key: string, wait: LawWait, command: SequencedCommand, result: Result): void {
    if (result.status === STATUS.granted && command.op === OP.acquire) {
      this.#onGranted(key, wait, command, result);
    } else if (result.status === STATUS.upgraded) {
      this.#granted.set(key, result.token);
      this.#newToken(key, result.token);
      this.#note(key, this.#holds.upgrade(wait.upgrades, result.token, result.key));
    } else if (result.status === ERROR_NUMBERS.DEADLOCK) {
      this.#note(key, this.#waits.problemOfCycle(wait, result));
    }
  }

  #onGranted(
    key: string,
    wait: LawWait,
    { options }: AcquireCommand,
    result: ResultOf<typeof STATUS.granted>,
  ): void {
    const { token, slots = [], count = 1 } = result;
    this.#granted.set(key, token);
    const known = this.#holds.of(token);
    if (known !== undefined || (count > 1 && this.#holds.isObscured(wait.session))) {
      if (known !== undefined) this.#note(key, this.#holds.countUp(known, wait, count));
      return;
    }
    if (count !== 1) this.#complain(`${key}: ${count} times ${token}, which nobody held`);
    this.#newToken(key, token);
    const isSteal = options?.steal === true;
    if (isSteal) this.#holds.doubtTickets();
    if (!isSteal) this.#note(key, this.#waits.problemOfOrder(wait));
    let semaphores = 0;
    const names = wait.items.map(({ key: name }) => name);
    const claims = wait.items.map((item) => {
      const ofItem = item.mode === "permits" ? (slots[semaphores] ?? []) : [];
      if (item.mode === "permits") semaphores += 1;
      return { key: item.key, mode: item.mode, wanted: wantedOf(item), slots: ofItem };
    });
    const hold: LawHold = {
      token,
      session: wait.session,
      owner: wait.owner,
      claims,
      grantedAt: this.#stamp,
      maxHoldMs: options?.maxHoldMs ?? 0,
      minHoldMs: options?.minHoldMs ?? 0,
      lockDelayMs: options?.lockDelayMs ?? 0,
      count: 1,
      isContended: false,
      revokedAt: 0,
      ticket: undefined,
      mayBeGone: false,
    };
    if (isSteal) this.#holds.open(names, Number.POSITIVE_INFINITY);
    this.#note(key, this.#holds.problemOfGrant(claims, 0));
    this.#holds.add(hold);
  }

  #claimed(session: number, command: ClaimCommand, result: ResultOf<typeof STATUS.claimed>): void {
    const key = `${session}/${command.sequence}`;
    this.#granted.set(key, result.token);
    this.#newToken(key, result.token);
    this.#note(key, this.#holds.claim(session, command, result));
  }

  #newToken(key: string, token: number): void {
    this.grantCount += 1;
    this.#note(key, this.#holds.problemOfToken(token));
  }

  #released(session: number, token: number, result: Result, reason: EndReason): void {
    if (result.status !== STATUS.released) return;
    const hold = this.#holds.of(token);
    if (hold === undefined || hold.session !== session) {
      if (this.#holds.isObscured(session)) return;
      this.#complain(`session ${session} releases ${token}, which it does not hold`);
      return;
    }
    const remaining = result.remaining ?? 0;
    if (remaining !== hold.count - 1) {
      this.#complain(`${token} was held ${hold.count} times, then ${remaining} times`);
    }
    hold.count = remaining;
    if (remaining === 0) this.#holds.end(hold, reason);
  }

  #cancelled(session: number, target: number, result: Result): void {
    if (result.status !== STATUS.released) return;
    const key = `${session}/${target}`;
    const command = this.#commands.get(key);
    const token = this.#granted.get(key);
    if (command === undefined || token === undefined) {
      this.#complain(`${key} was granted nothing that could be taken back`);
    } else if (command.op === OP.upgrade) this.#holds.weaken(token, command.key);
    else this.#released(session, token, result, END_REASON.cancelled);
  }

  #contended(session: number, token: number): void {
    const hold = this.#holds.of(token);
    if (hold === undefined) {
      if (!this.#holds.isObscured(session)) this.#complain(`${token} is contended and not held`);
      return;
    }
    if (hold.isContended) this.#complain(`${token} is contended twice`);
    const isBehind = this.#waits.isAnyBehind(hold, (upgraded) => this.#holds.of(upgraded));
    if (!isBehind) this.#unexplained.push(hold);
    hold.isContended = true;
  }

  #revoking(session: number, token: number, endsAt: number): void {
    if (token === 0) {
      this.#note(`session ${session}`, this.#sessions.announceEnd(session, endsAt));
      return;
    }
    const hold = this.#holds.of(token);
    if (hold === undefined) return;
    const leaseEndsAt = this.#sessions.leaseOf(session);
    // What was revoked as a ticket had no lease.
    const isNew = hold.revokedAt === 0 && !hold.mayBeGone;
    if (isNew && endsAt < leaseEndsAt) {
      this.#complain(`${token} is revoked for ${endsAt}, its lease ends at ${leaseEndsAt}`);
    }
    hold.revokedAt = endsAt;
  }

  #lost(session: number, token: number, reason: EndReason): void {
    const hold = this.#holds.of(token);
    const isAtOnce =
      reason === END_REASON.stolen ||
      (reason === END_REASON.revoked && !this.isWarned(session, token));
    if (isAtOnce) this.#holds.tear(token);
    if (hold === undefined) {
      // What an ended session had may end for a reason of its own before it was dealt with.
      const mayBe = this.#holds.isObscured(session) || this.#sessions.isOver(session);
      if (!mayBe) this.#complain(`${token} is lost and not held`);
      return;
    }
    const { grantedAt, maxHoldMs } = hold;
    const isCapped = maxHoldMs > 0 && this.#stamp >= grantedAt + maxHoldMs;
    if (reason === END_REASON.maxHold && !isCapped) this.#complain(`${token} has no cap by now`);
    if (reason === END_REASON.revoked && isAtOnce && !this.#isForcing) {
      this.#complain(`${token} was revoked before its time, ${hold.revokedAt}`);
    }
    this.#holds.end(hold, reason);
  }

  #ended(session: number, reason: EndReason): void {
    const leaseEndsAt = this.#sessions.leaseOf(session);
    if (reason === END_REASON.expired && this.#stamp < leaseEndsAt) {
      this.#complain(`session ${session} expired before ${leaseEndsAt}`);
    }
    if (reason === END_REASON.revoked && !this.isWarned(session, 0)) {
      if (!this.#isForcing) this.#complain(`session ${session} was ended before its time`);
      this.#sessions.tear(session);
    }
    this.#sessions.end(session);
    this.#waits.drop(session);
    this.#holds.endAll(session, reason);
  }

  #waitOf(session: number, { owner, items, waitMs, options }: AcquireCommand): LawWait {
    const headStartMs = (options?.priority ?? 0) * this.#priorityStepMs;
    const detects = options?.detect ?? true;
    return { ...this.#arrival(waitMs), session, owner, items, headStartMs, detects, upgrades: 0 };
  }

  #upgradeOf(
    session: number,
    command: Extract<SequencedCommand, { op: typeof OP.upgrade }>,
  ): LawWait {
    const { token, key, waitMs, detect } = command;
    const owner = this.#holds.ownerOf(token) ?? UNSEEN_OWNER;
    const items = [{ key, mode: "exclusive" } as const];
    const rest = { headStartMs: 0, detects: detect, upgrades: token };
    return { ...this.#arrival(waitMs), session, owner, items, ...rest };
  }

  #arrival(waitMs: number) {
    this.#arrivals += 1;
    const deadline = waitMs === WAIT_FOREVER ? 0 : this.#stamp + waitMs;
    return { enqueuedAt: this.#stamp, number: this.#arrivals, deadline };
  }

  #note(key: string, problem: string | undefined): void {
    if (problem !== undefined) this.#complain(`${key}: ${problem}`);
  }
}
