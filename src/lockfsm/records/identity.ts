/**
 * Who may do what: an identity, the credentials that prove it, and what it was granted. A grant is for
 * one key or for all keys that begin in one way; each level includes those below. Nothing is denied:
 * the highest level that covers a key counts. Lists are replaced and not changed, so that a snapshot
 * keeps what it saw.
 */
import { ACCESS_LEVEL, type CredentialKind } from "../../protocol/index.js";
import { compareByteOrder } from "../structures/byte-order.js";

export const CREDENTIALS_PER_IDENTITY_MAX = 16;
export const GRANTS_PER_IDENTITY_MAX = 256;
const CODE_UNIT_MAX = 0xffff;

/** One key, or all keys that begin so. */
export interface KeyRange {
  readonly key: string;
  readonly isPrefix: boolean;
}

export interface Grant extends KeyRange {
  /** One of `ACCESS_LEVEL`, above `none`. */
  readonly level: number;
}

/** What a connection shows to speak for an identity. */
export class Credential {
  /** 1 … `CREDENTIAL_MAX`, never used again; or one of the two that are in no table. */
  readonly number: number;
  readonly identity: Identity;
  /** Names it among the credentials of its identity. */
  readonly label: string;
  readonly kind: CredentialKind;
  /** For a token, 64 hex digits; otherwise "". */
  readonly digest: string;
  /** From when on nodes let nobody in by it; 0: never. The table does not look at it. */
  readonly expiresWallMs: number;
  readonly createdWallMs: number;
  /** Sessions that were attached by it are attached to nobody any more. */
  isRemoved = false;

  constructor(
    identity: Identity,
    number: number,
    of: Pick<Credential, "label" | "kind" | "digest" | "expiresWallMs" | "createdWallMs">,
  ) {
    this.identity = identity;
    this.number = number;
    this.label = of.label;
    this.kind = of.kind;
    this.digest = of.digest;
    this.expiresWallMs = of.expiresWallMs;
    this.createdWallMs = of.createdWallMs;
  }

  /** What a session refers to whose credential is gone. */
  static removed(identity: Identity, number: number): Credential {
    const nothing = { label: "", digest: "", expiresWallMs: 0, createdWallMs: 0 } as const;
    const credential = new Credential(identity, number, { kind: "token", ...nothing });
    credential.isRemoved = true;
    return credential;
  }
}

export class Identity {
  /** Never used again. */
  readonly number: number;
  readonly name: string;
  /** In the order of their labels. */
  credentials: readonly Credential[] = [];
  /** In the order in which they were set. */
  grants: readonly Grant[] = [];
  /** The level that covers every key. */
  everywhere: number = ACCESS_LEVEL.none;
  /** The highest level of all grants. */
  highest: number = ACCESS_LEVEL.none;
  /** Its sessions are dead, and may still stand in the table. */
  isRemoved = false;
  /** What counts against it, kept with every change (semantics.md, 12.13). */
  sessionCount = 0;
  /** Holds and cooldowns. */
  holdCount = 0;
  waitCount = 0;
  /** The size of all these; see `sizes.ts`. */
  bytes = 0;
  /** Made from the grants when first needed. */
  #levels: readonly LevelFrom[] | undefined = undefined;

  constructor(number: number, name: string) {
    this.number = number;
    this.name = name;
  }

  countHolds(holds: number, bytes: number): void {
    this.holdCount += holds;
    this.bytes += bytes;
  }

  /** What covers the key, of `ACCESS_LEVEL`. */
  levelOf(key: string): number {
    this.#levels ??= levelsOf(this.grants);
    const levels = this.#levels;
    let low = 0;
    let high = levels.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((levels[middle] as LevelFrom).key <= key) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? ACCESS_LEVEL.none : (levels[low - 1] as LevelFrom).level;
  }

  /** What covers every key that begins so. */
  levelOfAll(prefix: string): number {
    let level: number = ACCESS_LEVEL.none;
    for (const grant of this.grants) {
      if (grant.isPrefix && prefix.startsWith(grant.key)) level = Math.max(level, grant.level);
    }
    return level;
  }

  /** What it may observe, in the order of bytes; nothing lies within another. */
  get observable(): readonly KeyRange[] {
    const ranges: KeyRange[] = [];
    const sorted = [...this.grants].sort((left, right) => {
      const order = compareByteOrder(left.key, right.key);
      return order === 0 ? Number(right.isPrefix) - Number(left.isPrefix) : order;
    });
    for (const grant of sorted) {
      const last = ranges.at(-1);
      const isWithin = last?.isPrefix === true && grant.key.startsWith(last.key);
      if (!isWithin && last?.key !== grant.key) ranges.push(grant);
    }
    return ranges;
  }

  findGrant(key: string, isPrefix: boolean): Grant | undefined {
    return this.grants.find((grant) => grant.key === key && grant.isPrefix === isPrefix);
  }

  findCredential(label: string): Credential | undefined {
    return this.credentials.find((credential) => credential.label === label);
  }

  /** Replaces all grants; no two are of one key, or of one prefix. */
  setGrants(grants: readonly Grant[]): void {
    this.grants = grants;
    this.everywhere = ACCESS_LEVEL.none;
    this.highest = ACCESS_LEVEL.none;
    for (const { key, isPrefix, level } of grants) {
      this.highest = Math.max(this.highest, level);
      if (isPrefix && key === "") this.everywhere = level;
    }
    this.#levels = undefined;
  }
}

/** The level of the keys from this one up to the next, in the order of their code units. */
interface LevelFrom {
  readonly key: string;
  readonly level: number;
}

/** Each grant is a range of that order, so a level is found by bisection, however many there are. */
function levelsOf(grants: readonly Grant[]): LevelFrom[] {
  const bounds = new Set<string>();
  for (const { key, isPrefix } of grants) {
    const end = isPrefix ? endOfPrefix(key) : `${key}\0`;
    bounds.add(key);
    if (end !== undefined) bounds.add(end);
  }
  return [...bounds].sort().map((key) => ({ key, level: highestOf(grants, key) }));
}

function highestOf(grants: readonly Grant[], key: string): number {
  let highest: number = ACCESS_LEVEL.none;
  for (const grant of grants) {
    const isCovered = grant.isPrefix ? key.startsWith(grant.key) : key === grant.key;
    if (isCovered) highest = Math.max(highest, grant.level);
  }
  return highest;
}

/** The first text after all that begin so; `undefined`: there is none. */
function endOfPrefix(prefix: string): string | undefined {
  let length = prefix.length;
  while (length > 0 && prefix.charCodeAt(length - 1) === CODE_UNIT_MAX) length -= 1;
  if (length === 0) return undefined;
  return prefix.slice(0, length - 1) + String.fromCharCode(prefix.charCodeAt(length - 1) + 1);
}
