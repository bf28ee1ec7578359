/**
 * The calls of one process of an application: each is followed until it is answered; its result is
 * compared with the log, and the error with which it failed, with what is documented.
 */

import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { Lock } from "../../../../src/client/index.js";
import { type ErrorCode, HoldfastError } from "../../../../src/errors/index.js";
import type { CallEnding, ClientWatch } from "../client-watch.js";
import type { WorldClient } from "../world-client.js";

/** What calls fail with that ask for no lock. */
const KNOWN_CODES: readonly ErrorCode[] = [
  "LOCK_HELD",
  "LOCK_TIMEOUT",
  "LOCK_LOST",
  "DEADLOCK",
  "WRONG_KIND",
  "NOT_HELD",
  "SESSION_EXPIRED",
  "QUOTA",
  "BUSY",
  "DISK_FULL",
  "UNAVAILABLE",
  "FORBIDDEN",
  "CANCELLED",
];

/** `NOT_HELD` is about keys that a lock does not have: of one that is lost, its calls say why. */
export const CODES_OF_A_LOCK: readonly ErrorCode[] = KNOWN_CODES.filter((code) => {
  return code !== "NOT_HELD";
});

/** What a client hears in addition that is not known, or not any more. */
const STRANGER_CODES: readonly ErrorCode[] = ["UNAUTHENTICATED", "PROTOCOL"];

/** Errors that the SDK reports only after it has tried again for a TTL. */
const TRIED_CODES: readonly ErrorCode[] = ["BUSY", "DISK_FULL"];
/** Less than any clock drifts. */
const PATIENCE_RATIO = 0.99;

/** A call that was not answered yet. */
export interface OpenCall {
  readonly what: string;
  /** The task that stands still meanwhile; 0: none. */
  readonly task: number;
  /** To give it up with. */
  readonly controller?: AbortController;
  /** The task gave everything back before it asked: it is never in its own way. */
  readonly hasNothing?: boolean;
  /** What it asks for, if the log knows it by that alone. */
  readonly wish?: string;
  /** What it may fail with, if that is less than usual. */
  readonly codes?: readonly ErrorCode[];
}

export class SdkCalls {
  readonly #client: WorldClient;
  readonly #watch: ClientWatch;
  readonly #life: ProcessLife;
  readonly #ttlMs: number;
  readonly #mayBeRefused: () => boolean;
  readonly #open = new Set<OpenCall>();

  constructor(
    client: WorldClient,
    watch: ClientWatch,
    life: ProcessLife,
    ttlMs: number,
    mayBeRefused: () => boolean,
  ) {
    this.#client = client;
    this.#watch = watch;
    this.#life = life;
    this.#ttlMs = ttlMs;
    this.#mayBeRefused = mayBeRefused;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** For people. */
  get names(): string {
    return [...this.#open].map(({ what }) => what).join(", ");
  }

  isOpen(wanted: string): boolean {
    return [...this.#open].some(({ what }) => what === wanted);
  }

  /** Those that can be given up. */
  get waits(): readonly OpenCall[] {
    return [...this.#open].filter(({ controller }) => controller !== undefined);
  }

  /** Something has no answer that does not wait for others. */
  get isAsking(): boolean {
    return [...this.#open].some(({ controller }) => controller === undefined);
  }

  /** Whether a task stands still until something is answered. */
  isBlocked(task: number): boolean {
    return [...this.#open].some((call) => call.task === task);
  }

  /** Whether a task waits for an answer that it still wants. */
  isWanted(task: number): boolean {
    return [...this.#open].some((call) => {
      return call.task === task && call.controller?.signal.aborted !== true;
    });
  }

  /** Follows a call that asks for a lock; `marker`: the value by which the log knows it. */
  ask(
    call: OpenCall,
    marker: string,
    lock: Promise<Lock | undefined>,
    onLock: (lock: Lock) => void,
  ): void {
    const { timeline } = this.#life;
    const askedMs = timeline.nowMs;
    const end = (ending: CallEnding): void => this.#watch.onCallEnded(marker, ending);
    const onAnswer = (given: Lock | undefined): void => {
      if (given === undefined) end({ kind: "none" });
      else {
        end({ kind: "granted", token: given.token });
        onLock(given);
      }
    };
    this.track(call, lock, onAnswer, (error) => {
      if (isGivenUp(call, error)) end({ kind: "aborted" });
      else if (error instanceof HoldfastError) {
        end({
          kind: "failed",
          code: error.code,
          isDefinite: error.code === "LOCK_LOST" || isDefinite(error),
        });
        if (call.hasNothing === true && isOwnDeadlock(error)) {
          this.broken("program order", `${call.what} waits for what was given back before it`);
        }
        if (STRANGER_CODES.includes(error.code)) this.judge(call.what, error);
        const wasQuick = timeline.nowMs - askedMs < this.#ttlMs * PATIENCE_RATIO;
        if (TRIED_CODES.includes(error.code) && wasQuick) {
          this.broken("every call is answered as documented", `${error.code} within a TTL`);
        }
      } else this.judge(call.what, error);
    });
  }

  /** Follows any call until it is answered. */
  track<T>(
    call: OpenCall,
    answer: Promise<T>,
    onAnswer: (value: T) => void,
    onError: (error: unknown) => void = (error) => {
      if (!isGivenUp(call, error)) this.judge(call.what, error, call.codes);
    },
  ): void {
    this.#open.add(call);
    const { wish } = call;
    if (wish !== undefined) this.#watch.onMade(this.#client, wish);
    this.#watch.onNote(this.#client, `calls: ${call.what}`);
    const settled = (task: () => void): void => {
      if (!this.#life.isAlive) return;
      this.#open.delete(call);
      task();
    };
    answer.then(
      (value) => settled(() => onAnswer(value)),
      (error) => {
        settled(() => {
          if (wish !== undefined && error instanceof HoldfastError && isDefinite(error)) {
            this.#watch.onDenied(this.#client, wish);
          }
          onError(error);
        });
      },
    );
  }

  /** Whether something may fail so. */
  judge(what: string, error: unknown, known: readonly ErrorCode[] = KNOWN_CODES): void {
    if (error instanceof HoldfastError) {
      if (known.includes(error.code)) return;
      if (this.#mayBeRefused() && STRANGER_CODES.includes(error.code)) return;
    }
    this.broken("every call is answered as documented", `${what}: ${String(error)}`);
  }

  broken(rule: string, what: string): void {
    this.#watch.onBroken(this.#client, rule, what);
  }
}

function isGivenUp({ controller }: OpenCall, error: unknown): boolean {
  return controller?.signal.aborted === true && error === controller.signal.reason;
}

/** Whether a task is said to wait for itself alone. */
function isOwnDeadlock({ code, details }: HoldfastError): boolean {
  const cycle = code === "DEADLOCK" ? details["cycle"] : undefined;
  return Array.isArray(cycle) && cycle.length === 1;
}

/** Whether an error says that the call was not carried out, and will not be. */
function isDefinite({ code, details }: HoldfastError): boolean {
  const known = details["indeterminate"];
  return known === undefined ? code === "BUSY" || code === "DISK_FULL" : known === false;
}
