/**
 * Goes on with the session of another process. What it held is handed out once the table said that
 * it is still held, under new tokens; what it waited for keeps its place and its sequence; what it
 * had sent without an answer is sent again under its sequence, so that the table does it once.
 */
import { assert } from "../assert.js";
import { OP, type SequencedCommand } from "../protocol/index.js";
import { AcquireCall, ClaimCall } from "./acquire-call.js";
import type { Caller } from "./awaited-call.js";
import { Call } from "./call.js";
import type { ExportedCall, ExportedHold, ExportedSession } from "./exported-session.js";
import { CancelCall, GrantCall } from "./grant-call.js";
import type { HeldLock } from "./held-lock.js";
import type { Granted, GrantTaker } from "./hold.js";
import { ReleaseCall } from "./hold-calls.js";
import type { Lock } from "./lock-types.js";
import type { Locks } from "./locks.js";
import type { Lowering } from "./lowerings.js";
import type { Outgoing } from "./outgoing.js";
import type { Owner } from "./owner.js";

/** What a client got that took over a session. */
export interface Resumed {
  /**
   * What the session held, each with a new token and one handle; what ended on the way is there
   * too, with an aborted signal.
   */
  readonly locks: readonly Lock[];
  /** What it waits for, in its old places. */
  readonly waits: readonly ResumedWait[];
}

/** One request of a session that was taken over. */
export interface ResumedWait {
  /** None of a ticket that was being claimed. */
  readonly keys: readonly string[];
  readonly owner: Owner;
  /** Rejects like an acquire. */
  readonly lock: Promise<Lock>;
}

/** A lock of the process before, until it is handed out. */
class ResumedHold implements GrantTaker {
  readonly owner: Owner;
  readonly isSettled = false;
  readonly askedAt = undefined;
  readonly makeLock = undefined;
  lock: HeldLock | undefined;
  readonly count: number;
  readonly #locks: Locks;

  constructor(locks: Locks, { owner, count }: ExportedHold) {
    this.#locks = locks;
    this.count = count;
    this.owner = locks.ownerOf(owner);
  }

  /**
   * One handle is all there is for what was counted there. Never by the table's count: that has grants
   * in it that are somebody else's, who waits for the answer here.
   */
  onStillHeld(): void {
    const token = this.lock?.token ?? 0;
    for (let n = this.count; n > 1; n--) this.#locks.releaseToken(token);
  }

  handOut(lock: HeldLock): void {
    this.lock = lock;
  }

  putAside(): void {}

  onSessionLost(): void {}

  fail(): void {}
}

/**
 * What the process before sent and what may make any of its holds shared: of a cancel, whose
 * upgrade may have been answered there, nobody knows here which hold it is about.
 */
class LeftLowering implements Lowering {
  readonly owner = undefined;
  readonly askedAs = 0;
  readonly #locks: Locks;

  constructor(locks: Locks) {
    this.#locks = locks;
  }

  begin(): void {
    this.#locks.lowerings.begin(this);
  }

  end(): void {
    this.#locks.onLowered(this);
  }

  concerns(): boolean {
    return true;
  }
}

/** A command of the process before whose answer means nothing here, but that it was carried out. */
class LeftCall extends Call {
  readonly #command: SequencedCommand;
  readonly #lowering: LeftLowering | undefined;

  constructor(command: SequencedCommand, lowering: LeftLowering) {
    super();
    this.#command = command;
    if (command.op !== OP.downgrade) return;
    this.#lowering = lowering;
    lowering.begin();
  }

  command(mark: number): SequencedCommand {
    return { ...this.#command, mark };
  }

  onResult(): void {
    this.#lowering?.end();
  }

  onSessionLost(): void {}
}

/** A request of the process before that nobody wants: whatever it is granted is given back. */
class LeftRequest extends GrantCall<void> {
  readonly #command: SequencedCommand;
  readonly #lowering: LeftLowering;

  constructor(locks: Locks, command: SequencedCommand, lowering: LeftLowering) {
    super(locks, Number.POSITIVE_INFINITY, undefined, NOBODY);
    this.#command = command;
    this.#lowering = lowering;
    this.isSettled = true;
  }

  override onCancel(call: CancelCall): void {
    super.onCancel(call);
    this.#lowering.begin();
  }

  override onGivenBack(): void {
    this.#lowering.end();
  }

  command(mark: number): SequencedCommand {
    return { ...this.#command, mark };
  }

  onResult(): void {}

  onDeadline(): void {}

  onSessionLost(): void {}
}

/** What became of it meanwhile must be asked. */
function grantOf({ token, items, value }: ExportedHold): Granted {
  return { token, items, value, endsAt: Number.POSITIVE_INFINITY, isCertain: false };
}

const NOBODY: Caller<void> = { resolve: () => undefined, reject: () => undefined };

export class Resumption implements Resumed {
  readonly waits: ResumedWait[] = [];
  readonly #locks: Locks;
  readonly #nowMs: number;
  readonly #holds: readonly ResumedHold[];
  /** Unwanted requests, by sequence, of which no cancel is known. */
  readonly #uncancelled = new Map<number, LeftRequest>();

  /** Before the client said anything. */
  constructor(exported: ExportedSession, locks: Locks, outgoing: Outgoing, nowMs: number) {
    const { window } = outgoing;
    this.#locks = locks;
    this.#nowMs = nowMs;
    const held = exported.holds.filter(({ count }) => count > 0);
    this.#holds = held.map((hold) => {
      const taker = new ResumedHold(locks, hold);
      locks.holds.putAside(taker, grantOf(hold));
      return taker;
    });
    for (const each of exported.waiting) {
      const call = this.#callOf(each);
      if (call instanceof GrantCall) locks.calls.onQueued(call);
    }
    const sent = exported.sent.map((each) => this.#callOf(each));
    window.restore(exported.nextSequence, sent, exported.acknowledgements);
    for (const hold of exported.holds) {
      const owner = locks.ownerOf(hold.owner);
      if (hold.count === 0) locks.holds.onLeft({ owner, askedAt: undefined }, grantOf(hold));
    }
    for (const command of exported.unsent) {
      const call = this.#callOf({ command, isWanted: false });
      call.sequence = 0;
      window.enqueue(call);
    }
    for (const [sequence, request] of this.#uncancelled) {
      window.enqueue(new CancelCall(locks, sequence, request));
    }
  }

  get locks(): readonly Lock[] {
    const locks: Lock[] = [];
    for (const { lock } of this.#holds) if (lock !== undefined) locks.push(lock);
    return locks;
  }

  #callOf(exported: ExportedCall): Call {
    const { sequence, acknowledged } = exported.command;
    const call = this.#makeCall(exported);
    call.sequence = sequence;
    call.acknowledged = acknowledged;
    call.copies = 1;
    // When it was first sent is the time of another clock: its answer proves nothing here.
    call.firstSentMs = Number.NEGATIVE_INFINITY;
    call.sentMs = this.#nowMs;
    return call;
  }

  #makeCall({ command, isWanted }: ExportedCall): Call {
    const locks = this.#locks;
    switch (command.op) {
      case OP.acquire: {
        if (!isWanted) return this.#uncancelledRequest(command);
        const owner = locks.ownerOf(command.owner);
        const { items, waitMs, options } = command;
        const wish = { items, owner, waitMs, isTry: false, signal: undefined, options };
        const keys = items.map(({ key }) => key);
        return this.#wait<HeldLock | undefined>(keys, owner, (caller) => {
          return new AcquireCall(locks, wish, this.#nowMs, Number.POSITIVE_INFINITY, caller);
        });
      }
      case OP.claim: {
        if (!isWanted) return this.#uncancelledRequest(command);
        const owner = locks.ownerOf(command.owner);
        const { token, secret } = command;
        const wish = { ticket: { token, secret }, owner, signal: undefined };
        return this.#wait<HeldLock>([], owner, (caller) => {
          return new ClaimCall(locks, wish, Number.POSITIVE_INFINITY, caller);
        });
      }
      case OP.upgrade:
        return this.#uncancelledRequest(command);
      case OP.cancel: {
        const request = this.#uncancelled.get(command.target);
        this.#uncancelled.delete(command.target);
        if (request !== undefined) return new CancelCall(locks, command.target, request);
        // Its target was answered there, and has nothing to hear; but it lowers a hold all the same.
        const cancel = new CancelCall(locks, command.target, this.#leftRequest(command));
        cancel.onTargetRead(0);
        return cancel;
      }
      case OP.release:
        return new ReleaseCall(locks, { token: command.token }, undefined);
      default:
        return new LeftCall(command, new LeftLowering(locks));
    }
  }

  #uncancelledRequest(command: SequencedCommand): LeftRequest {
    const request = this.#leftRequest(command);
    this.#uncancelled.set(command.sequence, request);
    return request;
  }

  #leftRequest(command: SequencedCommand): LeftRequest {
    return new LeftRequest(this.#locks, command, new LeftLowering(this.#locks));
  }

  #wait<Given extends HeldLock | undefined>(
    keys: readonly string[],
    owner: Owner,
    make: (caller: Caller<Given>) => GrantCall<Given>,
  ): Call {
    let call: GrantCall<Given> | undefined;
    const lock = new Promise<Lock>((resolve, reject) => {
      const given = (held: Given): void => resolve(held as HeldLock);
      call = make({ resolve: given, reject });
    });
    assert(call !== undefined, () => "no call was made");
    // Nobody may look at it before it fails, and that alone is no reason to end the process.
    lock.catch(() => undefined);
    this.#locks.calls.begin(call);
    this.waits.push({ keys, owner, lock });
    return call;
  }
}
