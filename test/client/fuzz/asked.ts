/**
 * What applications asked for and what they were answered, recorded from the arguments and results
 * of their calls as they could record it themselves. Nothing is taken from a lock but its token at
 * the time of its grant, by which the table knows it.
 */
import type { Client, HandedOver, Lock } from "../../../src/client/index.js";
import { HoldfastError } from "../../../src/errors/index.js";
import type { ClaimMode } from "../../../src/protocol/index.js";
import type { SimulatedPlatform } from "../world/simulated-platform.js";

/** One key of a request or of a lock. */
export interface Asked {
  mode: ClaimMode;
  /** 0 of locks. */
  readonly permits: number;
}

/** A process of an application: a client, and everything it was called for. */
export class Process {
  readonly name: string;
  readonly platform: SimulatedPlatform;
  readonly client: Client;
  readonly tasks: readonly ReturnType<Client["task"]>[];
  /** Holds that left it by a hand-over, and as what they were wanted then. */
  readonly left = new Map<string, ReadonlyMap<string, Asked>>();
  /** It hands over everything, so it calls nothing any more. */
  isLeaving = false;
  /** It ended without a word. */
  isDead = false;

  constructor(name: string, platform: SimulatedPlatform, client: Client, taskCount: number) {
    this.name = name;
    this.platform = platform;
    this.client = client;
    this.tasks = Array.from({ length: taskCount }, () => client.task());
  }

  get canCall(): boolean {
    const isOver = this.isDead || this.isLeaving || this.client.closed.aborted;
    return !isOver && !this.platform.isStopped;
  }
}

export type CallKind =
  | "acquire"
  | "nest"
  | "adopt"
  | "upgrade"
  | "downgrade"
  | "update"
  | "release"
  | "handOver"
  | "depart";

/** One call, in the order in which they were made. */
export interface Call {
  readonly number: number;
  readonly kind: CallKind;
  readonly process: Process;
  /** In the command that carries it out, where it has one: the value of an acquire or update. */
  readonly marker: string;
  /** What an acquire wants, or of which an upgrade is about one. */
  readonly items: ReadonlyMap<string, Asked>;
  /** The lock that it is about. */
  readonly handle: Handle | undefined;
  /** The task that an acquire names. */
  readonly task: number | undefined;
  readonly controller: AbortController;
  readonly atMs: number;
  /** It waited for a connection, and counts from when there was one. */
  isDeferred: boolean;
  /** What it is about was held, as far as its caller knew. */
  readonly isOfHeld: boolean;
  state: "pending" | "done" | "failed";
  /** With which it failed; "" for the reason of its signal, and while it has not failed. */
  code: string;
}

/** A lock that was handed out to a caller. */
export interface Handle {
  readonly lock: Lock;
  /** As the caller kept it. */
  readonly signal: AbortSignal;
  readonly process: Process;
  /** With `sequence` what its hold is known by. */
  readonly session: number;
  readonly sequence: number;
  /** What it is to be held as, by key. */
  readonly asked: Map<string, Asked>;
  /** The caller gave it back, or left it to others. */
  isGiven: boolean;
  /** The call before which it was made shared last, by key. */
  readonly loweredAt: Map<string, number>;
  /** A downgrade failed in a way that does not say whether it happened. */
  isVague: boolean;
  /** Looks at the lock itself, and thereby at the clock, instead of at its signal alone. */
  readonly isCurious: boolean;
}

/** What a hand-over resolved to. */
export interface Left {
  /** Who had it. */
  readonly process: Process;
  readonly handed: HandedOver;
  /** In the order of `handed.holds`. */
  readonly holds: readonly LeftHold[];
  /** How many calls have tried to adopt it. */
  heirs: number;
  /** The call that got something, and was not told to take the rest. */
  adopter: number | undefined;
}

export interface LeftHold {
  readonly secret: string;
  isAdopted: boolean;
}

export interface HoldIdentity {
  readonly session: number;
  readonly sequence: number;
}

export function identityOf(session: number, sequence: number): string {
  return `${session}/${sequence}`;
}

export function codeOf(error: unknown): string {
  return error instanceof HoldfastError ? error.code : "";
}

/** The strongest of what the handles of one hold are to be held as. */
export function neededOf(handles: readonly Handle[]): Map<string, Asked> {
  const needed = new Map<string, Asked>();
  for (const { asked } of handles) {
    for (const [key, { mode, permits }] of asked) {
      const before = needed.get(key);
      const isStronger = before === undefined || (before.mode === "shared" && mode !== "shared");
      if (isStronger) needed.set(key, { mode, permits });
    }
  }
  return needed;
}
