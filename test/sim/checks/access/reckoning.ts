/**
 * Who may do what, recomputed from the commands that the log carried out: every question is a scan
 * of all grants, and nothing of the table's own code is used. Every state is kept, with the entry
 * from which on it was so, because a read is judged by the states that it may have seen.
 */
import type { LockTable } from "../../../../src/lockfsm/index.js";
import {
  type AccessCommand,
  LOCAL_CREDENTIAL,
  NO_CREDENTIAL,
  OP,
  QUERY_PAGE_MAX,
} from "../../../../src/protocol/index.js";

/** A ladder: each includes those before it. */
const LADDER = ["none", "observe", "acquire", "operate", "admin"] as const;
export type Level = (typeof LADDER)[number];

export const ANONYMOUS_PERSON = 0;
const LOCAL_PERSON = 1;

interface Grant {
  readonly key: string;
  readonly isPrefix: boolean;
  readonly level: Level;
}

interface Proof {
  readonly number: number;
  readonly label: string;
  readonly content: string;
  readonly digest: string | undefined;
}

/** An identity: another one of the same name is another person. */
interface Person {
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly proofs: readonly Proof[];
}

/** What is so from an entry on. */
export interface AccessState {
  readonly index: number;
  readonly people: ReadonlyMap<number, Person>;
}

const EVERYTHING: readonly Grant[] = [{ key: "", isPrefix: true, level: "admin" }];

export class Reckoning {
  readonly #states: AccessState[] = [
    {
      index: 0,
      people: new Map([
        [ANONYMOUS_PERSON, { name: "anonymous", grants: EVERYTHING, proofs: [] }],
        [LOCAL_PERSON, { name: "local", grants: EVERYTHING, proofs: [] }],
      ]),
    },
  ];
  #nextPerson = LOCAL_PERSON + 1;
  #nextProof = 1;

  /** The reckoning of a cluster restored from this one: grants stay, all credentials are gone. */
  outlived(index: number): Reckoning {
    const next = new Reckoning();
    const people = [...this.now.people].map(([number, person]) => {
      return [number, { ...person, proofs: [] }] as const;
    });
    next.#states[0] = { index, people: new Map(people) };
    next.#nextPerson = this.#nextPerson;
    next.#nextProof = this.#nextProof;
    return next;
  }

  get now(): AccessState {
    return this.#states.at(-1) as AccessState;
  }

  /** From what a table shows of everybody. */
  differenceFrom(table: Pick<LockTable, "listIdentities">): string | undefined {
    const { identities } = table.listIdentities(undefined, QUERY_PAGE_MAX);
    const shown = identities.map(({ name, grants, credentials }) => {
      return wordOf(name, grants, credentials);
    });
    const right = [...this.now.people.values()].map(({ name, grants, proofs }) => {
      return wordOf(name, grants, proofs);
    });
    const [one, other] = [shown, right].map((words) => words.sort().join("; "));
    return one === other ? undefined : `the table knows ${one}, right is ${other}`;
  }

  /** Whether nobody was ever made, and nothing given or taken. */
  get isUntouched(): boolean {
    return this.#states.length === 1;
  }

  /** What was so at some moment from the entry `from` on. */
  since(from: number): readonly AccessState[] {
    const at = this.#states.findLastIndex(({ index }) => index <= from);
    return this.#states.slice(Math.max(0, at));
  }

  /** The command was answered with ok. Returns the person who is no more by that. */
  carryOut(index: number, command: AccessCommand): number | undefined {
    const number = personNamed(this.now, command.name);
    const person = number === undefined ? undefined : this.now.people.get(number);
    if (command.op === OP.putIdentity) {
      if (person !== undefined) return undefined;
      this.#put(index, this.#nextPerson, { name: command.name, grants: [], proofs: [] });
      this.#nextPerson += 1;
      return undefined;
    }
    if (number === undefined || person === undefined) return undefined;
    if (command.op === OP.removeIdentity) {
      this.#put(index, number, undefined);
      return number;
    }
    if (command.op === OP.setGrant) {
      const { key, isPrefix, level } = command;
      const others = person.grants.filter((grant) => !isSame(grant, command));
      const grants = level === "none" ? others : [...others, { key, isPrefix, level }];
      this.#put(index, number, { ...person, grants });
      return undefined;
    }
    const before = person.proofs.find(({ label }) => label === command.label);
    const others = person.proofs.filter((proof) => proof !== before);
    if (command.op === OP.removeCredential) {
      this.#put(index, number, { ...person, proofs: others });
      return undefined;
    }
    const { label, kind, digest, expiresWallMs } = command;
    const content = `${kind} ${digest} ${expiresWallMs}`;
    if (before?.content === content) return undefined;
    const proof = { number: this.#nextProof, label, content, digest };
    this.#nextProof += 1;
    this.#put(index, number, { ...person, proofs: [...others, proof] });
    return undefined;
  }

  #put(index: number, number: number, person: Person | undefined): void {
    const people = new Map(this.now.people);
    if (person === undefined) people.delete(number);
    else people.set(number, person);
    this.#states.push({ index, people });
  }
}

function wordOf(
  name: string,
  grants: readonly Grant[],
  proofs: readonly { readonly label: string }[],
): string {
  const granted = grants.map(({ key, isPrefix, level }) => `${level} ${key}${isPrefix ? "*" : ""}`);
  const labels = proofs.map(({ label }) => label);
  return `${name} (${granted.sort().join()}) by (${labels.sort().join()})`;
}

function isSame(one: Grant, other: Grant): boolean {
  return one.key === other.key && one.isPrefix === other.isPrefix;
}

function reaches(level: Level, wanted: Level): boolean {
  return LADDER.indexOf(level) >= LADDER.indexOf(wanted);
}

function grantsOf({ people }: AccessState, person: number | undefined): readonly Grant[] {
  return person === undefined ? [] : (people.get(person)?.grants ?? []);
}

function personNamed({ people }: AccessState, wanted: string): number | undefined {
  for (const [number, { name }] of people) if (name === wanted) return number;
  return undefined;
}

export function nameOf({ people }: AccessState, person: number | undefined): string | undefined {
  return person === undefined ? undefined : people.get(person)?.name;
}

/** Whom a credential speaks for; `undefined`: it is gone. */
export function personBy({ people }: AccessState, credential: number): number | undefined {
  if (credential === NO_CREDENTIAL) return ANONYMOUS_PERSON;
  if (credential === LOCAL_CREDENTIAL) return LOCAL_PERSON;
  for (const [number, { proofs }] of people) {
    if (proofs.some((proof) => proof.number === credential)) return number;
  }
  return undefined;
}

/** Whom the token with this SHA-256 speaks for; `undefined`: nobody shows any. */
export function personShowing(state: AccessState, digest: string | undefined): number | undefined {
  if (digest === undefined) return ANONYMOUS_PERSON;
  for (const [number, { proofs }] of state.people) {
    if (proofs.some((proof) => proof.digest === digest)) return number;
  }
  return undefined;
}

/** The number of the credential with this SHA-256. */
export function numberShowing(state: AccessState, digest: string | undefined): number | undefined {
  if (digest === undefined) return NO_CREDENTIAL;
  const proofs = [...state.people.values()].flatMap((person) => person.proofs);
  return proofs.find((proof) => proof.digest === digest)?.number;
}

export function may(
  state: AccessState,
  person: number | undefined,
  wanted: Level,
  key: string,
): boolean {
  return grantsOf(state, person).some((grant) => {
    const isCovered = grant.isPrefix ? key.startsWith(grant.key) : key === grant.key;
    return isCovered && reaches(grant.level, wanted);
  });
}

/** Of all keys that begin so. */
export function mayAll(
  state: AccessState,
  person: number | undefined,
  wanted: Level,
  prefix: string,
): boolean {
  return grantsOf(state, person).some((grant) => {
    return grant.isPrefix && prefix.startsWith(grant.key) && reaches(grant.level, wanted);
  });
}

export function mayEverywhere(
  state: AccessState,
  person: number | undefined,
  wanted: Level,
): boolean {
  return mayAll(state, person, wanted, "");
}

export function maySomewhere(
  state: AccessState,
  person: number | undefined,
  wanted: Level,
): boolean {
  return grantsOf(state, person).some((grant) => reaches(grant.level, wanted));
}
