/**
 * Elections. The leader is the holder of the exclusive lock with the election's name, and the value
 * of the hold says who that is. A watch tells an observer when to look, and then the current state
 * is read, so that a former leader is never shown as the current one.
 */
import { HoldfastError } from "../../errors/index.js";
import { isValidKey, type KeyView, OP } from "../../protocol/index.js";
import { type CallOptions, requireText, signalOf } from "../options/checks.js";
import { type CampaignOptions, requireCampaign, resolveAcquire } from "../options/lock-options.js";
import type { Question, WatchWish } from "../options/view-options.js";
import type { Change, WatchStream } from "../reads/watch-stream.js";
import { HeldLock } from "./held-lock.js";
import type { Lock, ReleaseResult } from "./lock.js";
import type { Locks } from "./locks.js";

/** The leader of an election. */
export interface Leader {
  /** The value of `campaign` or of the last `proclaim`. */
  readonly value: string;
  /** The fencing token of its term. */
  readonly token: number;
  readonly session: number;
  readonly sessionName: string;
  /** The name of the identity of the session. */
  readonly identity: string;
}

/** A term: the lock of the election, held. Its `token` is the term's fencing token. */
export interface Leadership extends Lock {
  /** Changes the value that others see. Rejects like `update`. */
  proclaim(value: string, options?: CallOptions): Promise<void>;
  /** Ends the term; the next candidate leads. Resolves like `release`. */
  resign(): Promise<ReleaseResult>;
}

/** Candidates lead one after the other, in the order in which they campaigned. */
export interface Election {
  readonly name: string;
  /**
   * Waits for leadership and leads with `value` (at most 1 KiB) until it resigns or loses the lock.
   * Rejects like `acquire`.
   */
  campaign(value: string, options?: CampaignOptions): Promise<Leadership>;
  /**
   * The leader: at once, and again each time the leader or its value changes; `undefined` while
   * there is none. A term that ended before it was read is skipped. Continues after reconnects
   * until the loop is left, `signal` is aborted or the client is closed.
   */
  observe(options?: CallOptions): AsyncGenerator<Leader | undefined, void, undefined>;
  /** The current leader; linearizable. `UNAVAILABLE` without an answer in `connectTimeoutMs`. */
  leader(options?: CallOptions): Promise<Leader | undefined>;
}

/** Changes after which the leader or its value may be another one. */
const LEADER_CHANGES: ReadonlySet<Change["type"]> = new Set<Change["type"]>([
  "granted",
  "converted",
  "updated",
  "moved",
  "ended",
]);

/** What an election needs from its session. */
export interface ElectionSession {
  readonly locks: Locks;
  ask(question: Question, signal: AbortSignal | undefined): Promise<unknown>;
  watch(wish: WatchWish): WatchStream;
}

class Term extends HeldLock implements Leadership {
  proclaim(value: string, options?: CallOptions): Promise<void> {
    return this.update(value, options);
  }

  resign(): Promise<ReleaseResult> {
    return this.release();
  }
}

export class NamedElection implements Election {
  readonly name: string;
  readonly #session: ElectionSession;

  constructor(session: ElectionSession, name: string) {
    requireText(name, "name", isValidKey);
    this.#session = session;
    this.name = name;
  }

  async campaign(value: string, options: CampaignOptions = {}): Promise<Leadership> {
    requireCampaign(value, options);
    const { locks } = this.#session;
    const task = locks.resolveTask(options.task);
    const wish = resolveAcquire(this.name, { ...options, value }, task, "acquire");
    const term = await locks.request({ ...wish, makeLock: (...made) => new Term(...made) });
    return term as Term;
  }

  /** Options are checked now, not when the loop begins. */
  observe(options?: CallOptions): AsyncGenerator<Leader | undefined, void, undefined> {
    return this.#observe(signalOf(options));
  }

  async *#observe(
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Leader | undefined, void, undefined> {
    let told: Leader | undefined | null = null;
    for (;;) {
      const wish = { key: this.name, isPrefix: false, after: undefined, signal };
      const watch = this.#session.watch(wish);
      try {
        await watch.begun;
        do {
          // Everything that the watch has told so far is part of what is read.
          watch.discard();
          const leader = await this.#look(signal);
          if (told === null || !isSame(told, leader)) {
            told = leader;
            yield leader;
          }
        } while (await hasNews(watch));
        return;
      } catch (error) {
        // Too far behind: only the current state matters.
        if (!isOfCode(error, "COMPACTED")) throw error;
      } finally {
        await watch.return();
      }
    }
  }

  async leader(options?: CallOptions): Promise<Leader | undefined> {
    const question = { op: OP.inspect, key: this.name } as const;
    return leaderOf((await this.#session.ask(question, signalOf(options))) as KeyView);
  }

  /** Waits even if no node serves for a long time. */
  async #look(signal: AbortSignal | undefined): Promise<Leader | undefined> {
    for (;;) {
      try {
        return await this.leader(signal === undefined ? undefined : { signal });
      } catch (error) {
        if (!isOfCode(error, "UNAVAILABLE")) throw error;
      }
    }
  }
}

/** Resolves to false when the watch is over. */
async function hasNews(watch: WatchStream): Promise<boolean> {
  for (;;) {
    const { done, value } = await watch.next();
    if (done === true) return false;
    if (LEADER_CHANGES.has(value.type)) return true;
  }
}

function leaderOf({ holds }: KeyView): Leader | undefined {
  // What a bearer has leads nothing until it is adopted.
  const hold = holds.find(({ mode, holder }) => mode === "exclusive" && holder !== "bearer");
  if (hold === undefined) return undefined;
  const { value, token, session, sessionName, identity } = hold;
  return { value, token, session, sessionName, identity };
}

function isSame(one: Leader | undefined, other: Leader | undefined): boolean {
  return one?.token === other?.token && one?.value === other?.value;
}

function isOfCode(error: unknown, code: HoldfastError["code"]): boolean {
  return error instanceof HoldfastError && error.code === code;
}
