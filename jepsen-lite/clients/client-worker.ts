/**
 * One worker of a client process: does one operation after the other and records the invocation and
 * the end of each in the history.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { RandomStream } from "../../lab/random-stream.js";
import { credentialOf, type Keyring, readKeyring, WORKER } from "../access/keyring.js";
import { seededStream } from "../harness/seeded-stream.js";
import { type EventType, historyName, processNumber } from "../history/history-event.js";
import { type Admin, type Client, type ConnectOptions, connect, connectAdmin } from "../sdk.js";
import type {
  Operation,
  PlainLocks,
  PlainWorker,
  StoreCalls,
  Worker,
  Workload,
} from "../workloads/workload.js";
import type { ClientPlan } from "./client-messages.js";
import { failureOf } from "./outcome.js";
import type { EventFields, Recorder } from "./recorder.js";

/**
 * How long a read or a try waits for an answer: short, so that faults cost operations, not time.
 */
const ANSWER_MS_MAX = 3_000;

export interface WorkerParts<Locks extends PlainLocks = PlainLocks> {
  readonly plan: ClientPlan;
  readonly workload: Workload;
  readonly keys: readonly string[];
  readonly locks: Locks;
  readonly recorder: Recorder;
  readonly store: StoreCalls;
  readonly signal: AbortSignal;
  /** For which it works, if the history says so; else "". */
  readonly identity: string;
}

export class PlainClientWorker<Locks extends PlainLocks = PlainLocks> implements PlainWorker {
  readonly process: number;
  readonly index: number;
  readonly random: RandomStream;
  protected readonly parts: WorkerParts<Locks>;
  #made = 0;

  /** `number`: the worker's number among all of its client process. */
  constructor(parts: WorkerParts<Locks>, index: number, number: number) {
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
    const { f, key, task, part } = operation;
    const names = { f, ...(key === undefined ? {} : { key }) };
    // The session may end, and another one begin, while the operation is under way.
    const sessionNow = () => sessioned(operation.session ?? this.locks.session);
    const as = operation.as ?? this.shown;
    const tasked = task === undefined ? {} : { task };
    const asker = { ...sessionNow(), ...tasked, ...(as === undefined ? {} : { as }) };
    this.#event("invoke", { ...names, ...asker, ...valued(operation.value) }, part);
    let result: T;
    try {
      result = await act();
    } catch (error) {
      const { type, ...failure } = failureOf(error);
      this.#event(type, { ...names, ...asker, ...failure }, part);
      // After an immediate refusal it must not ask again at once.
      if (!this.signal.aborted) await this.sleep(this.random.integer(5, 40));
      return undefined;
    }
    const answered = { ...asker, ...sessionNow(), ...valued(resultOf(result)) };
    this.#event("ok", { ...names, ...answered }, part);
    return result;
  }

  /** The credential that its client has shown, if the history says so. */
  protected get shown(): string | undefined {
    return this.parts.identity === "" ? undefined : credentialOf(this.parts.identity);
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

/** A worker of a run against Holdfast, whose locks are the locks of an SDK's client. */
export class ClientWorker extends PlainClientWorker<Client> implements Worker {
  get client(): Client {
    return this.locks;
  }

  get identity(): string {
    return this.parts.identity;
  }

  get endpoints(): readonly string[] {
    return this.parts.plan.endpoints;
  }

  get redisEndpoints(): readonly string[] {
    return this.parts.plan.redisEndpoints;
  }

  get accessToken(): string | undefined {
    return accessTokenOf(this.parts.plan, this.identity);
  }

  get keyring(): Keyring {
    return readKeyring(this.parts.plan.keyring);
  }

  connect(options: ConnectOptions = {}): Promise<Client> {
    const { plan, workload, identity } = this.parts;
    return connectAs(plan, `${workload.name}-${this.process}`, identity, options);
  }

  connectAdmin(token: string | undefined): Promise<Admin> {
    const endpoints = endpointsOf(this.parts.plan);
    return connectAdmin({ endpoints, timeoutMs: ANSWER_MS_MAX, token });
  }
}

/** Connects as the plan says, however long no node serves. `identity` "": as the usual one. */
export async function connectAs(
  plan: ClientPlan,
  name: string,
  identity: string,
  options: ConnectOptions = {},
): Promise<Client> {
  const { followLeader, ttlMs } = plan;
  const endpoints = endpointsOf(plan);
  const connectTimeoutMs = ANSWER_MS_MAX;
  const token = accessTokenOf(plan, identity);
  return connect({ endpoints, followLeader, ttlMs, name, connectTimeoutMs, token, ...options });
}

/** `identity` "": of the usual one. */
function accessTokenOf({ keyring }: ClientPlan, identity: string): string | undefined {
  const credential = credentialOf(identity === "" ? WORKER : identity);
  return keyring === "" ? undefined : readKeyring(keyring).tokens[credential];
}

function endpointsOf({ endpoints }: ClientPlan): string[] {
  return endpoints.map((endpoint) => `ws://${endpoint}`);
}

function valued(value: unknown): { value?: unknown } {
  return value === undefined ? {} : { value };
}

function sessioned(session: number | undefined): { session?: number } {
  return session === undefined ? {} : { session };
}
