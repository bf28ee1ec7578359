/**
 * One task of a client process: does one operation after the other and sees to it that each of them
 * is in the history with its invocation and its end.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type EventType, historyName, processNumber } from "../history/history-event.js";
import { type Client, type ConnectOptions, connect } from "../sdk.js";
import { SeededRandom } from "../seeded-random.js";
import type { Operation, StoreCalls, Task, Workload } from "../workloads/workload.js";
import type { ClientPlan } from "./client-messages.js";
import { failureOf } from "./outcome.js";
import type { EventFields, Recorder } from "./recorder.js";

/** How long a read or a try waits for an answer: short, so that faults cost operations, not time. */
const ANSWER_MS_MAX = 3_000;

export interface TaskRooms {
  readonly plan: ClientPlan;
  readonly workload: Workload;
  readonly keys: readonly string[];
  readonly client: Client;
  readonly recorder: Recorder;
  readonly store: StoreCalls;
  readonly signal: AbortSignal;
}

export class ClientTask implements Task {
  readonly process: number;
  readonly index: number;
  readonly random: SeededRandom;
  readonly #rooms: TaskRooms;
  #made = 0;

  /** `number`: of the task among all of its client process. */
  constructor(rooms: TaskRooms, index: number, number: number) {
    const { client, life, seed } = rooms.plan;
    this.#rooms = rooms;
    this.index = index;
    this.process = processNumber(client, life, number);
    this.random = new SeededRandom(seed, `${rooms.workload.name} ${this.process}`);
  }

  get client(): Client {
    return this.#rooms.client;
  }

  /** Reads for the last time are made once, not by everybody. */
  get isOfFirstClient(): boolean {
    return this.#rooms.plan.client === 0;
  }

  get signal(): AbortSignal {
    return this.#rooms.signal;
  }

  get keys(): readonly string[] {
    return this.#rooms.keys;
  }

  get ttlMs(): number {
    return this.#rooms.plan.ttlMs;
  }

  get isFenced(): boolean {
    return this.#rooms.plan.isFenced;
  }

  get store(): StoreCalls {
    return this.#rooms.store;
  }

  now(): number {
    return this.#rooms.recorder.now();
  }

  connect(options: ConnectOptions = {}): Promise<Client> {
    return connectAs(this.#rooms.plan, `${this.#rooms.workload.name}-${this.process}`, options);
  }

  async record<T>(
    operation: Operation,
    act: () => Promise<T>,
    resultOf: (result: T) => unknown = (result) => result,
  ): Promise<T | undefined> {
    const { f, key, owner, part } = operation;
    const names = { f, ...(key === undefined ? {} : { key }) };
    // The session may end, and another one begin, while the operation is under way.
    const sessionNow = () => operation.session ?? this.client.session;
    const asker = { session: sessionNow(), ...(owner === undefined ? {} : { owner }) };
    this.#event("invoke", { ...names, ...asker, ...valued(operation.value) }, part);
    const beganMs = performance.now();
    let result: T;
    try {
      result = await act();
    } catch (error) {
      const failure = failureOf(error, performance.now() - beganMs);
      this.#event(failure.type, { ...names, ...asker, error: failure.error }, part);
      // Whoever is refused at once must not ask again at once.
      if (!this.signal.aborted) await this.sleep(this.random.between(5, 40));
      return undefined;
    }
    const answered = { ...asker, session: sessionNow(), ...valued(resultOf(result)) };
    this.#event("ok", { ...names, ...answered }, part);
    return result;
  }

  note(fields: Omit<EventFields, "process">): void {
    this.#event("info", { session: this.client.session, ...fields });
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
    const { recorder, workload } = this.#rooms;
    recorder.event(historyName(workload.name, part), type, { process: this.process, ...fields });
  }
}

/** Connects as the plan says, however long no node serves. */
export async function connectAs(
  plan: ClientPlan,
  name: string,
  options: ConnectOptions = {},
): Promise<Client> {
  const { endpoints, followLeader, ttlMs } = plan;
  const connectTimeoutMs = ANSWER_MS_MAX;
  return connect({ endpoints, followLeader, ttlMs, name, connectTimeoutMs, ...options });
}

function valued(value: unknown): { value?: unknown } {
  return value === undefined ? {} : { value };
}
