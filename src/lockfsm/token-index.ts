/** Holds by their tokens, and by those tokens that a newer one replaced a while ago. */
import { assert } from "../assert.js";
import { ChainedIndex, mixNumber } from "./chained-index.js";
import { Alias, type Hold } from "./hold.js";

export type TokenEntry = Hold | Alias;

export class TokenIndex extends ChainedIndex<TokenEntry> {
  #aliasCount = 0;

  /** Aliases not counted. */
  get holdCount(): number {
    return this.size - this.#aliasCount;
  }

  get aliasCount(): number {
    return this.#aliasCount;
  }

  /** The hold that has the token now, or had it until its client may have heard of a newer one. */
  find(token: number): Hold | undefined {
    const entry = this.#entryOf(token);
    return entry instanceof Alias ? entry.hold : entry;
  }

  has(token: number): boolean {
    return this.#entryOf(token) !== undefined;
  }

  addAlias(alias: Alias): void {
    this.add(alias);
    this.#aliasCount += 1;
  }

  removeAlias(alias: Alias): void {
    const removed = this.remove(alias);
    assert(removed, () => `${alias.token} is no alias`);
    this.#aliasCount -= 1;
  }

  protected override hashOf(entry: TokenEntry): number {
    return mixNumber(entry.token);
  }

  protected override nextOf(entry: TokenEntry): TokenEntry | undefined {
    return entry.nextByToken;
  }

  protected override setNext(entry: TokenEntry, next: TokenEntry | undefined): void {
    entry.nextByToken = next;
  }

  #entryOf(token: number): TokenEntry | undefined {
    let entry = this.firstOf(mixNumber(token));
    while (entry !== undefined && entry.token !== token) entry = entry.nextByToken;
    return entry;
  }
}
