/**
 * The lock table again, as naively as the rules can be written: arrays, linear scans, nothing kept
 * that could be counted. It shares no code with `src/lockfsm`; only the words of the protocol. What
 * both say and show must be equal after every entry.
 */
import { ERROR_NUMBERS } from "../../src/errors.js";
import type { Outbox, TableCommand, TableEntry } from "../../src/lockfsm/index.js";
import {
  type AcquireCommand,
  END_REASON,
  type EndReason,
  MESSAGE,
  OP,
  type OpenCommand,
  RECALL_STATE,
  type RecallCommand,
  type RecalledSequence,
  type RecalledToken,
  type Result,
  type ResumeCommand,
  type SequencedCommand,
  type SessionCommand,
  type SessionMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { NaiveClaims } from "./model-claims.js";
import { error, type ModelSession } from "./model-records.js";

export class NaiveTable extends NaiveClaims {
  private nextNumber = 1;
  private sessions: ModelSession[] = [];
  private outbox: Outbox | undefined = undefined;

  apply(entry: TableEntry, outbox: Outbox): void {
    this.stamp = entry.stamp;
    this.outbox = outbox;
    if (this.nextToken === 0) {
      this.nextToken = Math.max(1, Math.floor(entry.wallMs / 1000) * 2 ** 21);
    }
    this.sweep();
    for (const command of entry.commands) {
      this.budget = this.settings.grantsPerStepMax;
      this.execute(command);
    }
  }

  private keysInUse(): string[] {
    const claims = [...this.holds, ...this.requests].flatMap(({ items }) => items);
    const working = this.work.filter((item) => typeof item === "string");
    return [...new Set([...claims.map(({ key }) => key), ...working])].sort();
  }

  summary() {
    const { sessions, holds, requests } = this;
    const keys = this.keysInUse();
    return {
      keys,
      counts: {
        sessions: sessions.length,
        keys: keys.length,
        holds: holds.length,
        waiters: requests.length,
      },
      nextDueAt: this.dueTimes()[0]?.at,
      hasQueuedWork: this.work.length > 0,
    };
  }

  private dueTimes() {
    const none = { session: undefined, request: undefined };
    const leases = this.sessions.map((session) => {
      return { ...none, at: session.expiresAt, number: session.id, session };
    });
    const deadlines = this.requests.map((request) => {
      return { ...none, at: request.deadline, number: request.number, request };
    });
    return [...leases, ...deadlines]
      .filter(({ at }) => at !== Number.POSITIVE_INFINITY)
      .sort((left, right) => left.at - right.at || left.number - right.number);
  }

  private sweep(): void {
    const perStep = this.settings.grantsPerStepMax;
    let units = this.settings.unitsPerEntryMax;
    while (units > 0) {
      const item = this.work.shift();
      if (item === undefined) break;
      this.budget = perStep;
      if (typeof item === "string") this.look(item);
      else this.endClaims(item);
      units -= Math.max(1, perStep - this.budget);
    }
    while (units > 0) {
      const due = this.dueTimes()[0];
      if (due === undefined || due.at > this.stamp) break;
      this.budget = perStep;
      if (due.session !== undefined) this.endSession(due.session, END_REASON.expired);
      if (due.request !== undefined) this.endRequest(due.request, error("LOCK_TIMEOUT"));
      units -= 1 + (perStep - this.budget);
    }
  }

  private endSession(session: ModelSession, reason: EndReason): void {
    session.ended = true;
    this.sessions = this.sessions.filter((other) => other !== session);
    this.tell(session, { kind: MESSAGE.ended, session: session.id, reason });
    this.endClaims(session);
  }

  // --- replies -----------------------------------------------------------------------------

  private tell(session: ModelSession, message: SessionMessage): void {
    this.outbox?.toSession(session.id, session.epoch, message);
  }

  private answer(
    session: ModelSession,
    sequence: number,
    result: Result,
    kind: "reply" | "outcome" = "reply",
  ) {
    session.replies.push({ sequence, stamp: this.stamp, kind, result });
    this.tell(session, { kind: MESSAGE.reply, sequence, stamp: this.stamp, result });
  }

  protected settle(session: ModelSession, sequence: number, result: Result): void {
    const reply = session.replies.find((other) => other.sequence === sequence);
    if (reply === undefined || reply.kind !== "waiting") throw new Error(`model: ${sequence}`);
    reply.kind = "outcome";
    reply.result = result;
    this.tell(session, { kind: MESSAGE.outcome, sequence, stamp: this.stamp, result });
  }

  private noteRead(session: ModelSession, command: SessionCommand): void {
    for (const sequence of command.acknowledged) {
      const reply = session.replies.find((other) => other.sequence === sequence);
      if (reply === undefined || reply.kind === "waiting") continue;
      reply.kind = "tombstone";
      delete reply.ended;
    }
    session.mark = Math.max(session.mark, command.mark);
    session.replies = session.replies.filter(
      ({ sequence, kind }) => sequence >= session.mark || kind === "waiting" || kind === "outcome",
    );
  }

  private stored(session: ModelSession, kinds: readonly string[], from: number): number {
    return session.replies.filter(({ sequence, kind }) => sequence >= from && kinds.includes(kind))
      .length;
  }

  private reasonOf(session: ModelSession, token: number): EndReason {
    const reply = session.replies.find(
      ({ kind, result }) => kind === "outcome" && "token" in result && result.token === token,
    );
    return reply?.ended ?? END_REASON.unknown;
  }

  // --- commands ----------------------------------------------------------------------------

  private execute({ session: id, epoch, command }: TableCommand): void {
    if (command === undefined) return;
    if (command.op === OP.open) {
      this.open(command);
      return;
    }
    if (command.op === OP.resume) {
      this.resume(command);
      return;
    }
    const session = this.sessions.find((other) => other.id === id);
    const sequence = "sequence" in command ? command.sequence : undefined;
    const { stamp } = this;
    const expired = error("SESSION_EXPIRED");
    if (session === undefined) {
      const message: SessionMessage =
        sequence === undefined
          ? { kind: MESSAGE.ended, session: id, reason: END_REASON.unknown }
          : { kind: MESSAGE.reply, sequence, stamp, result: expired };
      this.outbox?.toSession(id, epoch, message);
      return;
    }
    if (session.epoch !== epoch) return;
    if (!this.isAlive(session)) {
      if (sequence === undefined) return;
      this.tell(session, { kind: MESSAGE.reply, sequence, stamp, result: expired });
      return;
    }
    this.noteRead(session, command);
    if (command.op === OP.keepalive) {
      this.renew(session);
      this.tell(session, { kind: MESSAGE.pulse, number: command.number, stamp });
    } else if (command.op === OP.recall) {
      this.renew(session);
      this.recall(session, command);
    } else {
      this.executeOnce(session, command);
    }
  }

  private renew(session: ModelSession): void {
    session.expiresAt = Math.max(session.expiresAt, this.stamp + session.ttlMs);
  }

  private open(command: OpenCommand): void {
    const { nonce, attempt, ttlMs, name } = command;
    const known = this.sessions.find((other) => other.nonce === nonce && this.isAlive(other));
    if (known !== undefined) {
      this.attach(known, attempt);
      return;
    }
    const session: ModelSession = {
      id: this.nextNumber++,
      nonce,
      name,
      ttlMs,
      expiresAt: this.stamp + ttlMs,
      epoch: attempt,
      attachedAt: this.stamp,
      attachedSequence: 0,
      highest: 0,
      mark: 1,
      replies: [],
      ended: false,
    };
    this.sessions.push(session);
    this.attach(session, attempt);
  }

  private resume({ session: id, nonce, attempt }: ResumeCommand): void {
    const session = this.sessions.find((other) => other.id === id);
    const alive = session !== undefined && this.isAlive(session);
    if (alive && session.nonce === nonce) {
      this.attach(session, attempt);
      return;
    }
    this.outbox?.attached({
      kind: MESSAGE.attached,
      nonce,
      attempt,
      status: alive ? ERROR_NUMBERS.FORBIDDEN : ERROR_NUMBERS.SESSION_EXPIRED,
      session: id,
      epoch: 0,
      highestSequence: 0,
      stamp: this.stamp,
      ttlMs: 0,
    });
  }

  private attach(session: ModelSession, attempt: number): void {
    if (attempt < session.epoch) return;
    if (attempt > session.epoch) {
      this.renew(session);
      session.epoch = attempt;
      session.attachedAt = this.stamp;
      session.attachedSequence = session.highest;
    }
    this.outbox?.attached({
      kind: MESSAGE.attached,
      nonce: session.nonce,
      attempt,
      status: STATUS.ok,
      session: session.id,
      epoch: attempt,
      highestSequence: session.attachedSequence,
      stamp: session.attachedAt,
      ttlMs: session.ttlMs,
    });
  }

  private executeOnce(session: ModelSession, command: SequencedCommand): void {
    const { sequence } = command;
    const known = session.replies.find((other) => other.sequence === sequence);
    if (known !== undefined) {
      if (known.kind === "tombstone") return;
      const { stamp, result } = known;
      this.tell(session, { kind: MESSAGE.reply, sequence, stamp, result });
      return;
    }
    if (sequence < session.mark) return;
    if (command.op === OP.close) {
      this.tell(session, {
        kind: MESSAGE.reply,
        sequence,
        stamp: this.stamp,
        result: { status: STATUS.ok },
      });
      this.endSession(session, END_REASON.closed);
      return;
    }
    const { inFlightMax, unacknowledgedMax } = this.settings;
    const answered = ["reply", "outcome", "tombstone"];
    if (this.stored(session, answered, session.mark) >= 2 * inFlightMax) return;
    this.renew(session);
    session.highest = Math.max(session.highest, sequence);
    const unread = this.stored(session, ["reply", "outcome"], session.mark);
    const outcomes = this.stored(session, ["outcome"], 0);
    if (unread >= inFlightMax || (command.op === OP.acquire && outcomes >= unacknowledgedMax)) {
      this.answer(session, sequence, error("TOO_MANY_IN_FLIGHT"));
    } else if (command.op === OP.acquire) this.acquire(session, command);
    else if (command.op === OP.release) this.release(session, sequence, command.token);
    else this.cancel(session, sequence, command.target);
  }

  private acquire(session: ModelSession, command: AcquireCommand): void {
    const { sequence, items, owner, waitMs } = command;
    const keys = items.map(({ key }) => key);
    if (new Set(keys).size < keys.length || keys.length === 0) {
      this.answer(session, sequence, error("INVALID_ARGUMENT"));
      return;
    }
    if (items.every((item) => this.isFree(item))) {
      const result = this.hold({ session, sequence, owner, items });
      this.answer(session, sequence, result, "outcome");
      return;
    }
    if (waitMs === 0) {
      this.answer(session, sequence, this.lockHeld(items));
      return;
    }
    const isFull = keys.some((key) => this.inspect(key).waiters.length >= this.settings.waitersMax);
    if (isFull) {
      this.answer(session, sequence, error("QUEUE_FULL"));
      return;
    }
    const deadline = waitMs < 0 ? Number.POSITIVE_INFINITY : this.stamp + waitMs;
    const number = this.nextNumber++;
    const reached = items.filter((item) => this.isFree(item)).map(({ key }) => key);
    const request = { session, sequence, owner, items, number, deadline, reached };
    this.requests.push({ ...request, since: this.stamp });
    const result: Result = { status: STATUS.queued };
    session.replies.push({ sequence, stamp: this.stamp, kind: "waiting", result });
    this.tell(session, { kind: MESSAGE.reply, sequence, stamp: this.stamp, result });
  }

  private giveUp(session: ModelSession, sequence: number, token: number, reason: EndReason): void {
    const hold = this.holds.find((other) => other.token === token && other.session === session);
    if (hold === undefined) {
      const why = this.reasonOf(session, token);
      this.answer(session, sequence, { status: STATUS.notReleased, reason: why });
      return;
    }
    this.answer(session, sequence, { status: STATUS.released });
    const granted = session.replies.find((other) => other.sequence === hold.sequence);
    if (granted?.kind === "outcome") granted.ended = reason;
    this.endHold(hold);
  }

  private release(session: ModelSession, sequence: number, token: number): void {
    this.giveUp(session, sequence, token, END_REASON.released);
  }

  private cancel(session: ModelSession, sequence: number, target: number): void {
    const known = session.replies.find((other) => other.sequence === target);
    const request = this.requests.find(
      (other) => other.session === session && other.sequence === target,
    );
    const gone: Result = { status: STATUS.notReleased, reason: END_REASON.unknown };
    if (target === sequence || target < 1) {
      this.answer(session, sequence, error("INVALID_ARGUMENT"));
    } else if (request !== undefined) {
      this.answer(session, sequence, { status: STATUS.ok });
      this.endRequest(request, error("CANCELLED"));
    } else if (known === undefined && target >= session.mark) {
      const { stamp } = this;
      session.replies.push({ sequence: target, stamp, kind: "reply", result: error("CANCELLED") });
      this.answer(session, sequence, { status: STATUS.ok });
    } else if (known === undefined || known.kind === "tombstone") {
      this.answer(session, sequence, gone);
    } else if ("token" in known.result) {
      this.giveUp(session, sequence, known.result.token, END_REASON.cancelled);
    } else {
      this.answer(session, sequence, { status: STATUS.ok });
    }
  }

  private recall(session: ModelSession, command: RecallCommand): void {
    const isHeld = (token: number) =>
      this.holds.some((hold) => hold.token === token && hold.session === session);
    const tokenOf = (token: number): RecalledToken => ({
      token,
      held: isHeld(token),
      reason: isHeld(token) ? END_REASON.unknown : this.reasonOf(session, token),
    });
    const sequences = command.sequences.map((sequence): RecalledSequence => {
      const known = session.replies.find((other) => other.sequence === sequence);
      const { done, dropped, queued, unseen } = RECALL_STATE;
      if (known === undefined)
        return { sequence, state: sequence < session.mark ? dropped : unseen };
      if (known.kind === "tombstone") return { sequence, state: dropped };
      if (known.kind === "waiting") return { sequence, state: queued };
      return { sequence, state: done, stamp: known.stamp, result: known.result };
    });
    const granted = sequences.flatMap((recalled) =>
      recalled.state === RECALL_STATE.done && "token" in recalled.result
        ? [recalled.result.token]
        : [],
    );
    const lost = granted.filter((token) => !isHeld(token) && !command.tokens.includes(token));
    const tokens = [...command.tokens, ...new Set(lost)].map(tokenOf);
    const { number } = command;
    this.tell(session, { kind: MESSAGE.recalled, number, stamp: this.stamp, sequences, tokens });
  }
}
