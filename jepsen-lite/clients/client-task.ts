/**
 * One task of a client process: does one operation after the other and records the invocation and
 * the end of each in the history.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { RandomStream } from "../../lab/random-stream.js";
import { type EventType, historyName, processNumber } from "../history/history-event.js";
import { type Client, type ConnectOptions, connect } from "../sdk.js";
import { seededStream } from "../seeded-stream.js";
import type {
  Operation,
  PlainLocks,
  PlainTask,
  StoreCalls,
  Task,
  Workload,
} from "../workloads/workload.js";
import type { ClientPlan } from "./client-messages.js";
import { failureOf } from "./outcome.js";
import type { EventFields, Recorder } from "./recorder.js";

/**
 * How long a read or a try waits for an answer: short, so that faults cost operations, not time.
 */
const ANSWER_MS_MAX = 3_000;

export interface TaskParts<Locks extends PlainLocks = PlainLocks> {
  readonly plan: ClientPlan;
  readonly workload: Workload;
  readonly keys: readonly string[];
  readonly locks: Locks;
  readonly recorder: Recorder;
  readonly store: StoreCalls;
  readonly signal: AbortSignal;
}

export class PlainClientTask<Locks extends PlainLocks = PlainLocks> implements PlainTask {
  readonly process: number;
  readonly index: number;
  readonly random: RandomStream;
  protected readonly parts: TaskParts<Locks>;
  #made = 0;

  /** `number`: the task's number among all of its client process. */
  constructor(parts: TaskParts<Locks>, index: number, number: number) {
    const { client, life, seed } = parts.plan;
    this.parts = parts;
    this.index = index;
    this.process = processNumber(client, life, number);
    this.random = seededStream(seed, `${parts.workload.name} ${this.process}`);
  }

  get locks(): Locks {
    return this.parts.locks;
  }

  /** Final reads are made once, not by every client. */
  get isOfFirstClient(): boolean {
    return this.parts.plan.client === 0;
  }

  get signal(): AbortSignal {
    return this.parts.signal;
  }

  get keys(): readonly string[] {
    return this.parts.keys;
  }

  get ttlMs(): number {
    return this.parts.plan.ttlMs;
  }

  get isFenced(): boolean {
    return this.parts.plan.isFenced;
  }

  get store(): StoreCalls {
    return this.parts.store;
  }

  now(): number {
    return this.parts.recorder.now();
  }

  async record<T>(
    operation: Operation,
    act: () => Promise<T>,
    resultOf: (result: T) => unknown = (result) => result,
  ): Promise<T | undefined> {
    const { f, key, owner, part } = operation;
    const names = { f, ...(key === undefined ? {} : { key }) };
    // The session may end, and another one begin, while the operation is under way.
    const sessionNow = () => sessioned(operation.session ?? this.locks.session);
    const asker = { ...sessionNow(), ...(owner === undefined ? {} : { owner }) };
    this.#event("invoke", { ...names, ...asker, ...valued(operation.value) }, part);
    let result: T;
    try {
      result = await act();
    } catch (error) {
      const failure = failureOf(error);
      this.#event(failure.type, { ...names, ...asker, error: failure.error }, part);
      // After an immediate refusal it must not ask again at once.
      if (!this.signal.aborted) await this.sleep(this.random.integer(5, 40));
      return undefined;
    }
    const answered = { ...asker, ...sessionNow(), ...valued(resultOf(result)) };
    this.#event("ok", { ...names, ...answered }, part);
    return result;
  }

  note(fields: Omit<EventFields, "process">): void {
    this.#event("info", { ...sessioned(this.locks.session), ...fields });
  }

  async sleep(milliseconds: number): Promise<void> {
    try {
      await delay(milliseconds, undefined, { signal: this.signal });
    } catch (error) {
      if (!this.signal.aborted) throw error;
    }
  }

  unique(): number {
    this.#made += 1;
    return this.process * 1_000_000 + this.#made;
  }

  #event(type: EventType, fields: Omit<EventFields, "process">, part?: string): void {
    const { recorder, workload } = this.parts;
    recorder.event(historyName(workload.name, part), type, { process: this.process, ...fields });
  }
}

/** A task of a run against Holdfast, whose locks are those of an SDK's client. */
export class ClientTask extends PlainClientTask<Client> implements Task {
  get client(): Client {
    return this.locks;
  }

  connect(options: ConnectOptions = {}): Promise<Client> {
    return connectAs(this.parts.plan, `${this.parts.workload.name}-${this.process}`, options);
  }
}

/** Connects as the plan says, however long no node serves. */
export async function connectAs(
  plan: ClientPlan,
  name: string,
  options: ConnectOptions = {},
): Promise<Client> {
  const { followLeader, ttlMs } = plan;
  const endpoints = plan.endpoints.map((endpoint) => `ws://${endpoint}`);
  const connectTimeoutMs = ANSWER_MS_MAX;
  return connect({ endpoints, followLeader, ttlMs, name, connectTimeoutMs, ...options });
}

function valued(value: unknown): { value?: unknown } {
  return value === undefined ? {} : { value };
}

function sessioned(session: number | undefined): { session?: number } {
  return session === undefined ? {} : { session };
}
