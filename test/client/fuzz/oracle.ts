/**
 * The promises of the SDK, checked after every event. It compares what applications asked for and
 * were answered with the table and its log. It must never ask the SDK what it believes, except for
 * what callers see: the result of a call, a signal, `isHeld`, the token.
 */
import { createHash } from "node:crypto";
import { HoldfastError } from "../../../src/errors/index.js";
import {
  type ChangeView,
  END_REASON,
  type HoldView,
  isStrong,
  type KeyView,
  OP,
  type SequencedCommand,
} from "../../../src/protocol/index.js";
import type { TableServer } from "../world/table-server.js";
import {
  type Call,
  type Handle,
  type HoldIdentity,
  identityOf,
  type Left,
  neededOf,
  type Process,
} from "./asked.js";
import { LIMIT, LOCK_KEYS, SEMAPHORE_KEY } from "./plan.js";

/** How a hold ended in the table. */
interface End {
  readonly reason: string;
  /** The table may have given its keys to others before the holder could know. */
  readonly isSudden: boolean;
  readonly atMs: number;
}

const REASONS = new Map<number, string>(
  Object.entries(END_REASON).map(([name, number]) => [number, name]),
);
const KEYS = [...LOCK_KEYS, SEMAPHORE_KEY];
/** The slowest clock of a process, and what the clocks of machines and timers are rounded by. */
const SLOWEST = 0.96;
const ROUNDED_MS = 50;

export class Oracle {
  readonly #server: TableServer;
  /** Whatever was told to a client is known to it after a lease, or the lease is over. */
  readonly #ignoranceMs: number;
  readonly processes: Process[] = [];
  readonly handles: Handle[] = [];
  readonly calls: Call[] = [];
  readonly left: Left[] = [];
  readonly #views = new Map<string, KeyView>();
  readonly #identities = new Map<number, { session: number; sequence: number }>();
  readonly #ends = new Map<string, End>();
  /** By identity: as what the keys of a hold were held when it was handed over. */
  readonly #leftModes = new Map<string, Map<string, ChangeView["mode"]>>();
  /** By identity of a hold that was adopted: the sessions that had it before, which may be told to end. */
  readonly #formerSessions = new Map<string, readonly number[]>();
  /** By identity: since when it has the newest token. */
  readonly #renewedAtMs = new Map<string, number>();
  #newestToken = 0;
  #changesSeen = 0;
  #indexSeen = -1;

  constructor(server: TableServer, ttlMs: number) {
    this.#server = server;
    this.#ignoranceMs = ttlMs / SLOWEST + ROUNDED_MS;
  }

  /** After every event. */
  check(): void {
    if (this.#server.table.index !== this.#indexSeen) this.#look();
    const holders = new Map<number, Process>();
    for (const handle of this.handles) {
      if (!this.believes(handle)) continue;
      this.#checkBelief(handle);
      const { token } = handle.lock;
      const other = holders.get(token) ?? handle.process;
      if (other !== handle.process) {
        this.fail(`${nameOf(handle)} and ${other.name} hold with token ${token}`);
      }
      holders.set(token, handle.process);
    }
  }

  /** Whether the caller of a lock goes on in the belief that it holds it. */
  believes({ lock, signal, process, isGiven, isCurious }: Handle): boolean {
    if (isGiven || process.isDead || process.platform.isStopped || signal.aborted) return false;
    return !isCurious || (lock.isHeld && !lock.signal.aborted);
  }

  identityOfToken(token: number): { session: number; sequence: number } {
    this.#look();
    const identity = this.#identities.get(token);
    if (identity === undefined) throw this.fail(`token ${token} was never granted`);
    return identity;
  }

  /** Its hold has left its process, which must have called for that. */
  onLeft({ process, session, sequence }: Handle): void {
    const identity = identityOf(session, sequence);
    if (process.left.has(identity)) return;
    const isSame = (handle: Handle | undefined): boolean => {
      return handle?.session === session && handle.sequence === sequence;
    };
    const isAsked = this.calls.some(({ kind, handle, process: its }) => {
      return its === process && (kind === "depart" || (kind === "handOver" && isSame(handle)));
    });
    if (!isAsked) this.fail(`${identity} was given up, and nobody asked for that`);
    const live = this.handles.filter((each) => {
      return each.process === process && isSame(each) && !each.isGiven;
    });
    process.left.set(identity, neededOf(live));
  }

  /** Before its handle is handed out. */
  onAdopted(token: number, { session, sequence }: HoldIdentity): void {
    const earlier = this.#formerSessions.get(identityOf(session, sequence)) ?? [];
    const adopted = this.identityOfToken(token);
    const identity = identityOf(adopted.session, adopted.sequence);
    this.#formerSessions.set(identity, [session, ...earlier]);
  }

  leftModeOf({ session, sequence }: HoldIdentity, key: string): ChangeView["mode"] {
    const identity = identityOf(session, sequence);
    const mode = this.#leftModes.get(identity)?.get(key);
    if (mode === undefined) throw this.fail(`${identity} of ${key} was never handed over`);
    return mode;
  }

  /** By what a hold was known that the table gave to the bearer with that secret. */
  leftBy(secret: string): HoldIdentity | undefined {
    const done = this.#server.executed.find(({ command, session }) => {
      if (command.op !== OP.handOver || command.to !== secret) return false;
      return this.#leftModes.has(identityOf(session, command.target));
    });
    if (done?.command.op !== OP.handOver) return undefined;
    return { session: done.session, sequence: done.command.target };
  }

  endOf(session: number, sequence: number): End | undefined {
    return this.#ends.get(identityOf(session, sequence));
  }

  fail(problem: string): never {
    throw new Error(`at ${this.#server.world.nowMs.toFixed(1)} ms: ${problem}`);
  }

  #look(): void {
    this.#indexSeen = this.#server.table.index;
    for (const key of KEYS) {
      const view = this.#server.table.inspect(key);
      this.#views.set(key, view);
      const { holds } = view;
      const permits = holds.reduce((sum, hold) => sum + hold.permits, 0);
      const isShared = holds.length > 1 || permits > LIMIT;
      if (holds.some(({ mode }) => mode === "exclusive") ? isShared : permits > LIMIT) {
        this.fail(`the table has ${key} twice: ${JSON.stringify(holds)}`);
      }
    }
    const { changes } = this.#server.reads;
    while (this.#changesSeen < changes.length) {
      this.#note(changes[this.#changesSeen] as ChangeView);
      this.#changesSeen += 1;
    }
  }

  #note(change: ChangeView): void {
    const { type, key, token, session, sequence, revision } = change;
    const identity = identityOf(session, sequence);
    const nowMs = this.#server.world.nowMs;
    // Not from a bearer to who adopts it.
    if (type === "moved" && session !== 0) {
      const modes = this.#leftModes.get(identity) ?? new Map();
      this.#leftModes.set(identity, modes.set(key, change.mode));
    }
    if ((type === "granted" || type === "converted") && !this.#identities.has(token)) {
      if (token <= this.#newestToken) this.fail(`token ${token} after ${this.#newestToken}`);
      this.#newestToken = token;
      this.#identities.set(token, { session, sequence });
      this.#renewedAtMs.set(identity, nowMs);
    }
    if (type !== "ended" || session === 0) return;
    const reason = REASONS.get(change.reason) ?? "unknown";
    this.#ends.set(identity, {
      reason,
      isSudden: this.#server.executed.some(
        ({ index, command }) => index === revision.index && isSudden(command, reason),
      ),
      atMs: nowMs,
    });
  }

  #checkBelief(handle: Handle): void {
    const { session, sequence, lock, asked } = handle;
    if (this.#isExcused(handle)) return;
    for (const [key, { mode, permits }] of asked) {
      const hold = this.#holdOf(key, session, sequence);
      if (hold === undefined) throw this.fail(`${nameOf(handle)} is believed in and gone`);
      const isStrongEnough = hold.mode === mode || (hold.mode === "exclusive" && mode === "shared");
      if (!isStrongEnough || hold.permits < permits) {
        this.fail(`${nameOf(handle)} is ${mode} by promise and ${hold.mode} in the table`);
      }
      const shown = lock.items.find((item) => item.key === key)?.mode;
      if (shown === "exclusive" && hold.mode !== "exclusive") {
        this.fail(`${nameOf(handle)} says that it is exclusive, and is ${hold.mode}`);
      }
      if (hold.token === lock.token) continue;
      const renewedAtMs = this.#renewedAtMs.get(identityOf(session, sequence)) ?? 0;
      const isOnItsWay = this.#server.world.nowMs - renewedAtMs <= this.#ignoranceMs;
      if (lock.token > hold.token || !isOnItsWay) {
        this.fail(`${nameOf(handle)} has token ${lock.token}, and the table ${hold.token}`);
      }
    }
  }

  #holdOf(key: string, session: number, sequence: number): HoldView | undefined {
    const holds = this.#views.get(key)?.holds ?? [];
    return holds.find((hold) => hold.session === session && hold.sequence === sequence);
  }

  /** A client learns of `steal` and of a revoke at once after the fact, within a lease. */
  #isExcused({ session, sequence }: Handle): boolean {
    const end = this.endOf(session, sequence);
    return end?.isSudden === true && this.#server.world.nowMs - end.atMs <= this.#ignoranceMs;
  }

  /** Finds waits and holds of which nobody knows, when all that there was to report has arrived. */
  checkSettled(): void {
    this.check();
    for (const view of this.#views.values()) {
      for (const hold of view.holds) this.#checkKnown(view.key, hold);
      for (const waiter of view.waiters) {
        const { session, sequence } = waiter;
        if (this.#isAwaited(view.key, session, sequence)) continue;
        this.fail(`nobody knows of the wait ${session}/${sequence} in ${view.key}`);
      }
    }
    for (const handle of this.handles) this.#checkTold(handle);
    for (const call of this.calls) this.#checkPending(call);
    for (const { client, isDead } of this.processes) {
      const owed = isDead ? [] : this.#server.owedTo(client.session);
      if (owed.length > 0) this.fail(`session ${client.session} has not read the ends of ${owed}`);
    }
  }

  #checkKnown(key: string, hold: HoldView): void {
    const { session, sequence, token, holder, leaseOwner, mode } = hold;
    if (holder === "bearer") {
      const isKnown = this.left.some(({ holds }) => {
        return holds.some(({ secret, isAdopted }) => !isAdopted && isOf(leaseOwner, secret));
      });
      if (isKnown) return;
      this.fail(`nobody can adopt ${token} of ${key}`);
    }
    const handles = this.handles.filter((handle) => {
      return handle.session === session && handle.sequence === sequence && this.believes(handle);
    });
    if (handles.length === 0)
      this.fail(`nobody knows of the hold ${session}/${sequence} of ${key}`);
    if (handles.some(({ isVague }) => isVague)) return;
    const needed = neededOf(handles).get(key)?.mode;
    const isRaised = this.#isRaised(handles, key);
    if (mode !== needed && !isRaised) {
      this.fail(`the table has ${session}/${sequence} of ${key} ${mode}, and ${needed} is needed`);
    }
    for (const { lock } of handles) {
      const shown = lock.items.find((item) => item.key === key)?.mode;
      if (handles.length === 1 && shown !== mode && !isRaised) {
        this.fail(`${session}/${sequence} of ${key} says it is ${shown}, and is ${mode}`);
      }
    }
  }

  /** Whether somebody still wants it to be exclusive: by an upgrade, or as the same task. */
  #isRaised(handles: readonly Handle[], key: string): boolean {
    return this.calls.some(({ state, kind, process, task, handle, items }) => {
      if (state !== "pending" || items.get(key)?.mode !== "exclusive") return false;
      if (kind === "upgrade") return handle !== undefined && handles.includes(handle);
      return handles.some((held) => held.process === process && held.lock.task.id === task);
    });
  }

  #isAwaited(key: string, session: number, sequence: number): boolean {
    const command = this.#commandOf(session, sequence);
    if (command?.op === OP.upgrade) {
      const handles = this.handles.filter((handle) => {
        return handle.session === session && handle.sequence === command.target;
      });
      return this.#isRaised(handles, key);
    }
    if (command?.op !== OP.acquire) return false;
    const marker = command.options?.value ?? "";
    return this.calls.some((call) => call.marker === marker && call.state === "pending");
  }

  #commandOf(session: number, sequence: number): SequencedCommand | undefined {
    return this.#server.executed.findLast((each) => {
      return each.session === session && each.command.sequence === sequence;
    })?.command;
  }

  /** Every loss was reported, with the true reason. */
  #checkTold(handle: Handle): void {
    const { signal, process } = handle;
    if (process.isDead || !signal.aborted || handle.isGiven) return;
    const { reason } = signal;
    if (!(reason instanceof HoldfastError) || reason.code !== "LOCK_LOST") {
      this.fail(`${nameOf(handle)} was lost with ${reason}`);
    }
    this.checkReason(handle, String(reason.details?.["reason"]));
  }

  /** `told`: why a lock is not held any more, as its caller learned it. */
  checkReason(handle: Handle, told: string): void {
    const { session, sequence } = handle;
    const end = this.endOf(session, sequence);
    const isTrue =
      told === end?.reason ||
      // By the client's own count, which comes first.
      told === "expired" ||
      (told === "maxHold" && this.#isCapped(handle)) ||
      (told === "revoked" && this.#isRevoked(handle)) ||
      // Nobody can be asked any more.
      (told === "unknown" && !this.#isLive(session));
    if (!isTrue) this.fail(`${nameOf(handle)} has learned ${told}, and it is ${end?.reason}`);
  }

  #isLive(session: number): boolean {
    const [first] = this.#server.table.listSessions(session - 1, 1).sessions;
    return first?.session === session;
  }

  #isCapped({ session, sequence }: Handle): boolean {
    const command = this.#commandOf(session, sequence);
    return command?.op !== OP.acquire || (command.options?.maxHoldMs ?? 0) > 0;
  }

  #isRevoked({ session, sequence, asked }: Handle): boolean {
    const former = this.#formerSessions.get(identityOf(session, sequence)) ?? [];
    return this.#server.executed.some(({ command }) => {
      if (command.op === OP.endSession) return [session, ...former].includes(command.session);
      return command.op === OP.revoke && asked.has(command.key ?? "");
    });
  }

  /** What waits does so in the table. */
  #checkPending({ state, kind, process, marker, task, number }: Call): void {
    if (state !== "pending" || process.isDead) return;
    if (kind !== "acquire") {
      if (kind !== "nest" && kind !== "upgrade")
        this.fail(`call ${number} (${kind}) is not answered`);
      return;
    }
    if (task !== undefined) return;
    for (const { waiters } of this.#views.values()) {
      for (const { session, sequence } of waiters) {
        const command = this.#commandOf(session, sequence);
        if (command?.op === OP.acquire && command.options?.value === marker) return;
      }
    }
    this.fail(`call ${number} (${marker}) waits for nothing`);
  }

  /** What calls reported is in the log, and they took effect in the order of the calls. */
  checkLog(): void {
    this.#look();
    for (const call of this.calls) this.#checkTruth(call);
    const sessions = new Set(this.#server.executed.map(({ session }) => session));
    for (const session of sessions) if (session !== 0) this.#checkOrder(session);
  }

  #checkTruth({ number, kind, marker, state, code, task }: Call): void {
    if (marker === "") return;
    const times = this.#server.executed.filter(
      ({ command }) => markerOf(command) === marker,
    ).length;
    if (times > 1) this.fail(`call ${number} (${marker}) was executed ${times} times`);
    const mustBe = state === "done" && (kind === "update" || task === undefined);
    if (mustBe && times === 0) this.fail(`call ${number} (${marker}) counts as done, and was not`);
    const mustNotBe = code === "BUSY" || code === "DISK_FULL" || code === "INVALID_ARGUMENT";
    if (mustNotBe && times > 0)
      this.fail(`call ${number} (${marker}) failed ${code}, and was done`);
  }

  #checkOrder(session: number): void {
    const seen: { number: number; isStrong: boolean; atMs: number }[] = [];
    const ended = new Set<number>();
    for (const each of this.#server.executed) {
      if (each.session !== session) continue;
      const call = this.#callOf(session, each.command);
      // What is ended once more, to be sure, has no effect then.
      if (each.command.op === OP.end) {
        if (ended.has(each.command.target)) continue;
        ended.add(each.command.target);
      }
      // What a client gave up by its own count it has ended before anybody called for that.
      if (call === undefined || call.atMs > each.atMs || !call.isOfHeld) continue;
      if (call.task !== undefined || call.isDeferred) continue;
      const { number } = call;
      for (const earlier of seen) {
        if (earlier.number < number) continue;
        const isAllowed = isStrong(each.command) && !earlier.isStrong;
        if (isAllowed && this.#waitedAfterRefusal(session, call, earlier.atMs)) continue;
        this.fail(`call ${number} took effect after call ${earlier.number} of session ${session}`);
      }
      seen.push({ number, isStrong: isStrong(each.command), atMs: each.atMs });
    }
  }

  /** Whether the strong call was refused by then, or was made after one that was, and was not done. */
  #waitedAfterRefusal(session: number, { number, atMs }: Call, passedAtMs: number): boolean {
    return this.#server.refused.some((refused) => {
      if (refused.session !== session || refused.atMs > passedAtMs) return false;
      if (!isStrong(refused.command)) return false;
      const call = this.#callOf(session, refused.command);
      if (call === undefined) return true;
      if (call.number > number) return false;
      const done = this.#server.executed.find((each) => markerOf(each.command) === call.marker);
      return done === undefined || done.atMs >= Math.min(passedAtMs, atMs);
    });
  }

  /** The call that such a command carries out, where it is one for sure. */
  #callOf(session: number, command: SequencedCommand): Call | undefined {
    const marker = markerOf(command);
    if (marker !== "") return this.calls.find((call) => call.marker === marker);
    if (command.op !== OP.end && command.op !== OP.handOver) return undefined;
    const kind = command.op === OP.end ? "release" : "handOver";
    return this.calls.findLast(({ kind: its, handle, state }) => {
      if (its !== kind || handle?.session !== session || state === "failed") return false;
      return handle.sequence === command.target;
    });
  }
}

/** Whether the table shows this for the bearer with that secret: a digest of its digest. */
function isOf(leaseOwner: string, secret: string): boolean {
  return digestOf(digestOf(secret)).startsWith(leaseOwner);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function markerOf(command: SequencedCommand): string {
  if (command.op === OP.acquire) return command.options?.value ?? "";
  return command.op === OP.update ? command.value : "";
}

function isSudden(command: SequencedCommand, reason: string): boolean {
  if (reason === "stolen") return command.op === OP.acquire && command.options?.steal === true;
  if (reason !== "revoked") return false;
  return (command.op === OP.revoke || command.op === OP.endSession) && command.now;
}

function nameOf({ process, session, sequence, asked }: Handle): string {
  return `${session}/${sequence} (${[...asked.keys()].join()}) of ${process.name}`;
}
