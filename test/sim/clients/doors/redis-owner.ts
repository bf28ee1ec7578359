/**
 * An owner of locks that speaks Redis, as lock libraries do: it polls SET with NX under a value of its
 * own, or one that it shares with another program; extends and releases by scripts that compare, by DELEX
 * or in a transaction; and counts on a lock for its time to live from before it asked.
 */
import { keyOfRedisName } from "../../../../src/protocol/index.js";
import type { KeptPlace } from "../../checks/locks/door-laws.js";
import { LeaseBelief } from "../leases/lease-belief.js";
import { DoorOwner } from "./door-owner.js";
import type { HeardReply } from "./redis-connection.js";
import { isFull, RedisLines } from "./redis-lines.js";

const KEYS = ["p", "q"] as const;
/** Between two attempts to take a lock. */
const INTERVAL_MS = { least: 200, most: 400 } as const;
const ATTEMPTS = { least: 3, most: 40 } as const;
/** What was granted to a place of a fair door that nobody came for is gone by then. */
const GRACE_MS = 1_000;
const SLACK_MS = 1_500;
/** A place in the queue is certain when the door has answered this many attempts by nil. */
const CERTAIN_AT = 2;
/** This many of the values that it had before are remembered. */
const FORMER_MAX = 4;
/** Between what a transaction reads and what it does then. */
const HESITATION_MS_MAX = 800;

const EXTEND = `if redis.call("get", KEYS[1]) == ARGV[1] then
  return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`;
const RELEASE = `if redis.call("get", KEYS[1]) == ARGV[1] then
  return redis.call("del", KEYS[1]) else return 0 end`;

class RedisErrand {
  readonly key: string;
  readonly value: string;
  readonly intervalMs: number;
  /** It began while the cluster was calm, in that term; 0: it did not. */
  readonly calmTerm: number;
  /** In true time. */
  readonly firstAskedMs: number;
  attemptsLeft: number;
  /** Attempts that were answered by nil, all at the same node. */
  refusedCount = 0;
  belief: LeaseBelief | undefined;
  place: KeptPlace | undefined;
  /** An attempt is on its way, or planned. */
  isAsking = false;
  /** Something was asked and never answered: it may be carried out at any time. */
  isInDoubt = false;
  isReturning = false;

  constructor(plan: Omit<RedisErrand, "refusedCount" | "belief" | "place" | Progress>) {
    const { key, value, intervalMs, calmTerm, firstAskedMs, attemptsLeft } = plan;
    this.key = key;
    this.value = value;
    this.intervalMs = intervalMs;
    this.calmTerm = calmTerm;
    this.firstAskedMs = firstAskedMs;
    this.attemptsLeft = attemptsLeft;
  }

  /** As the table has it. */
  get tableKey(): string {
    return keyOfRedisName({ database: 0, name: this.key }) ?? "";
  }
}

type Progress = "isAsking" | "isInDoubt" | "isReturning" | "tableKey";

/** What it held and gave back. */
interface Former {
  readonly key: string;
  readonly value: string;
}

export class RedisOwner extends DoorOwner {
  #errand: RedisErrand | undefined;
  #values = 0;
  readonly #lines = new RedisLines(this.linesOwner());
  /** Ends that are to be seen. */
  #unseenEnds = 0;
  #former: Former[] = [];

  override get trusted(): readonly LeaseBelief[] {
    const belief = this.#errand?.belief;
    return belief?.isTrusted === true ? [belief] : [];
  }

  override get isIdle(): boolean {
    return this.#errand === undefined && this.#lines.openCount + this.#unseenEnds === 0;
  }

  override get business(): string {
    const { openCount } = this.#lines;
    return `value ${this.#errand?.value ?? "none"}, ${openCount} open, ${this.#unseenEnds} unseen`;
  }

  protected override act(): void {
    if (this.does(this.plan.mix.stale)) this.#useFormer();
    const errand = this.#errand;
    if (errand === undefined) this.#begin();
    else if (errand.isAsking) this.#meanwhile();
    else if (errand.belief === undefined) this.#end(errand);
    else this.#hold(errand, errand.belief);
  }

  protected override drain(): void {
    const errand = this.#errand;
    if (errand === undefined || errand.isAsking) return;
    const { belief, isReturning } = errand;
    if (isReturning || belief?.isTrusted !== true) this.#end(errand);
    else if (!this.#isShared) this.#release(errand, belief);
  }

  protected override reconnect(): void {
    this.#lines.leaveAll();
  }

  /** Another program has the same value: then nobody but time may end what it names. */
  get #isShared(): boolean {
    return this.plan.constant !== "";
  }

  #begin(): void {
    const { random, world } = this;
    this.#values += 1;
    const errand = new RedisErrand({
      key: random.pick(KEYS.slice(0, this.plan.keyCount)),
      value: this.plan.constant || `value ${this.host}.${this.#values}`,
      intervalMs: random.integer(INTERVAL_MS.least, INTERVAL_MS.most),
      calmTerm: this.calmTerm,
      firstAskedMs: world.simulation.nowMs,
      attemptsLeft: random.integer(ATTEMPTS.least, ATTEMPTS.most),
    });
    this.#errand = errand;
    const node = this.node();
    if (this.#isShared || !this.does(this.plan.mix.atOnce)) this.#attempt(errand, node);
    else if (random.chance(0.5)) this.#takeAndRelease(errand, node);
    else this.#releaseAndTake(errand, node);
  }

  /** The program that waits is stopped. */
  #meanwhile(): void {
    if (this.isCalm || !this.random.chance(this.plan.mix.leave)) return;
    this.#lines.leaveAll();
    this.seen("left in the middle");
  }

  #hold(errand: RedisErrand, belief: LeaseBelief): void {
    const { mix } = this.plan;
    const { random } = this;
    if (random.chance(mix.repeat)) this.#takeAgain(errand);
    else if (!belief.isTrusted) {
      if (!this.#isShared && this.does(mix.behind)) this.#release(errand, belief);
      else this.#end(errand);
    } else if (this.does(mix.look)) this.#look(errand, belief);
    else if (this.#isShared) return;
    else if (this.does(mix.atOnce)) this.#releaseAndLook(errand, belief);
    else if (random.chance(mix.extend)) this.#extend(errand, belief);
    else if (random.chance(mix.giveBack)) this.#release(errand, belief);
  }

  #end(errand: RedisErrand, isGivenBack = false): void {
    if (isGivenBack && !errand.isInDoubt && !this.#isShared) {
      const { key, value } = errand;
      this.#former = [...this.#former, { key, value }].slice(-FORMER_MAX);
    }
    this.#leavePlace(errand);
    if (errand.belief !== undefined) errand.belief.givenUp ??= "lapsed";
    if (errand === this.#errand) this.#errand = undefined;
  }

  #leavePlace(errand: RedisErrand): void {
    if (errand.place !== undefined) this.world.laws().onLeft(errand.place);
    errand.place = undefined;
  }

  // Taking.

  #attempt(errand: RedisErrand, node: number): void {
    errand.isAsking = true;
    errand.attemptsLeft -= 1;
    const sentMs = this.nowMs;
    this.#call(node, this.#take(errand), (reply) => {
      errand.isAsking = false;
      if (reply === "+OK") this.#onTaken(errand, sentMs);
      else if (reply === "nil") this.#onRefused(errand, node, sentMs);
      else this.#onUnknown(errand, reply);
    });
  }

  #take({ key, value }: RedisErrand): readonly string[] {
    return ["SET", key, value, "NX", "PX", String(this.plan.ttlMs)];
  }

  #onTaken(errand: RedisErrand, sentMs: number): void {
    this.#leavePlace(errand);
    const { tableKey, value } = errand;
    const token = this.world.laws().tokenOf(tableKey, { value });
    const deadlineMs = sentMs + this.plan.ttlMs;
    this.seen(errand.refusedCount > 0 ? "taken after a wait" : "taken");
    if (this.nowMs >= deadlineMs) return;
    if (token === undefined) {
      this.broken("one answer", `gets OK for ${tableKey}, which nobody holds by ${value}`);
      return;
    }
    const claims = [{ key: tableKey, mode: "exclusive" as const, slots: [] }];
    errand.belief = new LeaseBelief(this, token, claims, deadlineMs);
    this.believe(errand.belief);
    this.world.laws().onGranted(this.host, tableKey, token, errand.firstAskedMs);
  }

  #onRefused(errand: RedisErrand, node: number, sentMs: number): void {
    errand.refusedCount += 1;
    // Where it has a place its value may be granted the lock at any time.
    if (this.world.isFair) errand.isInDoubt = true;
    this.seen("refused");
    if (errand.attemptsLeft <= 0 || this.isDraining || (this.isCalm && errand.calmTerm === 0)) {
      this.#giveUp(errand);
      return;
    }
    if (this.#keepsPlace(errand) && errand.place === undefined) {
      const sinceMs = this.world.simulation.nowMs;
      const { tableKey: key, calmTerm: term } = errand;
      errand.place = { host: this.host, key, mark: errand, sinceMs, term };
      this.world.laws().onWaiting(errand.place);
    }
    const next = this.isCalm ? node : this.node();
    if (next !== node) errand.refusedCount = 0;
    errand.isAsking = true;
    const laterMs = Math.max(0, errand.intervalMs - (this.nowMs - sentMs));
    this.later(laterMs, () => this.#attempt(errand, next));
  }

  /** Whether it has a place by what doors promise to who polls at one node at an even pace. */
  #keepsPlace(errand: RedisErrand): boolean {
    const { mix, ttlMs } = this.plan;
    if (!this.world.isFair || this.#isShared || mix.late > 0) return false;
    // What is granted to a place lasts no longer, and must last until it comes.
    if (ttlMs < 2 * errand.intervalMs) return false;
    return this.#isCalm(errand) && errand.refusedCount >= CERTAIN_AT;
  }

  /** Whether nothing was wrong with the cluster since it began. */
  #isCalm({ calmTerm }: RedisErrand): boolean {
    return calmTerm !== 0 && calmTerm === this.world.laws().term;
  }

  /** It does not come any more, and what would be granted to it is for nobody. */
  #giveUp(errand: RedisErrand): void {
    this.#end(errand);
    if (!this.#isCalm(errand) || this.#isShared) return;
    this.seen("given up in a calm");
    this.#unseenEnds += 1;
    this.later(GRACE_MS + SLACK_MS, () => {
      this.#unseenEnds -= 1;
      if (this.#isCalm(errand)) this.world.laws().demandNothing(errand.tableKey, errand);
    });
  }

  /** What it holds it is never given once more. */
  #takeAgain(errand: RedisErrand): void {
    errand.isAsking = true;
    this.#call(this.node(), this.#take(errand), (reply) => {
      errand.isAsking = false;
      if (reply === undefined) this.#onUnknown(errand, reply);
      const { belief } = errand;
      if (reply !== "+OK" || !this.counts(belief)) return;
      this.broken("one answer", `holds by ${belief.token}, and gets OK once more`);
    });
  }

  #onUnknown(errand: RedisErrand, reply: string | undefined): void {
    errand.isInDoubt = true;
    this.seen(reply === undefined ? "not answered" : `told ${reply.split(" ", 1)[0]}`);
    if (this.#isCalm(errand) && !isFull(reply)) {
      this.broken("a calm cluster answers", `${reply ?? "nobody answers"}`);
    }
    // By this value it may have something of which it will never hear.
    if (errand.belief === undefined) this.#end(errand);
  }

  // What it has.

  #extend(errand: RedisErrand, belief: LeaseBelief): void {
    const { ttlMs } = this.plan;
    const sentMs = this.nowMs;
    errand.isAsking = true;
    const words = ["EVAL", EXTEND, "1", errand.key, errand.value, String(ttlMs)];
    this.#call(this.node(), words, (reply) => {
      errand.isAsking = false;
      if (reply === ":1") {
        this.seen("extended");
        belief.deadlineMs = Math.max(belief.deadlineMs, sentMs + ttlMs);
        if (belief.givenUp === undefined) this.believe(belief);
      } else if (reply === ":0") {
        if (this.counts(belief)) {
          this.broken("one answer", `has ${belief.token}, and cannot extend it`);
        }
        this.#end(errand);
      } else this.#onUnknown(errand, reply);
    });
  }

  #release(errand: RedisErrand, belief: LeaseBelief): void {
    const couldCount = this.counts(belief);
    belief.givenUp ??= "released";
    errand.isReturning = true;
    errand.isAsking = true;
    const heard: HeardReply = (reply) => {
      errand.isAsking = false;
      this.seen(`released: ${reply}`);
      if (reply !== ":1" && reply !== ":0") this.#onUnknown(errand, reply);
      const isStillHeld = couldCount && this.nowMs < belief.deadlineMs;
      if (reply === ":0" && isStillHeld && !this.world.watch.isTorn(belief)) {
        this.broken("one answer", `gives ${belief.token} back, and had nothing`);
      }
      this.#end(errand, reply === ":1");
    };
    const { key, value } = errand;
    const way = this.random.below(3);
    if (way < 2) this.#call(this.node(), releaseBy(way, key, value), heard);
    else this.#releaseInTransaction(errand, heard);
  }

  #releaseInTransaction({ key, value }: RedisErrand, heard: HeardReply): void {
    const node = this.node();
    const ignore = (): void => {};
    const commit = (): void => {
      this.#call(node, ["MULTI"], ignore);
      this.#call(node, ["DEL", key], ignore);
      this.#call(node, ["EXEC"], (reply) => heard(reply === "[:1]" ? ":1" : whyNot(reply)));
    };
    this.#call(node, ["WATCH", key], ignore);
    const connection = this.#lines.connectionTo(node);
    this.#call(node, ["GET", key], (found) => {
      if (found === undefined) {
        heard(undefined);
      } else if (found !== value) {
        this.#call(node, ["UNWATCH"], () => heard(":0"));
      } else if (this.does(this.plan.mix.behind)) {
        // Its time may be over by then, and another one may have the lock.
        this.later(this.random.integer(0, HESITATION_MS_MAX), () => {
          if (connection.isClosed) heard(undefined);
          else commit();
        });
      } else commit();
    });
  }

  // Several things at once, or too late.

  #look(errand: RedisErrand, belief: LeaseBelief): void {
    const looked = this.world.laws().onLooking(belief.token);
    const couldCount = this.counts(belief);
    errand.isAsking = true;
    this.#call(this.node(), ["GET", errand.key], (reply) => {
      errand.isAsking = false;
      if (reply === undefined || reply.startsWith("-")) {
        this.#onUnknown(errand, reply);
        return;
      }
      this.seen("looked");
      if (!errand.isInDoubt) looked();
      if (!couldCount || !this.counts(belief) || reply === errand.value) return;
      this.broken("one answer", `has ${belief.token}, and is shown ${reply}`);
    });
  }

  /** Looks at its lock directly after the release, without waiting for the reply to that. */
  #releaseAndLook(errand: RedisErrand, belief: LeaseBelief): void {
    const { key, value } = errand;
    const node = this.node();
    belief.givenUp ??= "released";
    errand.isReturning = true;
    errand.isAsking = true;
    let released: string | undefined;
    this.#call(node, releaseBy(this.random.below(2), key, value), (reply) => {
      released = reply;
    });
    this.#call(node, ["GET", key], (shown) => {
      errand.isAsking = false;
      this.seen("released and looked at once");
      if (released === undefined || shown === undefined) errand.isInDoubt = true;
      if (released === ":1" && shown === value && !errand.isInDoubt) {
        this.broken("one answer", `is told that ${belief.token} is given back, and shown it`);
      }
      this.#end(errand, released === ":1");
    });
  }

  /** What it gives back to be sure it cannot have yet, though it takes that at once. */
  #releaseAndTake(errand: RedisErrand, node: number): void {
    const { key, value } = errand;
    this.#call(node, releaseBy(0, key, value), (released) => {
      this.seen("released and taken at once");
      if (released !== ":1") return;
      this.broken("one answer", `gives ${value} of ${key} back, and takes it behind that`);
    });
    this.#attempt(errand, node);
  }

  /** It gives back at once what it may not even get. */
  #takeAndRelease(errand: RedisErrand, node: number): void {
    const { key, value } = errand;
    const sentMs = this.nowMs;
    errand.isAsking = true;
    errand.isReturning = true;
    let taken: string | undefined;
    this.#call(node, this.#take(errand), (reply) => {
      taken = reply;
    });
    this.#call(node, releaseBy(this.random.below(2), key, value), (released) => {
      errand.isAsking = false;
      this.seen("taken and released at once");
      if (taken === undefined || released === undefined) errand.isInDoubt = true;
      const isStillHeld = taken === "+OK" && this.nowMs < sentMs + this.plan.ttlMs;
      if (isStillHeld && released === ":0") {
        this.broken("one answer", `takes ${key} and gives it back at once, and had nothing`);
      }
      if (taken === "nil" && !errand.isInDoubt) this.#giveUp(errand);
      else this.#end(errand, released === ":1");
    });
  }

  /** A value that is nobody's any more has no effect, nor on what others have in the key by now. */
  #useFormer(): void {
    const former = this.random.pickOrNone(this.#former);
    if (former === undefined) return;
    const { key, value } = former;
    const way = this.random.below(3);
    const ttlMs = String(this.plan.ttlMs);
    const words = way < 2 ? releaseBy(way, key, value) : ["EVAL", EXTEND, "1", key, value, ttlMs];
    this.#call(this.node(), words, (reply) => {
      this.seen(`by a former value: ${reply}`);
      if (reply !== ":1") return;
      this.broken("nobody holds what was given back", `${value} of ${key} is there again`);
    });
  }

  #call(node: number, words: readonly string[], heard: HeardReply): void {
    this.#lines.call(node, words, heard);
  }
}

/** A transaction that changed nothing, because the key had changed. */
function whyNot(reply: string | undefined): string | undefined {
  return reply === "nil" || reply === "[:0]" ? ":0" : reply;
}

/** Commands that end a lock by its value. */
function releaseBy(way: number, key: string, value: string): readonly string[] {
  return way === 0 ? ["EVAL", RELEASE, "1", key, value] : ["DELEX", key, "IFEQ", value];
}
