/**
 * The memory of the naive model, and its two ways to speak. The rules are in the files that are named
 * after them; see `model.ts`.
 */
import type { TableOutbox, TableSettings } from "../../../src/lockfsm/index.js";
import type { AccessLevel, SessionMessage } from "../../../src/protocol/index.js";
import { TOKEN_MIN } from "../../../src/protocol/index.js";
import type {
  ModelCooldown,
  ModelEndedLease,
  ModelHold,
  ModelRequest,
  ModelSemaphore,
  ModelSession,
  ModelTask,
  NamedCycle,
} from "./records.js";
import { foundersOf, itemIn, type ModelCredential, type ModelIdentity } from "./records.js";

type ModelWork = string | ModelSession | ModelIdentity;

/** Keeps what was said: cycles are known by their place in it. */
export interface ModelOutbox extends TableOutbox {
  readonly said: readonly unknown[];
}

export class Model {
  /** The index of the entry that is applied. */
  index = 0;
  stamp = 0;
  wallMs = 0;
  settings: TableSettings;
  /** In the order of their numbers. */
  sessions: ModelSession[] = [];
  /** In the one total order. */
  requests: ModelRequest[] = [];
  /** In the order of tokens. */
  holds: ModelHold[] = [];
  cooldowns: ModelCooldown[] = [];
  semaphores: ModelSemaphore[] = [];
  /** The last one of each key and owner, in the order in which they ended. */
  endedLeases: ModelEndedLease[] = [];
  /** Keys in which there is more to do, and ended sessions that still have something. */
  work: ModelWork[] = [];
  /** How many more units this step may do before the rest goes to `work`. */
  budget = 0;
  /** Tasks that got something: requests that wait for them may now wait forever. */
  suspects: ModelTask[] = [];
  deadlocks = 0;
  /** Refusals of the table in this entry, in order. */
  named: readonly NamedCycle[] = [];
  /** What of these was wrong, or is missing. */
  complaints: string[] = [];
  outbox: ModelOutbox | undefined = undefined;
  /** Before it nobody gets a session. */
  quietUntil = 0;
  /** When the cluster before this one was last seen; 0: there was none, or that is settled. */
  leftAtMs = 0;
  /** Without those that were removed. */
  identities: ModelIdentity[];
  credentials: ModelCredential[];
  nextCredential = 1;
  accessRevision = 0;
  /** How many state orders were executed, by what they change. */
  readonly orders = { limits: 0, rest: 0 };
  readonly refused: Record<AccessLevel, number> = {
    ...{ none: 0, observe: 0, acquire: 0, operate: 0, admin: 0 },
  };
  readonly limited = { sessions: 0, claims: 0, bytes: 0, waiters: 0 };
  nextNumber = 1;
  nextToken = 0;

  constructor(settings: TableSettings) {
    this.settings = settings;
    ({ identities: this.identities, credentials: this.credentials } = foundersOf());
  }

  /** The first token of all is fixed by the wall clock of the first entry. */
  begin(wallMs: number): void {
    this.wallMs = wallMs;
    const clocked = Math.max(TOKEN_MIN, Math.floor(wallMs / 1_000) * 2 ** 21);
    if (this.nextToken === 0) this.nextToken = clocked;
    else if (this.leftAtMs > 0) {
      const seconds = Math.floor(wallMs / 1_000) - Math.floor(this.leftAtMs / 1_000);
      this.nextToken = Math.max(clocked, this.nextToken + Math.max(0, seconds) * 2 ** 21);
    }
    this.leftAtMs = 0;
  }

  takeNumber(): number {
    return this.nextNumber++;
  }

  /** But for requests that wait already. */
  get hasNoTokens(): boolean {
    return this.nextToken >= 2 ** 53 - 2 ** 32;
  }

  takeToken(): number {
    return this.nextToken++;
  }

  isAlive({ endedBy, expiresAt, forced, identity }: ModelSession): boolean {
    if (endedBy !== undefined || expiresAt <= this.stamp || identity.isRemoved) return false;
    return forced === undefined || forced.at > this.stamp;
  }

  /** Nobody hears what is said of a hold of an owner, nor what is said to a session after its end. */
  say(session: ModelSession | undefined, message: SessionMessage): void {
    if (session === undefined || session.endedBy !== undefined) return;
    this.outbox?.toSession(session.id, session.epoch, message);
  }

  /** Whether a claim only stands there until it is swept: it is due, or its session is. */
  isOver(claim: ModelRequest | ModelHold): boolean {
    const endsAt =
      "deadline" in claim ? claim.deadline : (claim.end?.at ?? Number.POSITIVE_INFINITY);
    return endsAt <= this.stamp || (claim.session !== undefined && !this.isAlive(claim.session));
  }

  /** The refusal that the table said where the model is about to say its next word. */
  get namedNext(): NamedCycle | undefined {
    return this.named.find(({ at }) => at === this.outbox?.said.length);
  }

  /** A key or a session stands in it once. */
  addWork(work: ModelWork): void {
    if (!this.work.includes(work)) this.work.push(work);
  }

  semaphoreOf(key: string): ModelSemaphore | undefined {
    return this.semaphores.find((semaphore) => semaphore.key === key);
  }

  /** Whether a key is known as something: a lock or a semaphore. */
  isInUse(key: string): boolean {
    const claims = [...this.holds, ...this.requests, ...this.cooldowns];
    return claims.some((claim) => itemIn(claim, key)) || this.work.includes(key);
  }

  /** A key that is not in use any more is whatever its next use makes of it. */
  forgetUnused(): void {
    this.semaphores = this.semaphores.filter(({ key, isSet }) => isSet || this.isInUse(key));
  }
}
