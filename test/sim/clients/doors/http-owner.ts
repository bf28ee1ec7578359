/**
 * An owner of leases that speaks HTTP: it takes, waits in polls and repeats them at one node or another,
 * extends, and gives back. It repeats requests before and behind their answers, leaves in the middle,
 * comes back in time or too late, and hears answers late.
 */
import type { HttpTold, HttpWords } from "../../world/doors/served-exchange.js";
import { LeaseBelief } from "../leases/lease-belief.js";
import { DoorOwner } from "./door-owner.js";
import { HttpErrand } from "./http-errand.js";

/** Names of the table that the Redis door has for its keys, so that both doors use them. */
const SHARED_KEYS = ["~redis/0/p", "~redis/0/q"] as const;
/** An owner gives a request up when it has no answer for this long beyond its poll. */
const PATIENCE_MS = 800;
const CALM_PATIENCE_MS = 8_000;
/** After a poll that ended the next one begins within this time, if it is to keep its place. */
const REPEAT_MS_MAX = 200;
/** An owner that does not repeat keeps its place for this long, */
const GRACE_MS = 2_000;
/** and this much later nothing may be left of it. */
const SLACK_MS = 1_000;
const KEPT_NAME_SHARE = 0.4;
/** A lease of this length is not over before its owner learns of it, late as answers may be. */
const SURE_MS = 1_500;
/** What is on its way when something is given back has come by then. */
const SETTLED_MS = 1_000;

/** The table has no room by its settings, which clients change. */
const FULL: readonly unknown[] = ["QUOTA", "QUEUE_FULL"];
/** What a lock is refused with that somebody else has. */
const HELD_CODES: readonly unknown[] = ["LOCK_HELD", "LOCK_TIMEOUT"];
/** Less than any clock drifts. */
const PATIENCE_RATIO = 0.99;
/** The door cannot say what became of a request, or cannot serve it now. */
const LATER_STATUSES: readonly number[] = [429, 503, 504];

type Body = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly body: Body;
}

interface Asked {
  /** By its own clock, before anything was sent. */
  readonly sentMs: number;
  /** Its place among all that the owner asked and was answered. */
  readonly number: number;
  /** It said that it would ask for nothing more, which is answered at once. */
  readonly hasEnded: boolean;
}

/** `answer`: `undefined`: nobody will ever know. */
type Heard = (answer: Answer | undefined, asked: Asked) => void;

export class HttpOwner extends DoorOwner {
  #errand: HttpErrand | undefined;
  #names = 0;
  #requests = 0;
  #owner = "";
  #isNameInDoubt = true;
  #lastNumber = 0;
  #isSettling = false;
  /** Given back once nothing else is to be done: owners, and keys in which they may have something. */
  readonly #debts = new Map<string, Set<string>>();
  /** Requests, and abandoned errands whose end is to be seen. */
  #open = 0;

  override get trusted(): readonly LeaseBelief[] {
    const belief = this.#errand?.belief;
    return belief?.isTrusted === true ? [belief] : [];
  }

  override get isIdle(): boolean {
    return this.#errand === undefined && this.#debts.size === 0 && this.#open === 0;
  }

  override get business(): string {
    const { request = "none", waitMs = 0 } = this.#errand?.plan ?? {};
    return `errand ${request} (${waitMs} ms), ${this.#open} open, ${this.#debts.size} debts`;
  }

  protected override act(): void {
    const errand = this.#errand;
    if (errand === undefined) this.#begin();
    else if (errand.open.size > 0) this.#meanwhile(errand);
    else if (errand.isRepeating) return;
    else if (errand.isReturning) this.#finish(errand);
    else if (errand.belief === undefined) this.#insist(errand);
    else this.#hold(errand, errand.belief);
  }

  protected override drain(): void {
    const errand = this.#errand;
    if (errand === undefined) {
      const [debt] = this.#debts;
      if (debt !== undefined && !this.#isSettling) this.#settle(...debt);
      return;
    }
    if (errand.isReturning) {
      if (errand.open.size === 0) this.#finish(errand);
    } else if (errand.belief !== undefined || errand.open.size > 0) this.#giveBack(errand);
    else this.#abandon(errand);
  }

  // Errands.

  #begin(): void {
    const { random, world, isCalm, calmTerm } = this;
    const { mix, ttlMs, waitMs, meetsClients } = this.plan;
    if (this.#isNameInDoubt || !random.chance(KEPT_NAME_SHARE)) {
      this.#names += 1;
      this.#owner = `owner ${this.host}.${this.#names}`;
      this.#isNameInDoubt = false;
    }
    this.#requests += 1;
    const number = `${this.host}.${this.#requests}`;
    const shared = meetsClients && !isCalm ? [...SHARED_KEYS, ...world.keys] : SHARED_KEYS;
    const errand = new HttpErrand({
      owner: this.#owner,
      request: `request ${number}`,
      name: `errand ${number}`,
      keys: random.sample(shared, random.chance(mix.several) ? 2 : 1),
      mode: random.chance(mix.shared) ? "shared" : "exclusive",
      ...{ ttlMs, calmTerm },
      waitMs: random.chance(mix.waits) ? waitMs : 0,
      firstAskedMs: world.simulation.nowMs,
    });
    this.#errand = errand;
    this.#take(errand);
  }

  /** Something is asked, and not answered yet. */
  #meanwhile(errand: HttpErrand): void {
    const { mix } = this.plan;
    if (this.random.chance(mix.leave)) {
      for (const request of [...errand.open]) request.leave();
      this.seen("left in the middle");
    } else if (this.random.chance(mix.halfClose)) {
      for (const request of errand.open) request.endHalf();
    } else if (!errand.isReturning && this.random.chance(mix.again)) this.#take(errand);
    else if (!errand.isReturning && errand.belief === undefined && this.does(mix.early)) {
      this.#giveBack(errand);
    }
  }

  /** Nothing is asked at the moment, and nothing was granted. */
  #insist(errand: HttpErrand): void {
    if (this.random.chance(this.plan.mix.persist)) this.#take(errand);
    else this.#abandon(errand);
  }

  #hold(errand: HttpErrand, belief: LeaseBelief): void {
    const { mix } = this.plan;
    const { random } = this;
    if (this.does(mix.look)) this.#look(errand, belief);
    else if (random.chance(mix.giveBack)) this.#giveBack(errand);
    else if (random.chance(mix.extend)) this.#extend(errand);
    else if (random.chance(mix.repeat)) this.#take(errand);
    else if (!belief.isTrusted) {
      if (random.chance(mix.forget)) this.#abandon(errand);
      else this.#giveBack(errand);
    }
  }

  /** Nothing more is asked about it. */
  #abandon(errand: HttpErrand): void {
    const { belief } = errand;
    if (belief !== undefined) belief.givenUp ??= "lapsed";
    for (const request of [...errand.open]) request.leave();
    this.#isNameInDoubt = true;
    this.#end(errand);
    // What a repeat was granted once more no take gives back, since any caller of them may count on it.
    const isOwed = !this.#isCalm(errand) || errand.isReturning || belief !== undefined;
    if (isOwed || errand.hasRepeats) this.#owe(errand);
    else this.#demandNothing(errand);
  }

  /** Whether nothing was wrong with the cluster since it began. */
  #isCalm({ plan }: HttpErrand): boolean {
    return plan.calmTerm !== 0 && plan.calmTerm === this.world.laws().term;
  }

  #owe({ plan: { owner, keys } }: HttpErrand): void {
    const owed = this.#debts.get(owner) ?? new Set();
    for (const key of keys) owed.add(key);
    this.#debts.set(owner, owed);
  }

  /**
   * Soon nothing is left of an owner that went away in a calm, unless the door granted something
   * when nobody heard it.
   */
  #demandNothing(errand: HttpErrand): void {
    const { plan, left } = errand;
    this.#open += 1;
    this.later(GRACE_MS + SLACK_MS, () => {
      this.#open -= 1;
      if (!this.#isCalm(errand) || left.some(({ told }) => told?.status === 200)) {
        this.#owe(errand);
        return;
      }
      this.seen("nothing left of who went away");
      for (const key of plan.keys) this.world.laws().demandNothing(key, plan);
    });
  }

  /** Nor of what it gave back, which was all that it had asked for. */
  #demandNothingOf(errand: HttpErrand): void {
    const { plan } = errand;
    this.#open += 1;
    this.later(SETTLED_MS, () => {
      this.#open -= 1;
      if (!this.#isCalm(errand)) return;
      for (const key of plan.keys) this.world.laws().demandNothing(key, plan);
    });
  }

  /** Everything that was asked is answered. */
  #finish(errand: HttpErrand): void {
    if (errand.isInDoubt) this.#abandon(errand);
    else this.#end(errand);
  }

  #end(errand: HttpErrand): void {
    this.#leavePlace(errand);
    if (errand === this.#errand) this.#errand = undefined;
  }

  #leavePlace(errand: HttpErrand): void {
    if (errand.place !== undefined) this.world.laws().onLeft(errand.place);
    errand.place = undefined;
  }

  #settle(owner: string, keys: Set<string>): void {
    const [key = ""] = keys;
    this.#isSettling = true;
    this.#ask(undefined, this.#words("DELETE", "/v1/lock", { key }, { owner }), 0, (answer) => {
      this.#isSettling = false;
      if (answer?.status !== 200) return;
      keys.delete(key);
      if (keys.size === 0) this.#debts.delete(owner);
    });
  }

  // Taking.

  #take(errand: HttpErrand): void {
    const { plan } = errand;
    const { pollMs, mix } = this.plan;
    const isOther = errand.lastTake > 0 && this.random.chance(mix.otherTtl);
    const ttlMs = isOther ? this.random.integer(300, 2 * plan.ttlMs) : plan.ttlMs;
    const isWaiting = plan.waitMs > 0;
    const times = {
      ttl: `${ttlMs}ms`,
      ...(isWaiting ? { wait: `${plan.waitMs}ms`, poll: `${pollMs}ms` } : {}),
    };
    const [key = "", ...others] = plan.keys;
    const { mode } = plan;
    const words =
      others.length === 0
        ? this.#words("PUT", "/v1/lock", { key, mode, ...times }, plan)
        : this.#words("POST", "/v1/locks", {}, plan, {
            ...{ items: plan.keys.map((one) => ({ key: one, mode })), ...times },
          });
    // What nobody waits for may still be on its way, and be carried out behind this one. So may a poll that
    // has ended: the door says that it waits before it knows.
    const mayBeLate = errand.isRepeating && !this.#isCalm(errand);
    if (errand.open.size > 0 || errand.isInDoubt || mayBeLate) errand.hasRepeats = true;
    errand.isRepeating = false;
    const heard: Heard = (answer, asked) => this.#onTaken(errand, answer, asked);
    errand.lastTake = this.#ask(errand, words, isWaiting ? pollMs : 0, heard);
  }

  #onTaken(errand: HttpErrand, answer: Answer | undefined, asked: Asked): void {
    const { belief } = errand;
    const { status, body } = answer ?? UNHEARD;
    if (status !== 202) this.#leavePlace(errand);
    if (status === 200) {
      this.#onLeased(errand, body, asked);
      return;
    }
    const hadBefore = asked.number > errand.believedAt && !errand.isReturning;
    const has = hadBefore && this.counts(belief);
    if (status === 202) {
      if (has && this.#isCalm(errand) && !asked.hasEnded) {
        this.broken("one answer", `waits for what it has by ${belief.token}`);
      }
      this.#onQueued(errand, asked);
    } else if (isWithoutAnswer(body)) {
      this.#onUnknown(errand, undefined);
      this.#onRefused(errand, body);
    } else if (status === 409) {
      if (has) this.broken("one answer", `has ${belief.token}, and gets ${body["code"]}`);
      this.#onRefused(errand, body);
    } else this.#onUnknown(errand, answer);
  }

  #onLeased(errand: HttpErrand, { token, trustMs }: Body, asked: Asked): void {
    const { plan, belief } = errand;
    if (typeof token !== "number") throw new Error("a lease without a token");
    if (asked.number > errand.releasedAt) {
      const what = `is given ${token} by a request that it gave back`;
      this.broken("nobody holds what was given back", what);
    }
    if (errand.isReturning) {
      errand.isInDoubt = true;
      return;
    }
    const deadlineMs = trustMs === null ? Number.POSITIVE_INFINITY : asked.sentMs + Number(trustMs);
    if (belief !== undefined && belief.token >= token) {
      // An answer that is older than what it knows.
      if (belief.token > token) return;
      this.seen("lease repeated");
      belief.deadlineMs = Math.max(belief.deadlineMs, deadlineMs);
      this.believe(belief);
      return;
    }
    if (this.counts(belief)) {
      this.broken("one answer", `has ${belief.token}, and a repeat is given ${token}`);
    }
    if (belief !== undefined) belief.givenUp ??= "lapsed";
    const claims = plan.keys.map((key) => ({ key, mode: plan.mode, slots: [] }));
    errand.belief = new LeaseBelief(this, token, claims, deadlineMs);
    errand.believedAt = this.#nextNumber();
    this.seen(plan.waitMs > 0 ? "granted to a wait" : "granted");
    this.believe(errand.belief);
    for (const key of plan.keys)
      this.world.laws().onGranted(this.host, key, token, plan.firstAskedMs);
  }

  #onQueued(errand: HttpErrand, asked: Asked): void {
    const { plan } = errand;
    this.seen("told that it waits");
    const untilMs = asked.sentMs + plan.waitMs * PATIENCE_RATIO;
    errand.waitsUntilMs = Math.max(errand.waitsUntilMs, untilMs);
    const isLast = asked.number === errand.lastTake;
    if (!isLast || errand.isReturning || this.isDraining) return;
    if (!this.random.chance(this.plan.mix.persist)) {
      // It may come back, in time or too late, or not at all.
      this.#leavePlace(errand);
      return;
    }
    const [key = "", ...others] = plan.keys;
    if (this.#isCalm(errand) && others.length === 0 && errand.place === undefined) {
      const sinceMs = this.world.simulation.nowMs;
      errand.place = { host: this.host, key, mark: plan, sinceMs, term: plan.calmTerm };
      this.world.laws().onWaiting(errand.place);
    }
    errand.isRepeating = true;
    this.later(this.random.integer(0, REPEAT_MS_MAX), () => {
      if (errand.isRepeating && errand === this.#errand && !errand.isReturning) this.#take(errand);
    });
  }

  #onRefused(errand: HttpErrand, body: Body): void {
    const { code } = body;
    this.seen(`refused with ${code}`);
    if (code === "CANCELLED") {
      if (errand.hasRepeats || errand.isReturning) return;
      this.broken("one answer", "is told that it repeats its request, and does not");
    } else if (code === "NOT_HELD") {
      if (errand.isReturning) return;
      // A lease may also be over by the time at which the door extends it, to answer with enough of it.
      if (reasonOf(body) === "released") {
        this.broken("one answer", "is told that it gave its request back, and did not");
      }
    } else if (!HELD_CODES.includes(code)) {
      this.broken("one answer", `a take is refused with ${code}`);
    }
    if (errand.belief !== undefined || errand.isReturning || errand !== this.#errand) return;
    if (errand.open.size === 0) this.#finish(errand);
  }

  #onUnknown(errand: HttpErrand, answer: Answer | undefined): void {
    errand.isInDoubt = true;
    if (answer !== undefined && !LATER_STATUSES.includes(answer.status)) {
      this.broken("every call is answered as documented", JSON.stringify(answer));
    }
    if (!this.#isCalm(errand) || FULL.includes(answer?.body["code"])) return;
    const what = answer === undefined ? "nobody answers" : JSON.stringify(answer);
    this.broken("a calm cluster answers", what);
  }

  // What it has.

  #extend(errand: HttpErrand): void {
    const { owner, keys, ttlMs } = errand.plan;
    const query = { key: this.random.pick(keys), ttl: `${ttlMs}ms` };
    const words = this.#words("POST", "/v1/lock/extend", query, { owner });
    this.#ask(errand, words, 0, (answer, asked) => {
      const { belief } = errand;
      if (answer?.status === 200) {
        const { token, trustMs } = answer.body;
        if (belief?.token !== token || belief === undefined) return;
        this.seen("extended");
        belief.deadlineMs = Math.max(belief.deadlineMs, asked.sentMs + Number(trustMs));
        this.believe(belief);
      } else if (answer?.status === 409) {
        this.seen(`not extended: ${answer.body["code"]}`);
        const hadBefore = asked.number > errand.believedAt && !errand.isReturning;
        if (hadBefore && this.counts(belief)) {
          this.broken("one answer", `has ${belief.token}, and cannot extend it`);
        }
        if (!errand.isReturning && errand === this.#errand) this.#giveBack(errand);
      } else this.#onUnknown(errand, answer);
    });
  }

  /** What it has, which stays as it is. */
  #look(errand: HttpErrand, belief: LeaseBelief): void {
    const { owner, keys } = errand.plan;
    const laws = this.world.laws();
    const isAlone = (): boolean => {
      return errand.open.size === 0 && !errand.isInDoubt && !errand.hasRepeats;
    };
    const looked = isAlone() ? laws.onLooking(belief.token) : undefined;
    const words = this.#words("GET", "/v1/lock", { key: this.random.pick(keys) }, { owner });
    const couldCount = this.counts(belief);
    this.#ask(errand, words, 0, (answer) => {
      if (answer?.status !== 200) {
        this.#onUnknown(errand, answer);
        return;
      }
      this.seen("looked");
      const { mine } = answer.body as { readonly mine?: { readonly token: number } | null };
      if (isAlone()) looked?.();
      if (!couldCount || !this.counts(belief) || mine?.token === belief.token) return;
      this.broken("one answer", `has ${belief.token}, and is shown ${mine?.token ?? "nothing"}`);
    });
  }

  #giveBack(errand: HttpErrand): void {
    const { owner, keys } = errand.plan;
    const { belief } = errand;
    const couldCount = this.counts(belief);
    const { ttlMs, mix } = this.plan;
    const isLong = ttlMs >= SURE_MS && mix.otherTtl === 0;
    const wasQueued = errand.place !== undefined && this.#isCalm(errand) && isLong;
    errand.isReturning = true;
    this.#leavePlace(errand);
    if (belief !== undefined) belief.givenUp ??= "released";
    const words = this.#words("DELETE", "/v1/lock", { key: this.random.pick(keys) }, { owner });
    this.#ask(errand, words, 0, (answer) => {
      if (answer?.status !== 200) {
        this.#onUnknown(errand, answer);
        return;
      }
      const { released, leftQueue } = answer.body;
      const isStillHeld = couldCount && this.nowMs < (belief?.deadlineMs ?? 0);
      if (isStillHeld && released !== true && belief !== undefined) {
        const isTorn = this.world.watch.isTorn(belief);
        if (!isTorn) this.broken("one answer", `gives ${belief.token} back, and had nothing`);
      }
      if (released !== true && leftQueue !== true) {
        const isWaiting = wasQueued && this.nowMs < errand.waitsUntilMs;
        if (isWaiting) this.broken("one answer", "gives back what it waits for, and has nothing");
        return;
      }
      this.seen(leftQueue === true ? "given back before it was granted" : "given back");
      if (this.#isCalm(errand) && !errand.hasRepeats) this.#demandNothingOf(errand);
      errand.releasedAt = this.#nextNumber();
      if (this.random.chance(this.plan.mix.copy)) this.#take(errand);
    });
  }

  // Asking.

  #words(
    method: string,
    path: string,
    query: Readonly<Record<string, string>>,
    names: { readonly owner: string; readonly request?: string; readonly name?: string },
    body?: object,
  ): HttpWords {
    const { owner, request, name } = names;
    const parameters = Object.entries(query).map(([key, value]) => {
      return `${key}=${encodeURIComponent(value)}`;
    });
    return {
      ...{ method, path, body, query: parameters.join("&"), address: `10.0.1.${this.host % 2}` },
      headers: {
        "holdfast-owner": owner,
        ...(request === undefined ? {} : { "idempotency-key": request }),
        ...(name === undefined ? {} : { "holdfast-name": name }),
      },
    };
  }

  /** Returns its number. `heard` is not called for what was left. */
  #ask(errand: HttpErrand | undefined, words: HttpWords, pollMs: number, heard: Heard): number {
    const { network } = this.world;
    const asked = { sentMs: this.nowMs, number: this.#nextNumber(), hasEnded: false };
    const node = this.node();
    let isOver = false;
    const end = (answer: Answer | undefined): void => {
      if (isOver) return;
      stop();
      const shown = answer === undefined ? "nothing" : JSON.stringify(answer);
      this.note(`hears ${asked.number}: ${shown}`);
      heard(answer, asked);
    };
    const line = network.connectHttp(node, {
      host: this.host,
      onOpen: () => this.deliver(() => line.ask(words)),
      onFrame: (told) => this.later(this.lateMs(), () => end(answerOf(told))),
      onClosed: () => this.later(0, () => end(undefined)),
    });
    const stop = (): void => {
      isOver = true;
      this.#open -= 1;
      errand?.open.delete(request);
      line.leave();
    };
    const request = {
      endHalf: (): void => {
        asked.hasEnded = true;
        line.askNoMore();
      },
      leave: (): void => {
        if (isOver) return;
        stop();
        errand?.left.push(line);
        if (errand !== undefined) errand.isInDoubt = true;
        this.note(`leaves ${asked.number}`);
      },
    };
    this.note(`asks node ${node} ${asked.number}: ${words.method} ${words.path}?${words.query}`);
    this.#open += 1;
    errand?.open.add(request);
    const patienceMs = this.isCalm ? CALM_PATIENCE_MS : PATIENCE_MS;
    this.later(pollMs + patienceMs, () => end(undefined));
    return asked.number;
  }

  #nextNumber(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }
}

/** The door gave the wait up because the cluster was out of reach: it says nothing of what the owner has. */
function isWithoutAnswer({ details }: Body): boolean {
  return (details as Body | undefined)?.["decidedBy"] === "client";
}

/** Why something ended. */
function reasonOf({ details }: Body): unknown {
  return (details as Body | undefined)?.["reason"];
}

const UNHEARD: Answer = { status: 0, body: {} };

function answerOf({ status, text }: HttpTold): Answer {
  return { status, body: JSON.parse(text) as Body };
}
