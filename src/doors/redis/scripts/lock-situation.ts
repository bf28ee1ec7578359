/**
 * The situation of a lock script: each key is free, or held by the value that the script is called
 * with, or by another. It notes what the script does to each key, and refuses what a lock service must
 * not do: change a hold of another owner, or a hold whose value the script has not compared.
 */
import type { Act, DurationRole, Publication, TextPart } from "./meaning.js";
import {
  constant,
  FALSE,
  isSame,
  list,
  NIL,
  NotUnderstood,
  OK,
  type Situation,
  symbol,
  type Value,
} from "./walk.js";

export type KeyState = "absent" | "mine" | "mineEndless" | "other";

/** What a walk must know of arguments before it can go on. */
export class NeedsArgument extends NotUnderstood {
  readonly argument: number;
  readonly equals: string | number;

  constructor(argument: number, equals: string | number) {
    super();
    this.argument = argument;
    this.equals = equals;
  }
}

/** The walk must know whether less remains than an argument says. */
export class NeedsLateness extends NotUnderstood {
  readonly least: number;

  constructor(least: number) {
    super();
    this.least = least;
  }
}

/** Of comparisons of arguments, whether they come out as equal; see `assumptionOf`. */
export type Assumptions = ReadonlyMap<string, boolean>;

/** A number and a text of its digits are different comparisons: `01` equals the one only. */
export function assumptionOf(argument: number, equals: string | number): string {
  return JSON.stringify([argument, equals]);
}

export interface SituationParts {
  readonly states: readonly KeyState[];
  /** Which argument is the value; `each`: that at the place of the key; `undefined`: none is. */
  readonly value: number | "each" | undefined;
  readonly assumptions: Assumptions;
  readonly isLate: boolean | undefined;
}

export const HELD = symbol("held");
const NOTHING: Act = { kind: "none" };
/** No lock script sends more, and each goes to every subscriber. */
const PUBLICATIONS_MAX = 4;
const SECONDS = constant(1_000);

export class LockSituation implements Situation {
  readonly knowsPlaces = false;
  readonly #parts: SituationParts;
  readonly acts: Act[];
  readonly publications: Publication[] = [];
  /** The argument that names the database. */
  database: number | undefined;
  /** Whether the script has asked for anything, the database aside. */
  #hasCalled = false;

  constructor(parts: SituationParts) {
    this.#parts = parts;
    this.acts = parts.states.map(() => NOTHING);
  }

  get keyCount(): number {
    return this.#parts.states.length;
  }

  call(command: string, args: readonly Value[]): Value {
    if (command === "SELECT") return this.#select(args);
    this.#hasCalled = true;
    switch (command) {
      case "GET":
        return this.#get(onlyKey(args));
      case "MGET":
        return list(args.map((arg) => this.#get(keyOf(arg))));
      case "GETRANGE":
        return this.#getRange(args);
      case "EXISTS":
        return constant(this.#isHeld(onlyKey(args)) ? 1 : 0);
      case "PTTL":
      case "TTL":
        return this.#remaining(onlyKey(args), command === "PTTL" ? "ms" : "s");
      case "SET":
        return this.#set(args);
      case "SETNX":
        return this.#setIfAbsent(args);
      case "MSETNX":
        return this.#setAllIfAbsent(args);
      case "MSET":
        for (const [key, value] of pairsOf(args)) this.#put(key, value, undefined);
        return OK;
      case "SETEX":
      case "PSETEX":
        return this.#setWithEnd(args, command === "SETEX" ? "s" : "ms");
      case "EXPIRE":
      case "PEXPIRE":
        return this.#expire(args, command === "EXPIRE" ? "s" : "ms");
      case "DEL":
      case "UNLINK":
        return this.#delete(args);
      case "PUBLISH":
      case "SPUBLISH":
        return this.#publish(args);
      default:
        throw new NotUnderstood();
    }
  }

  equals(left: Value, right: Value): boolean {
    if (right.kind === "constant") return this.#equalsConstant(left, right.value);
    if (left.kind === "constant") return this.#equalsConstant(right, left.value);
    if (isSame(left, right)) return true;
    // A held value and the value of the call, in either order, whole or a part of both.
    const [one, other] = isOfHeld(left) ? [left, right] : [right, left];
    if (isOfHeld(one) && this.#isOfValue(other)) return false;
    throw new NotUnderstood();
  }

  less(left: Value, right: Value): boolean {
    if (isRemaining(left)) {
      // What remains of a hold that has an end.
      if (right.kind === "constant") {
        if (typeof right.value === "number" && right.value <= 0) return false;
      } else if (
        isRemainingMs(left) &&
        isNumber(right) &&
        typeof right.at === "number" &&
        !right.each
      ) {
        if (this.#parts.isLate === undefined) throw new NeedsLateness(right.at);
        return this.#parts.isLate;
      }
    }
    // −1, of a hold without end, is less than any time that must remain.
    if (left.kind === "constant" && left.value === -1 && isNumber(right)) return true;
    throw new NotUnderstood();
  }

  /** A script without its value would be refused. */
  isGiven(argument: Value): boolean {
    return this.#isOfValue(argument);
  }

  #equalsConstant(value: Value, to: string | number | boolean | null): boolean {
    if (to === null && this.#isOfValue(value)) return false;
    if (value.kind === "argument" && !value.each && typeof value.at === "number") {
      const wanted = comparable(value.isNumber, to);
      if (wanted === undefined) return false;
      const known = this.#parts.assumptions.get(assumptionOf(value.at, wanted));
      if (known === undefined) throw new NeedsArgument(value.at, wanted);
      return known;
    }
    if (isRemaining(value)) return typeof to === "number" && to < 0 ? false : unknown();
    if (isOfHeld(value) || value.kind === "key") return typeof to === "string" ? unknown() : false;
    // A part of the value is no empty text.
    if (this.#isOfValue(value)) return typeof to === "string" && to !== "" ? unknown() : false;
    throw new NotUnderstood();
  }

  #select(args: readonly Value[]): Value {
    const [database] = args;
    if (this.#hasCalled || this.database !== undefined) throw new NotUnderstood();
    if (database?.kind !== "argument" || database.each || typeof database.at !== "number") {
      throw new NotUnderstood();
    }
    this.database = database.at;
    return OK;
  }

  #state(key: number): KeyState {
    const state = this.#parts.states[key - 1];
    if (state === undefined) throw new NotUnderstood();
    return state;
  }

  #act(key: number): Act {
    return this.acts[key - 1] ?? NOTHING;
  }

  #isHeld(key: number): boolean {
    const act = this.#act(key);
    if (act.kind === "take") return true;
    if (act.kind === "release") return false;
    return this.#state(key) !== "absent";
  }

  #value(key: number): Value {
    const { value } = this.#parts;
    if (value === undefined) return HELD;
    const isEach = value === "each";
    return { kind: "argument", at: isEach ? key : value, each: isEach, isNumber: false };
  }

  #isOfValue(value: Value): boolean {
    if (value.kind === "symbol" && value.name === "sub")
      return this.#isOfValue(value.parts[0] ?? NIL);
    if (value.kind !== "argument") return false;
    if (this.#parts.value === "each") return value.each;
    return value.at === this.#parts.value && !value.each;
  }

  #get(key: number): Value {
    if (!this.#isHeld(key)) return FALSE;
    return this.#state(key) === "other" ? HELD : this.#value(key);
  }

  /** The first characters of the value. */
  #getRange(args: readonly Value[]): Value {
    const [key, from, to] = args;
    if (key === undefined || from?.kind !== "constant" || from.value !== 0) return unknown();
    if (to?.kind !== "symbol" || to.name !== "-") return unknown();
    const [length, one] = to.parts;
    if (length === undefined || one?.kind !== "constant" || one.value !== 1) return unknown();
    const held = this.#get(keyOf(key));
    return isSame(held, FALSE) ? constant("") : symbol("sub", held, constant(1), length);
  }

  #remaining(key: number, unit: "ms" | "s"): Value {
    if (this.#act(key).kind !== "none") throw new NotUnderstood();
    const state = this.#state(key);
    if (state === "absent") return constant(-2);
    if (state === "mineEndless") return constant(-1);
    return symbol("remaining", constant(unit));
  }

  #set(args: readonly Value[]): Value {
    const [first, value, ...options] = args;
    const key = keyOf(first);
    let onlyIf: "absent" | "held" | undefined;
    let ttl: DurationRole | undefined;
    while (options.length > 0) {
      const option = wordOf(options.shift());
      if (option === "NX") onlyIf = "absent";
      else if (option === "XX") onlyIf = "held";
      else if (option === "PX") ttl = durationOf(options.shift(), "ms");
      else if (option === "EX") ttl = durationOf(options.shift(), "s");
      else throw new NotUnderstood();
    }
    if (onlyIf !== undefined && this.#isHeld(key) !== (onlyIf === "held")) return FALSE;
    this.#put(key, value, ttl);
    return OK;
  }

  #setIfAbsent(args: readonly Value[]): Value {
    const [key, value, ...more] = args;
    if (more.length > 0) throw new NotUnderstood();
    if (this.#isHeld(keyOf(key))) return constant(0);
    this.#put(keyOf(key), value, undefined);
    return constant(1);
  }

  #setAllIfAbsent(args: readonly Value[]): Value {
    const pairs = pairsOf(args);
    if (pairs.some(([key]) => this.#isHeld(key))) return constant(0);
    for (const [key, value] of pairs) this.#put(key, value, undefined);
    return constant(1);
  }

  #setWithEnd(args: readonly Value[], unit: "ms" | "s"): Value {
    const [key, ttl, value] = args;
    this.#put(keyOf(key), value, durationOf(ttl, unit));
    return OK;
  }

  #put(key: number, value: Value | undefined, ttl: DurationRole | undefined): void {
    const { value: role } = this.#parts;
    if (value === undefined || role === undefined || !isSame(value, this.#value(key))) {
      throw new NotUnderstood();
    }
    this.#changeEnd(key, ttl, false);
  }

  #expire(args: readonly Value[], unit: "ms" | "s"): Value {
    const [first, ttl, ...options] = args;
    const key = keyOf(first);
    if (options.length > 0) throw new NotUnderstood();
    if (!this.#isHeld(key)) return constant(0);
    this.#changeEnd(key, durationOf(ttl, unit), true);
    return constant(1);
  }

  #changeEnd(key: number, ttl: DurationRole | undefined, mayRelease: boolean): void {
    const act = this.#act(key);
    const state = this.#state(key);
    if (act.kind === "release" || (ttl?.mode === "added" && act.kind !== "none")) {
      throw new NotUnderstood();
    }
    if (state === "absent") {
      if (ttl?.mode === "added") throw new NotUnderstood();
      this.acts[key - 1] = { kind: "take", ttl };
    } else if (state === "other" || this.#parts.value === undefined) {
      throw new NotUnderstood();
    } else {
      this.acts[key - 1] = { kind: "extend", ttl, mayRelease };
    }
  }

  #delete(args: readonly Value[]): Value {
    let count = 0;
    for (const arg of args) {
      const key = keyOf(arg);
      if (!this.#isHeld(key)) continue;
      if (this.#act(key).kind !== "none" || this.#state(key) === "other") throw new NotUnderstood();
      if (this.#parts.value === undefined) throw new NotUnderstood();
      this.acts[key - 1] = { kind: "release" };
      count += 1;
    }
    return constant(count);
  }

  #publish(args: readonly Value[]): Value {
    const [channel, message, ...more] = args;
    if (channel === undefined || message === undefined || more.length > 0) unknown();
    if (this.publications.length === PUBLICATIONS_MAX) unknown();
    const publication = { channel: partsOf(channel), message: partsOf(message) };
    // That a lock is free again is news of that lock, which only its holder can make.
    const isOfKey = [...publication.channel, ...publication.message].some((part) => "key" in part);
    if (!isOfKey || !this.acts.some(({ kind }) => kind === "release")) unknown();
    this.publications.push(publication);
    return symbol("subscribers");
  }
}

function unknown(): never {
  throw new NotUnderstood();
}

function keyOf(value: Value | undefined): number {
  if (value?.kind !== "key") throw new NotUnderstood();
  return value.at;
}

function onlyKey(args: readonly Value[]): number {
  if (args.length !== 1) throw new NotUnderstood();
  return keyOf(args[0]);
}

function pairsOf(args: readonly Value[]): readonly (readonly [number, Value])[] {
  const pairs: [number, Value][] = [];
  for (let at = 0; at < args.length; at += 2) pairs.push([keyOf(args[at]), args[at + 1] ?? NIL]);
  return pairs;
}

function wordOf(value: Value | undefined): string {
  if (value?.kind !== "constant" || typeof value.value !== "string") throw new NotUnderstood();
  return value.value.toUpperCase();
}

/** Lua compares no number with a text, which an argument is. */
export function isNumber(value: Value): value is Value & { kind: "argument" } {
  return value.kind === "argument" && value.isNumber;
}

function isRemaining(value: Value): boolean {
  return value.kind === "symbol" && value.name === "remaining";
}

function isRemainingMs(value: Value): boolean {
  return isSame(value, symbol("remaining", constant("ms")));
}

/** What an argument is compared with; `undefined`: it is never equal to that. */
function comparable(
  isNumber: boolean,
  to: string | number | boolean | null,
): string | number | undefined {
  if (isNumber) return typeof to === "number" ? to : undefined;
  if (to === null) throw new NotUnderstood();
  return typeof to === "string" ? to : undefined;
}

function isOfHeld(value: Value): boolean {
  if (value.kind !== "symbol") return false;
  return value.name === "held" || (value.name === "sub" && isOfHeld(value.parts[0] ?? NIL));
}

/** An argument; seconds as `ARGV[n] * 1000`; an argument and what remains. */
export function durationOf(value: Value | undefined, unit: "ms" | "s"): DurationRole {
  if (value?.kind === "argument" && !value.each) {
    return { argument: value.at, unit, mode: "fromNow" };
  }
  if (value?.kind !== "symbol") throw new NotUnderstood();
  const [left, right] = value.parts;
  if (left === undefined || right === undefined) throw new NotUnderstood();
  const [argument, other] = left.kind === "argument" ? [left, right] : [right, left];
  if (argument.kind !== "argument" || argument.each) throw new NotUnderstood();
  if (value.name === "*" && unit === "ms" && isSame(other, SECONDS)) {
    return { argument: argument.at, unit: "s", mode: "fromNow" };
  }
  if (value.name === "+" && isSame(other, symbol("remaining", constant(unit)))) {
    return { argument: argument.at, unit, mode: "added" };
  }
  throw new NotUnderstood();
}

function partsOf(value: Value): readonly TextPart[] {
  if (value.kind === "symbol" && value.name === "..") return value.parts.flatMap(partsOf);
  if (value.kind === "key") return [{ key: value.at }];
  if (value.kind === "constant" && typeof value.value !== "boolean" && value.value !== null) {
    return [{ text: String(value.value) }];
  }
  if (value.kind === "argument" && !value.each && typeof value.at === "number") {
    return [{ argument: value.at }];
  }
  throw new NotUnderstood();
}
