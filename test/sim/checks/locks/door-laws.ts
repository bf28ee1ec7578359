/**
 * What owners at the doors are promised beyond exclusion, once the cluster is calm: an owner that
 * keeps asking is not overtaken by one that came later, and nothing is left of an owner that went
 * away. The laws go by what owners asked and how they were answered, and by the table of the log;
 * never by what a door says of itself.
 */
import type { HoldView, KeyView } from "../../../../src/protocol/index.js";
import type { Fail } from "../violation.js";

/** Until what an election has broken off is begun again. */
const SETTLING_MS = 1_000;
/** With what the value of a hold begins that is a hash. */
const HASH = "~hash ";

/** What the table shows of a hold, by which its owner is known; `field`: one of a hash of Redis. */
export type Mark =
  | { readonly name: string }
  | { readonly value: string }
  | { readonly field: string };

/** One that waits for a key by itself, and keeps asking. */
export interface KeptPlace {
  readonly host: number;
  readonly key: string;
  readonly mark: Mark;
  /** In true time: it was told that it waits. */
  readonly sinceMs: number;
  /** Then. */
  readonly term: number;
}

export class DoorLaws {
  readonly #fail: Fail;
  readonly #viewOf: (key: string) => KeyView;
  readonly #endOf: (token: number) => number | undefined;
  readonly #termOf: () => number;
  #term = 0;
  #settlesMs = 0;
  readonly #places = new Set<KeptPlace>();

  /**
   * `viewOf`: the key in the table of the log. `endOf`: when a lease ends, by the words of the log;
   * `undefined`: it has ended. `termOf`: another one when something has disturbed the calm; 0: there
   * is none.
   */
  constructor(
    fail: Fail,
    viewOf: (key: string) => KeyView,
    endOf: (token: number) => number | undefined,
    termOf: () => number,
  ) {
    this.#fail = fail;
    this.#viewOf = viewOf;
    this.#endOf = endOf;
    this.#termOf = termOf;
  }

  /** As long as it is the same and not 0, nobody stands for an election, and no setting refuses anybody. */
  get term(): number {
    return this.#termOf();
  }

  /** The same, and 0 for a while behind an election. To be asked often. */
  settledTerm(nowMs: number): number {
    const { term } = this;
    if (term !== this.#term) {
      this.#term = term;
      this.#settlesMs = nowMs + SETTLING_MS;
    }
    return nowMs < this.#settlesMs ? 0 : term;
  }

  /** The token under which somebody so marked holds the key; `undefined`: nobody does. */
  tokenOf(key: string, mark: Mark): number | undefined {
    return this.#viewOf(key).holds.find((hold) => isOf(hold, mark))?.token;
  }

  /** All that it asked about the key was refused, and nothing else is on its way. */
  onRefusedAll(key: string, mark: Mark): void {
    const token = this.tokenOf(key, mark);
    if (token === undefined) return;
    this.#fail(
      "what is refused changes nothing",
      `${key} is held by ${textOf(mark)} with ${token}`,
    );
  }

  /**
   * Its owner begins to look at it, and asks for nothing else. Returns what is to be called when the
   * owner has learned what there is.
   */
  onLooking(token: number): () => void {
    const before = this.#endOf(token);
    return () => {
      const after = this.#endOf(token);
      if (after === undefined || after === before) return;
      this.#fail("a look changes nothing", `${token} was to end at ${before}, and is at ${after}`);
    };
  }

  onWaiting(place: KeptPlace): void {
    this.#places.add(place);
  }

  /** It was granted, or does not ask any more. */
  onLeft(place: KeptPlace): void {
    this.#places.delete(place);
  }

  /** `firstAskedMs`: when, in true time, it asked for the key for the first time. */
  onGranted(host: number, key: string, token: number, firstAskedMs: number): void {
    for (const place of this.#places) {
      if (place.key !== key || place.host === host || place.sinceMs >= firstAskedMs) continue;
      if (place.term !== this.term || this.#wasGranted(place, token)) continue;
      const since = `since ${place.sinceMs}`;
      this.#fail(
        "who keeps asking is not overtaken",
        `${key} goes to ${host}, who came at ${firstAskedMs}, and ${place.host} waits ${since}`,
      );
    }
  }

  /** Nobody comes any more who could learn of what has this name, or this value. */
  demandNothing(key: string, mark: Mark): void {
    const { holds, waiters } = this.#viewOf(key);
    const text = textOf(mark);
    const isHeld = holds.some((hold) => isOf(hold, mark));
    const isAwaited = "name" in mark && waiters.some(({ sessionName }) => sessionName === text);
    if (!isHeld && !isAwaited) return;
    this.#fail(
      "nothing is left for nobody",
      `${key} is ${isHeld ? "held" : "awaited"} for ${text}`,
    );
  }

  /** Whether it shares the key under a smaller token, and only its answer is still on the way. */
  #wasGranted({ key, mark }: KeptPlace, token: number): boolean {
    return this.#viewOf(key).holds.some((hold) => isOf(hold, mark) && hold.token < token);
  }
}

function textOf(mark: Mark): string {
  if ("name" in mark) return mark.name;
  return "value" in mark ? mark.value : mark.field;
}

function isOf({ sessionName, value }: HoldView, mark: Mark): boolean {
  if ("name" in mark) return sessionName === mark.name;
  if ("value" in mark) return value === mark.value;
  return value.startsWith(HASH) && value.includes(JSON.stringify(mark.field));
}
