/**
 * An owner of locks that speaks Redis in scripts, as reentrant locks and locks of several keys do: it takes,
 * takes once more, extends, changes one key for another, looks and releases. What it was answered says what
 * it has; what was not answered may have been done once, and an error says that nothing was done.
 */
import { LeaseBelief } from "../leases/lease-belief.js";
import { DoorOwner } from "./door-owner.js";
import type { HeardReply } from "./redis-connection.js";
import { isFull, RedisLines } from "./redis-lines.js";
import { ScriptErrand } from "./script-errand.js";
import {
  countLock,
  type LockPart,
  lookAtPairs,
  PairLock,
  pairOf,
  readerLock,
  type ScriptLock,
  type ScriptWords,
  writerLock,
} from "./script-locks.js";

const ATTEMPTS = { least: 1, most: 12 } as const;
/** It is held so often at most. */
const COUNT_MAX = 4;
const MOVE_SHARE = 0.3;
const WRITER_SHARE = 0.4;
/** This many of the locks that it had before are remembered. */
const FORMER_MAX = 4;
/** What has no more time left than that may be over, and not everywhere. */
const ENDING_MS = 1;
const REFUSED = "-NOHOLDFAST";
/** What readers left behind that were not answered fills the hash of a gate. */
const TOO_LARGE = "a hash is too large";
const NUMBER = /^:(-?\d+)$/;
const COUNT = /^\d+$/;

type Asked = "take" | "release" | "nothing that counts";

export class ScriptOwner extends DoorOwner {
  readonly #lines = new RedisLines(this.linesOwner());
  #errand: ScriptErrand | undefined;
  #holders = 0;
  #former: ScriptLock[] = [];

  override get trusted(): readonly LeaseBelief[] {
    return (this.#errand?.beliefs ?? []).filter(({ isTrusted }) => isTrusted);
  }

  override get isIdle(): boolean {
    return this.#errand === undefined && this.#lines.openCount === 0;
  }

  override get business(): string {
    return `holder ${this.#errand?.lock.holder ?? "none"}, ${this.#lines.openCount} open`;
  }

  protected override reconnect(): void {
    this.#lines.leaveAll();
  }

  protected override act(): void {
    const { mix } = this.plan;
    if (this.does(mix.stale)) this.#useFormer();
    if (this.plan.forms.includes("pair") && this.does(mix.look)) this.#lookAtPairs();
    const errand = this.#errand;
    if (errand === undefined) this.#begin();
    else if (errand.asking > 0) this.#meanwhile();
    else if (errand.beliefs.length > 0) this.#hold(errand);
    else if (errand.attemptsLeft > 0) this.#take(errand);
    else this.#end(errand);
  }

  protected override drain(): void {
    const errand = this.#errand;
    if (errand === undefined || errand.asking > 0) return;
    if (errand.isTrusted && !errand.isReturning) this.#release(errand);
    else this.#end(errand);
  }

  #begin(): void {
    const { random } = this;
    this.#holders += 1;
    const lock = this.#lockOf(`h${this.host}.${this.#holders}`);
    const attempts = random.integer(ATTEMPTS.least, ATTEMPTS.most);
    this.#errand = new ScriptErrand(lock, this.calmTerm, attempts);
    this.#take(this.#errand);
  }

  #lockOf(holder: string): ScriptLock {
    const { random } = this;
    const form = random.pick(this.plan.forms);
    if (form === "pair") return new PairLock(holder);
    if (form === "count") return countLock(holder);
    return random.chance(WRITER_SHARE) ? writerLock(holder) : readerLock(holder);
  }

  /** The program that waits is stopped. */
  #meanwhile(): void {
    if (this.isCalm || !this.random.chance(this.plan.mix.leave)) return;
    this.#lines.leaveAll();
    this.seen("left in the middle");
  }

  #hold(errand: ScriptErrand): void {
    const { mix } = this.plan;
    const { random } = this;
    const { lock } = errand;
    if (!errand.isTrusted) {
      if (this.does(mix.behind) && !errand.isReturning) this.#release(errand);
      else this.#end(errand);
    } else if (this.does(mix.look)) this.#look(errand);
    else if (lock.counts && errand.count < COUNT_MAX && random.chance(mix.repeat)) {
      if (errand.sureCount > 1 && this.does(mix.atOnce)) this.#takeAndRelease(errand);
      else this.#take(errand);
    } else if (lock instanceof PairLock && random.chance(MOVE_SHARE)) this.#move(errand, lock);
    else if (random.chance(mix.extend)) this.#extend(errand);
    else if (random.chance(mix.giveBack)) this.#release(errand);
  }

  #end(errand: ScriptErrand): void {
    const isGivenBack = errand.count === 0 && errand.isReturning && !errand.isInDoubt;
    if (isGivenBack) this.#former = [...this.#former, errand.lock].slice(-FORMER_MAX);
    errand.giveUp("lapsed");
    if (errand === this.#errand) this.#errand = undefined;
  }

  // Taking.

  #take(errand: ScriptErrand, node = this.node()): void {
    errand.attemptsLeft -= 1;
    const sentMs = this.nowMs;
    this.#ask(errand, node, errand.lock.take(this.plan.ttlMs), "take", (told) => {
      if (told === 0) this.#onRefused(errand);
      else this.#onTaken(errand, told, sentMs);
    });
  }

  #onTaken(errand: ScriptErrand, told: number, sentMs: number): void {
    const isFirst = errand.count === 0;
    this.seen(isFirst ? "taken" : "taken once more");
    errand.count += 1;
    if (isFirst || this.#has(errand)) this.#judgeCount(errand, told);
    const deadlineMs = sentMs + this.plan.ttlMs;
    if (this.nowMs >= deadlineMs || !(isFirst || errand.isTrusted)) this.#end(errand);
    else if (isFirst) {
      errand.beliefs = errand.lock.parts.flatMap((part) => this.#believed(part, deadlineMs) ?? []);
    } else this.#lastUntil(errand, deadlineMs);
  }

  /** Begins to count on a part of its lock. */
  #believed(
    { key, mark, claims, isShared }: LockPart,
    deadlineMs: number,
  ): LeaseBelief | undefined {
    const token = this.world.laws().tokenOf(key, mark);
    if (token === undefined) {
      this.broken("one answer", `has ${key} by its answer, and nobody holds it so`);
      return undefined;
    }
    const belief = new LeaseBelief(this, token, claims, deadlineMs);
    // A token that others have, too, tells nobody apart.
    if (isShared) this.world.watch.onBelief(belief);
    else this.believe(belief);
    return belief;
  }

  #lastUntil({ beliefs }: ScriptErrand, deadlineMs: number): void {
    for (const belief of beliefs) belief.deadlineMs = Math.max(belief.deadlineMs, deadlineMs);
  }

  #onRefused(errand: ScriptErrand): void {
    this.seen("refused");
    if (this.#has(errand)) {
      const { lock, count } = errand;
      this.broken("one answer", `holds ${lock.holder} ${count} times, and is refused`);
    }
    this.#demandNothing(errand);
  }

  /** Everything was refused so far: then nothing is there. */
  #demandNothing({ lock, count, isInDoubt, isReturning }: ScriptErrand): void {
    if (count > 0 || isInDoubt || isReturning) return;
    const parts = lock instanceof PairLock ? lock.allParts : lock.parts;
    for (const { key, mark } of parts) this.world.laws().onRefusedAll(key, mark);
  }

  // What it has.

  /** Whether the answers that it got say that it has all of its lock. */
  #has({ beliefs }: ScriptErrand): boolean {
    return beliefs.length > 0 && beliefs.every((belief) => this.counts(belief));
  }

  /** Whether its lock was there until now, whether or not it was given up meanwhile. */
  #wasThere({ beliefs }: ScriptErrand): boolean {
    return beliefs.every((belief) => {
      return this.nowMs < belief.deadlineMs && !this.world.watch.isTorn(belief);
    });
  }

  #judgeCount(errand: ScriptErrand, told: number): void {
    const problem = errand.problemOfCount(told);
    if (problem === undefined) return;
    this.broken("held as often as it was taken", `${errand.lock.holder} ${problem}`);
  }

  #extend(errand: ScriptErrand): void {
    const { ttlMs } = this.plan;
    const sentMs = this.nowMs;
    const { lock } = errand;
    this.#ask(errand, this.node(), lock.extend(ttlMs), "nothing that counts", (told) => {
      this.seen(`extended: ${told}`);
      if (told === 1) this.#lastUntil(errand, sentMs + ttlMs);
      else {
        if (this.#has(errand))
          this.broken("one answer", `has ${lock.holder}, and cannot extend it`);
        this.#end(errand);
      }
    });
  }

  #release(errand: ScriptErrand): void {
    const { lock } = errand;
    const { ttlMs } = this.plan;
    const couldCount = this.#has(errand);
    const sentMs = this.nowMs;
    const isLast = errand.sureCount <= 1;
    if (isLast) {
      errand.isReturning = true;
      errand.giveUp("released");
    }
    this.#ask(errand, this.node(), lock.release(ttlMs), "release", (told) => {
      this.seen(`released: ${told < 0 ? "nothing" : told === 0 ? "all" : "once"}`);
      const isKnown = couldCount && this.#wasThere(errand);
      if (told < 0) {
        if (isKnown) this.broken("one answer", `gives ${lock.holder} back, and had nothing`);
        errand.doubtfulReleases += 1;
        this.#end(errand);
        return;
      }
      errand.count -= 1;
      if (isKnown) this.#judgeCount(errand, told);
      if (isLast) this.#end(errand);
      else if (!lock.parts.some(({ isShared }) => isShared))
        this.#lastUntil(errand, sentMs + ttlMs);
    });
  }

  /** The second command is said before the reply to the first one. */
  #takeAndRelease(errand: ScriptErrand): void {
    const node = this.node();
    this.seen("taken and released at once");
    this.#take(errand, node);
    const { ttlMs } = this.plan;
    this.#ask(errand, node, errand.lock.release(ttlMs), "release", (told) => {
      errand.count -= 1;
      if (told < 0 || errand.sureCount <= 0) {
        if (told < 0 && this.#has(errand)) {
          this.broken("one answer", `gives ${errand.lock.holder} back once, and had nothing`);
        }
        this.#end(errand);
      } else if (this.#has(errand)) this.#judgeCount(errand, told);
    });
  }

  /** Changes one of its keys for another one, in one step. */
  #move(errand: ScriptErrand, lock: PairLock): void {
    const { ttlMs } = this.plan;
    const sentMs = this.nowMs;
    const couldCount = this.#has(errand);
    const [kept, left] = errand.beliefs as [LeaseBelief, LeaseBelief];
    left.givenUp ??= "released";
    this.#ask(errand, this.node(), lock.move(ttlMs), "nothing that counts", (told) => {
      this.seen(`moved: ${told}`);
      const isKnown = couldCount && this.#wasThere(errand);
      if (told < 0) {
        if (isKnown) this.broken("one answer", `has ${lock.holder}, and cannot change it`);
        this.#end(errand);
        return;
      }
      if (told === 1) {
        lock.hasMoved = !lock.hasMoved;
        kept.deadlineMs = Math.max(kept.deadlineMs, sentMs + ttlMs);
      }
      if (!isKnown || !this.counts(kept)) {
        this.#end(errand);
        return;
      }
      const second = told === 1 ? this.#believed(lock.parts[1] as LockPart, kept.deadlineMs) : left;
      if (second === left) {
        left.givenUp = undefined;
        this.believe(left);
      }
      errand.beliefs = second === undefined ? [kept] : [kept, second];
    });
  }

  // Looking.

  #look(errand: ScriptErrand): void {
    const { lock, beliefs } = errand;
    const isAlone = lock.parts.every(({ isShared }) => !isShared) && !errand.hasUnanswered;
    const looked = beliefs.map(({ token }) => this.world.laws().onLooking(token));
    const couldCount = this.#has(errand);
    errand.asking += 1;
    this.#call(this.node(), lock.look(), (reply) => {
      errand.asking -= 1;
      if (reply === undefined || reply.startsWith("-")) {
        this.#onUnknown(errand, reply, "nothing that counts");
        return;
      }
      this.seen("looked");
      if (isAlone) for (const each of looked) each();
      if (!couldCount || !this.#has(errand)) return;
      if (lock.counts && COUNT.test(reply)) this.#judgeCount(errand, Number(reply));
      else if (lock.counts || !errand.lock.parts.some(({ mark }) => isValue(mark, reply))) {
        this.broken("one answer", `has ${lock.holder}, and is shown ${reply}`);
      }
    });
  }

  /** Pairs are taken, changed and released as a whole: two keys of three, always. */
  #lookAtPairs(): void {
    this.#call(this.node(), lookAtPairs(), (reply) => {
      if (reply === undefined || !reply.startsWith("[")) return;
      this.seen("looked at pairs");
      const shown = reply.slice(1, -1).split(", ");
      const places = new Map<string, number[]>();
      const ending = new Set<string>();
      for (let at = 0; at < shown.length; at += 2) {
        const pair = pairOf(shown[at] ?? "");
        if (pair === undefined) continue;
        const { holder } = pair;
        if (pair.at !== at / 2) this.broken("one answer", `${shown[at]} is shown elsewhere`);
        places.set(holder, [...(places.get(holder) ?? []), pair.at]);
        if (Number(shown[at + 1]?.slice(1)) <= ENDING_MS) ending.add(holder);
      }
      for (const [holder, at] of places) {
        const isPair = at.length === 2 && at[0] === 0;
        if (isPair || ending.has(holder)) continue;
        this.broken(
          "scripts take effect in one step",
          `${holder} has keys ${at} of a pair: ${reply}`,
        );
      }
    });
  }

  /** What a holder has given back has no effect, nor on what others have in the keys by now. */
  #useFormer(): void {
    const lock = this.random.pickOrNone(this.#former);
    if (lock === undefined) return;
    const isRelease = this.random.chance(0.5);
    const { ttlMs } = this.plan;
    const words = isRelease ? lock.release(ttlMs) : lock.extend(ttlMs);
    this.#call(this.node(), words, (reply) => {
      this.seen(`by a former holder: ${reply}`);
      const told = numberIn(reply);
      if (told === undefined || told === (isRelease ? -1 : 0)) return;
      this.broken("nobody holds what was given back", `${lock.holder} is there again`);
    });
  }

  // Asking.

  /** `heard`: what the script answered, which is a number. */
  #ask(
    errand: ScriptErrand,
    node: number,
    words: ScriptWords,
    asked: Asked,
    heard: (told: number) => void,
  ): void {
    errand.asking += 1;
    this.#call(node, words, (reply) => {
      errand.asking -= 1;
      const told = numberIn(reply);
      if (told === undefined) this.#onUnknown(errand, reply, asked);
      else heard(told);
    });
  }

  /** An error says that nothing was done; without any reply it may have been. */
  #onUnknown(errand: ScriptErrand, reply: string | undefined, asked: Asked): void {
    this.seen(reply === undefined ? "not answered" : `told ${reply.split(" ", 1)[0]}`);
    if (reply === undefined) {
      errand.hasUnanswered = true;
      if (asked === "take") errand.doubtfulTakes += 1;
      if (asked === "release") errand.doubtfulReleases += 1;
    } else if (
      !reply.startsWith("-") ||
      (reply.startsWith(REFUSED) && !reply.includes(TOO_LARGE))
    ) {
      this.broken("scripts of locks are answered", `${errand.lock.holder} hears ${reply}`);
    }
    const isCalm = errand.calmTerm !== 0 && errand.calmTerm === this.world.laws().term;
    if (isCalm && !isFull(reply) && reply?.includes(TOO_LARGE) !== true) {
      this.broken("a calm cluster answers", reply ?? "nobody answers");
    }
    this.#demandNothing(errand);
    const isOver = errand.count > 0 ? errand.sureCount <= 0 || !errand.isTrusted : errand.isInDoubt;
    // What counts can be asked for again by the same holder, who finds out how often it is held.
    if (isOver && !(errand.count === 0 && errand.lock.counts)) this.#end(errand);
  }

  #call(node: number, { text, keys, args }: ScriptWords, heard: HeardReply): void {
    this.#lines.call(node, ["EVAL", text, String(keys.length), ...keys, ...args], heard);
  }
}

function numberIn(reply: string | undefined): number | undefined {
  const [, digits] = NUMBER.exec(reply ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function isValue(mark: LockPart["mark"], text: string): boolean {
  return "value" in mark && mark.value === text;
}
