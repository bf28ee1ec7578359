/**
 * The laws of locks, held against what was said in the order of the log: words only, no table. What
 * is granted conflicts with nothing that is held, closed or waits before it; tokens rise; commands
 * are executed in the order of their numbers; every wait ends in one documented way; nothing ends
 * before its time, and a client loses only what it was due to lose; what is recalled is as it was
 * said before.
 *
 * Where words do not say enough the laws are silent: about what owners have and may have lost.
 * Whether anything was left unsaid is the business of others (`witness.ts`).
 */
import { problemOfEnding } from "../../../../lab/laws/endings.js";
import { PRIORITY_STEP_MS } from "../../../../lab/laws/order.js";
import { ERROR_NUMBERS } from "../../../../src/errors/index.js";
import type { TableCommand } from "../../../../src/lockfsm/index.js";
import {
  type AcquireCommand,
  type AdoptCommand,
  type Attached,
  END_REASON,
  type EndReason,
  type Item,
  MESSAGE,
  OP,
  RECALL_STATE,
  type RecalledSequence,
  type Result,
  type RevokeCommand,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
  type TakeCommand,
  type UpgradeCommand,
  WAIT_FOREVER,
} from "../../../../src/protocol/index.js";
import { ANONYMOUS_PERSON } from "../access/reckoning.js";
import { canonicalTextOf } from "../canonical-text.js";
import { EntryCommands } from "./entry-commands.js";
import { LawHolds, problemOfName } from "./law-holds.js";
import { endOf, type Presence } from "./law-leases.js";
import { type LawHold, type LawWait, wantedOf } from "./law-records.js";
import { LawSessions } from "./law-sessions.js";
import { LawWaits } from "./law-waits.js";
import { LeaseLaws } from "./lease-laws.js";

type ResultOf<S extends number> = Extract<Result, { readonly status: S }>;

const REASONS: ReadonlyMap<number, string> = new Map(
  Object.entries(END_REASON).map(([name, reason]) => [reason, name]),
);
/** Settings that refuse clients that want to wait, or to hold. */
const ROOM_SETTINGS: readonly string[] = ["waitersMax", "waitsPerSessionMax", "holdsPerSessionMax"];
/** In place of the number of a task. */
const NO_TASK = 0;
/** With these answers a request is in its keys. */
const TAKEN_IN: readonly number[] = [STATUS.granted, STATUS.leased, STATUS.queued];

export class LockLaws {
  grantCount = 0;
  complaint: string | undefined;
  /** Whose a session is; `undefined`: nobody's that is known. */
  personOf: (session: number) => number | undefined = () => ANONYMOUS_PERSON;
  /** Tokens of leases that end with this entry, which somebody might still count on. */
  endingTokens: readonly number[] = [];
  commands = new EntryCommands([]);
  readonly #sessions = new LawSessions();
  readonly #holds = new LawHolds();
  readonly #waits = new LawWaits();
  readonly #leases = new LeaseLaws({
    holds: this.#holds,
    waits: this.#waits,
    isWaiting: (wait) => this.#isWaiting(wait),
    newToken: (token) => {
      this.grantCount += 1;
      return this.#holds.problemOfToken(token);
    },
  });
  /** What the takes were last answered, by session and sequence. */
  readonly #taken = new Map<string, Result>();
  /** What was executed and waits, by session and sequence. */
  readonly #waiting = new Map<string, SequencedCommand>();
  readonly #dismissed = new Set<number>();
  #stamp = 0;
  /** In a restored cluster, nobody has a session before that. */
  #quietUntil = 0;
  #arrivals = 0;
  #priorityStepMs = PRIORITY_STEP_MS;
  /** Which of the settings that refuse are set; and how often one was. */
  readonly #tight = new Set<string>();
  #tightened = 0;
  /** Told that somebody waits, while nobody was known to: who does may be answered later. */
  #unexplained: LawHold[] = [];
  /** Upgrades of what was made shared, which do not wait any more when all is said. */
  #lowered: string[] = [];

  /**
   * The laws of a cluster that is restored from what this one was. `newestToken`: the token of the
   * last grant before this one was stopped for good.
   */
  outlived(quietMs: number, newestToken: number): LockLaws {
    const laws = new LockLaws();
    laws.#stamp = this.#stamp;
    laws.#quietUntil = this.#stamp + quietMs;
    laws.#priorityStepMs = this.#priorityStepMs;
    laws.#holds.outlive(this.#holds, newestToken, quietMs);
    laws.#leases.longestMs = this.#leases.longestMs;
    laws.#leases.mayBeEndless = this.#leases.mayBeEndless;
    return laws;
  }

  /** How often a setting was to leave less room than there is at first; `undefined`: one does now. */
  get tightenedCount(): number | undefined {
    return this.#tight.size > 0 ? undefined : this.#tightened;
  }

  get stamp(): number {
    return this.#stamp;
  }

  /** The highest token that was reported for any grant. */
  get newestToken(): number {
    return this.#holds.newestToken;
  }

  /** The next entry. */
  begin(stamp: number, commands: readonly TableCommand[]): void {
    this.#stamp = stamp;
    const { leases } = this.#holds;
    this.endingTokens = [...leases.endingBy(stamp)].map(({ token }) => token);
    this.#holds.begin(stamp);
    this.#leases.begin(stamp, commands);
    this.commands = new EntryCommands(commands);
  }

  /** Everything was said of the entry. */
  finish(): void {
    for (const { token } of this.#unexplained) this.#complain(`${token} is contended by nobody`);
    this.#unexplained = [];
    for (const upgrade of this.#lowered) {
      if (!this.#waits.has(upgrade)) continue;
      this.#complain(`${upgrade} is to upgrade what was made shared`);
    }
    this.#lowered = [];
    const stranded = this.#waits.strandedUpgrade((hold) => this.#holds.isHeld(hold));
    if (stranded !== undefined) this.#complain(`${stranded} is to upgrade what is no more held`);
  }

  attached(message: Attached): void {
    const { session, key } = message;
    const command = this.commands.attach(key);
    if (command === undefined) {
      this.#complain(`nobody asked for the attach ${key}`);
      return;
    }
    if (message.status === STATUS.ok && this.#stamp < this.#quietUntil) {
      this.#complain(`session ${session} begins before ${this.#quietUntil}, at ${this.#stamp}`);
    }
    this.#note(`session ${session}`, this.#sessions.attach(message, command));
  }

  hear(session: number, epoch: number, message: SessionMessage): void {
    switch (message.kind) {
      case MESSAGE.reply:
        this.#reply(session, epoch, message.sequence, message.result);
        return;
      case MESSAGE.outcome:
        this.#outcome(session, message.sequence, message.result);
        return;
      case MESSAGE.renewed:
        this.#sessions.renew(session, this.#stamp);
        return;
      case MESSAGE.recalled:
        this.#sessions.renew(session, this.#stamp);
        for (const recalled of message.sequences) {
          this.#note(`${session}/${recalled.sequence}`, this.#recalled(session, recalled));
        }
        return;
      case MESSAGE.contended:
        this.#contended(session, message.sequence);
        return;
      case MESSAGE.revoking:
        this.#revoking(session, message.sequence, message.endsAt);
        return;
      case MESSAGE.lost:
        this.#lost(session, message.sequence, message.token, message.reason);
        return;
      case MESSAGE.ended:
        this.#ended(session, message.reason);
        return;
    }
  }

  /** Whether the end that was announced to a session, or of one of its holds, is due. */
  isWarned(session: number, sequence: number): boolean {
    const endsAt =
      sequence === 0 ? this.#sessions.endOf(session) : this.#holds.of(session, sequence)?.revokedAt;
    return endsAt !== undefined && endsAt > 0 && endsAt <= this.#stamp;
  }

  /** The highest number of a session that was executed. */
  highestOf(session: number): number {
    return this.#sessions.highestOf(session);
  }

  /** Whether a hold was taken away without time for its holder to hear of it. */
  isTorn(session: number, token: number): boolean {
    if (this.#holds.leases.isTorn(token)) return true;
    return this.#sessions.isTorn(session) || this.#holds.isTorn(token);
  }

  /** Whether the session has a hold of that token. */
  isHeldBy(session: number, token: number): boolean {
    const hold = this.#holds.withToken(token);
    return hold !== undefined && hold.session === session && this.#holds.isHeld(hold);
  }

  /** The tokens of what the session holds. */
  tokensOf(session: number): number[] {
    return [...this.#holds.all(session)].map(({ token }) => token);
  }

  /** The numbers by which the session knows what it holds. */
  numbersOf(session: number): number[] {
    return [...this.#holds.all(session)].map(({ sequence }) => sequence);
  }

  /** The number by which its session knows the hold that has, or had, that token; 0: nobody does. */
  numberOf(session: number, token: number): number {
    const hold = this.#holds.withToken(token);
    return hold?.session === session ? hold.sequence : 0;
  }

  /** The keys of what a session holds by that number. */
  keysOf(session: number, sequence: number): readonly string[] | undefined {
    return this.#holds.of(session, sequence)?.claims.map(({ key }) => key);
  }

  /** Its identity was removed: it ends without a word before. */
  dismiss(session: number): void {
    this.#dismissed.add(session);
    this.#sessions.tear(session);
  }

  /** When the lease of that token ends; `undefined`: it has ended. */
  endOfLease(token: number): number | undefined {
    const lease = this.#holds.leases.withToken(token);
    return lease && endOf(lease);
  }

  /** How a key is held by that token now; `undefined`: not by that. */
  modeOf(token: number, key: string): string | undefined {
    const hold = this.#holds.withToken(token);
    if (hold === undefined || hold.token !== token || !this.#holds.isHeld(hold)) return undefined;
    return hold.claims.find((claim) => claim.key === key)?.mode;
  }

  /** The tokens that its own session gives up by a command. */
  givenUpBy(session: number, command: SequencedCommand, result: Result): number[] {
    const { status } = result;
    if (command.op === OP.close) return this.tokensOf(session);
    if (command.op === OP.giveBack && status === STATUS.givenBack) {
      return this.#leases.givenUpBy(session, this.personOf(session), command);
    }
    if (command.op === OP.act) {
      const isDone = "tokens" in result && result.tokens.length > 0;
      return isDone ? this.#leases.endedBy(this.personOf(session), command) : [];
    }
    const isEnd = command.op === OP.end && status === STATUS.released;
    const isMoved = command.op === OP.handOver && status === STATUS.leased;
    const hold = isEnd || isMoved ? this.#holds.of(session, command.target) : undefined;
    return hold === undefined ? [] : [hold.token];
  }

  #complain(what: string): void {
    this.complaint ??= what;
  }

  #reply(session: number, epoch: number, sequence: number, result: Result): void {
    const key = `${session}/${sequence}`;
    const command = this.commands.executed(session, epoch, sequence);
    if (command === undefined) {
      this.#complain(`${key} is answered, and is not of this entry`);
      return;
    }
    // An order without a session is carried out, and nothing is remembered of it.
    if (session > 0) this.#note(key, this.#sessions.execute(session, epoch, sequence));
    if (session > 0 && command.op !== OP.close) this.#sessions.renew(session, this.#stamp);
    this.#leases.next();
    switch (command.op) {
      case OP.acquire:
        this.#useLimits(command.items, result);
        this.#acquired(key, this.#waitOf(session, command), command, result);
        return;
      case OP.take:
        this.#take(key, session, command, result);
        return;
      case OP.extend:
        this.#note(key, this.#leases.extended(this.personOf(session), command, result));
        return;
      case OP.act:
        this.#note(key, this.#leases.acted(this.personOf(session), command, result));
        return;
      case OP.giveBack: {
        const person = this.personOf(session);
        this.#note(key, this.#leases.gaveBack(session, person, command, result));
        return;
      }
      case OP.upgrade:
        this.#upgrading(key, session, command, result);
        return;
      case OP.handOver: {
        const giver = {
          person: this.personOf(session),
          orderedAt: this.#sessions.endOf(session),
        };
        const hold = this.#holds.of(session, command.target);
        this.#note(key, this.#leases.handedOver(hold, command, giver, result));
        return;
      }
      case OP.adopt:
        this.#note(key, this.#adopted(session, command, result));
        return;
      case OP.end:
        this.#note(key, this.#endedBy(session, command.target, result));
        return;
      case OP.revoke:
        if (result.status === STATUS.revoked) this.#revokeLeases(command);
        if (result.status === STATUS.revoked && result.opened > 0 && command.key !== undefined) {
          this.#holds.open(new Set([command.key]));
        } else if (result.status === STATUS.revoked && result.opened > 0) {
          this.#holds.openToken(command.token);
        }
        return;
      default:
        if (result.status === STATUS.ok) this.#note(key, this.#done(session, command));
    }
  }

  /** What needs no more than `ok`. Returns what is wrong. */
  #done(session: number, command: SequencedCommand): string | undefined {
    if (command.op === OP.setLimit) {
      this.#holds.setLimit(command.key, command.limit);
      this.#holds.remember(command.key, command.limit !== undefined);
    }
    if (command.op === OP.changeSetting) {
      const { name, value } = command;
      if (name === "priorityStepMs") this.#priorityStepMs = value ?? PRIORITY_STEP_MS;
      this.#leases.changeSetting(name, value);
      if (ROOM_SETTINGS.includes(name)) this.#changeRoom(name, value);
    }
    if (!("target" in command)) return undefined;
    const hold = this.#holds.of(session, command.target);
    if (hold === undefined) return `is done to ${command.target}, which is not held`;
    if (command.op === OP.downgrade) {
      const upgrade = this.#waits.upgradeOf(hold, command.key);
      if (upgrade !== undefined) this.#lowered.push(upgrade);
      this.#holds.weaken(hold, command.key);
    }
    return undefined;
  }

  #changeRoom(name: string, value: number | undefined): void {
    if (value === undefined) this.#tight.delete(name);
    else {
      this.#tight.add(name);
      this.#tightened += 1;
    }
  }

  #upgrading(key: string, session: number, command: UpgradeCommand, result: Result): void {
    const hold = this.#holds.of(session, command.target);
    if (hold === undefined) {
      const { status } = result;
      const isKnown = status === ERROR_NUMBERS.NOT_HELD || status === ERROR_NUMBERS.FORBIDDEN;
      if (!isKnown) this.#complain(`${key} gets ${result.status}, and its hold is gone`);
      return;
    }
    const other = this.#waits.upgradeOf(hold);
    if (result.status === STATUS.queued && other !== undefined) {
      this.#complain(`${key} waits to upgrade what ${other} waits to upgrade`);
    }
    this.#acquired(key, this.#upgradeOf(hold, command), command, result);
  }

  /** Notes the limits in a request that was not refused. */
  #useLimits(items: readonly Item[], { status }: Result): void {
    if (!TAKEN_IN.includes(status)) return;
    for (const item of items) {
      if (item.mode === "permits") this.#holds.setLimit(item.key, item.limit);
    }
  }

  #acquired(key: string, wait: LawWait, command: SequencedCommand, result: Result): void {
    const names = wait.items.map((item) => item.key);
    this.#unexplained = this.#unexplained.filter(({ claims }) => {
      return !claims.some((claim) => names.includes(claim.key));
    });
    if (result.status === STATUS.queued) {
      this.#waits.add(key, wait);
      this.#waiting.set(key, command);
    } else this.#settled(key, wait, command, result);
  }

  #outcome(session: number, sequence: number, result: Result): void {
    const key = `${session}/${sequence}`;
    const command = this.#waiting.get(key);
    const wait = this.#waits.take(key);
    this.#waiting.delete(key);
    if (wait === undefined || command === undefined) {
      this.#complain(`${key} does not wait and has an outcome ${result.status}`);
      return;
    }
    const problem = this.#waits.problemOfOutcome(wait, result, this.#stamp, (name) => {
      return this.#holds.limitOf(name);
    });
    if (problem !== undefined) this.#complain(`${key}: ${problem}`);
    if (command.op === OP.take) {
      this.#taken.set(key, result);
      if (result.status === ERROR_NUMBERS.CANCELLED) this.#note(key, this.#leases.cancelled(wait));
    }
    this.#settled(key, wait, command, result);
  }

  #settled(key: string, wait: LawWait, command: SequencedCommand, result: Result): void {
    if (result.status === STATUS.granted && command.op === OP.acquire) {
      this.#onGranted(key, wait, command, result);
    } else if (result.status === STATUS.leased && command.op === OP.take) {
      this.#note(key, this.#leases.leased(wait, command, result));
    } else if (result.status === STATUS.upgraded && command.op === OP.upgrade) {
      this.grantCount += 1;
      const { upgrades } = wait;
      if (upgrades === undefined) return;
      this.#note(key, this.#holds.upgrade(upgrades, result.token, command.key));
    } else if (result.status === ERROR_NUMBERS.DEADLOCK) {
      this.#note(key, this.#waits.problemOfCycle(wait, result));
    }
  }

  #onGranted(
    key: string,
    wait: LawWait,
    { sequence, options }: AcquireCommand,
    result: ResultOf<typeof STATUS.granted>,
  ): void {
    const { token, slots = [] } = result;
    this.#newToken(key, token);
    const isSteal = options?.steal === true;
    if (!isSteal) this.#note(key, this.#waits.problemOfOrder(wait));
    let semaphores = 0;
    const claims = wait.items.map((item) => {
      const ofItem = item.mode === "permits" ? (slots[semaphores] ?? []) : [];
      if (item.mode === "permits") semaphores += 1;
      return { key: item.key, mode: item.mode, permits: wantedOf(item), slots: ofItem };
    });
    const hold: LawHold = {
      session: wait.session,
      sequence,
      task: wait.task,
      token,
      isTorn: false,
      claims,
      grantedAt: this.#stamp,
      maxHoldMs: options?.maxHoldMs ?? 0,
      minHoldMs: options?.minHoldMs ?? 0,
      lockDelayMs: options?.lockDelayMs ?? 0,
      isContended: false,
      revokedAt: 0,
    };
    if (isSteal) this.#holds.steal(new Set(claims.map((claim) => claim.key)));
    this.#note(key, this.#holds.problemOfGrant(claims, undefined));
    this.#holds.add(hold);
  }

  /** Returns what is wrong. */
  #adopted(session: number, command: AdoptCommand, result: Result): string | undefined {
    if (result.status === STATUS.adopted) {
      this.#newToken(`${session}/${command.sequence}`, result.token);
      return this.#holds.adopt(session, command, result);
    }
    if (result.status !== ERROR_NUMBERS.NOT_HELD) return undefined;
    return this.#leases.problemOfGone(command, "reason" in result ? result.reason : undefined);
  }

  #newToken(key: string, token: number): void {
    this.grantCount += 1;
    this.#note(key, this.#holds.problemOfToken(token));
  }

  /** Its client wants nothing more of `target`. Returns what is wrong with the answer. */
  #endedBy(session: number, target: number, result: Result): string | undefined {
    const key = `${session}/${target}`;
    const hold = this.#holds.of(session, target);
    if (hold !== undefined) {
      if (result.status !== STATUS.released) return `${target} is held, and told ${result.status}`;
      this.#holds.end(hold, END_REASON.released);
      return undefined;
    }
    this.#waiting.delete(key);
    const wait = this.#waits.take(key);
    if (wait !== undefined) {
      return result.status === STATUS.ok ? undefined : `${target} waits, and told ${result.status}`;
    }
    const isGone = result.status === STATUS.notReleased;
    return isGone ? undefined : `${target} is nothing any more, and told ${result.status}`;
  }

  /** What became of a number. Returns what is wrong with that. */
  #recalled(session: number, recalled: RecalledSequence): string | undefined {
    const { sequence, state } = recalled;
    const taken = this.#taken.get(`${session}/${sequence}`);
    if (state === RECALL_STATE.replied && taken !== undefined) {
      const told = canonicalTextOf(recalled.result);
      const right = canonicalTextOf(taken);
      if (told !== right) return `recalls ${told}, and got ${right}`;
    }
    const hold = this.#holds.of(session, sequence);
    if (state === RECALL_STATE.held) {
      return hold === undefined ? "is not held" : this.#holds.recall(hold, recalled);
    }
    if (hold !== undefined) return "is held";
    const isWaiting = this.#waits.has(`${session}/${sequence}`);
    if (isWaiting !== (state === RECALL_STATE.waiting)) return `waits: ${isWaiting}`;
    const isUnseen = sequence > this.#sessions.highestOf(session);
    return isUnseen === (state === RECALL_STATE.unseen) ? undefined : `unseen: ${isUnseen}`;
  }

  #contended(session: number, sequence: number): void {
    const hold = this.#holds.of(session, sequence);
    if (hold === undefined) {
      this.#complain(`${session}/${sequence} is contended and not held`);
      return;
    }
    if (hold.isContended) this.#complain(`${hold.token} is contended twice`);
    if (!this.#waits.isAnyBehind(hold)) this.#unexplained.push(hold);
    hold.isContended = true;
  }

  #revoking(session: number, sequence: number, endsAt: number): void {
    if (sequence === 0) {
      this.#note(`session ${session}`, this.#sessions.announceEnd(session, endsAt));
      return;
    }
    const hold = this.#holds.of(session, sequence);
    if (hold === undefined) {
      this.#complain(`${session}/${sequence} is to end and is not held`);
      return;
    }
    const leaseEndsAt = this.#sessions.leaseOf(session);
    // What was revoked before its session adopted it had no lease.
    if (hold.revokedAt === 0 && endsAt < leaseEndsAt) {
      this.#complain(`${hold.token} is revoked for ${endsAt}, its lease ends at ${leaseEndsAt}`);
    }
    hold.revokedAt = endsAt;
  }

  #lost(session: number, sequence: number, token: number, reason: EndReason): void {
    const hold = this.#holds.of(session, sequence);
    if (hold === undefined) {
      // What an ended session had may end for a reason of its own before it was dealt with.
      if (!this.#sessions.isOver(session)) this.#complain(`${token} is lost and not held`);
      return;
    }
    this.#note(`${session}/${sequence}`, problemOfName(hold, token));
    const isWarned = this.isWarned(session, sequence);
    const isAtOnce = reason === END_REASON.stolen || (reason === END_REASON.revoked && !isWarned);
    if (isAtOnce) this.#holds.tear(hold);
    const keys = hold.claims.map(({ key }) => key);
    const problem = problemOfEnding(REASONS.get(reason) ?? "unknown", {
      isAskedFor: (end) =>
        end === "stolen" ? this.commands.steals(keys) : isWarned || this.commands.isForcing,
      maxHoldMs: hold.maxHoldMs === 0 ? undefined : hold.maxHoldMs,
      heldMs: this.#stamp - hold.grantedAt,
      earlyMs: 0,
    });
    if (problem !== undefined) this.#complain(`${token} ${problem} by now`);
    this.#holds.end(hold, reason);
  }

  #ended(session: number, reason: EndReason): void {
    const leaseEndsAt = this.#sessions.leaseOf(session);
    if (reason === END_REASON.expired && this.#stamp < leaseEndsAt) {
      this.#complain(`session ${session} expired before ${leaseEndsAt}`);
    }
    if (reason === END_REASON.revoked && !this.isWarned(session, 0)) {
      const isForced = this.commands.isForcing || this.#dismissed.has(session);
      if (!isForced) this.#complain(`session ${session} was ended before its time`);
      this.#sessions.tear(session);
    }
    this.#sessions.end(session);
    this.#waits.drop(session);
    this.#holds.endAll(session, reason);
  }

  #take(key: string, session: number, command: TakeCommand, result: Result): void {
    const wait = this.#takeOf(session, command);
    this.#taken.set(key, result);
    this.#note(key, this.#leases.problemOfAnswer(wait, command, result));
    const before = this.#leases.resume(wait);
    if (before === undefined) {
      const added = wait.items.filter((_, at) => !this.#leases.isRepeated(result, at));
      this.#useLimits(added, result);
      this.#acquired(key, wait, command, result);
    } else {
      const { enqueuedAt, number, headStartMs } = before;
      this.#acquired(key, { ...wait, enqueuedAt, number, headStartMs }, command, result);
    }
  }

  #takeOf(session: number, command: TakeCommand): LawWait {
    const { owner, request, items, waitMs, options, sequence } = command;
    const headStartMs = (options?.priority ?? 0) * this.#priorityStepMs;
    const lease = { owner, person: this.personOf(session), request };
    // It is of no task, so it gives no head start up for a cycle.
    const rest = { headStartMs, detects: false, upgrades: undefined, lease, task: NO_TASK };
    return { ...this.#arrival(waitMs), session, sequence, items, ...rest };
  }

  #isWaiting({ session, deadline, lease }: LawWait): Presence {
    const endsAt = this.#sessions.endOf(session);
    const isOver =
      (deadline > 0 && deadline <= this.#stamp) ||
      this.#sessions.leaseOf(session) <= this.#stamp ||
      (endsAt > 0 && endsAt <= this.#stamp);
    // Credentials and people come and go, and those who wait hear nothing of it.
    return isOver || lease?.person !== ANONYMOUS_PERSON ? "perhaps" : "surely";
  }

  #revokeLeases({ key, token, graceMs, now }: RevokeCommand): void {
    this.#holds.leases.revoke(
      (lease) => {
        if (key === undefined) return lease.token === token;
        const isOfKey = lease.claims.some((claim) => claim.key === key);
        return isOfKey && (token === 0 || lease.token <= token);
      },
      graceMs,
      now,
    );
  }

  #waitOf(session: number, command: AcquireCommand): LawWait {
    const { task, items, waitMs, options, sequence } = command;
    const headStartMs = (options?.priority ?? 0) * this.#priorityStepMs;
    const detects = options?.detect ?? true;
    const rest = { headStartMs, detects, upgrades: undefined, lease: undefined };
    return { ...this.#arrival(waitMs), session, sequence, task, items, ...rest };
  }

  #upgradeOf(upgrades: LawHold, command: UpgradeCommand): LawWait {
    const { key, waitMs, detect, sequence } = command;
    const { session, task } = upgrades;
    const items = [{ key, mode: "exclusive" } as const];
    const rest = { headStartMs: 0, detects: detect, upgrades, lease: undefined };
    return { ...this.#arrival(waitMs), session, sequence, task, items, ...rest };
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
