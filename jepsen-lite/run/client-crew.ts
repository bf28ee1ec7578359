/**
 * The client processes of a run: starts them, merges what they tell into the histories, replaces
 * those that are killed, and has them finish.
 */
import type { ClientLine, ClientPlan } from "../clients/client-messages.js";
import { ClientProcess } from "../clients/client-process.js";
import type { HistoryEvent } from "../history/history-event.js";
import { HistoryMerger } from "../history/history-merger.js";

export interface CrewEvents {
  now(): number;
  /** Events of all clients in the order of time. */
  onEvent(event: HistoryEvent): void;
  /** A client process was killed or is done: its open operations will not end. */
  onGone(client: number, timeNs: number): void;
  /** The run cannot go on. */
  onFailure(error: Error): void;
}

export type PlanOfClient = (client: number, life: number) => ClientPlan;

/** The sessions of one client process, to be noted when it dies. */
type Sessions = Map<string, { readonly process: number; readonly session: number }>;

export class ClientCrew {
  readonly #planOf: PlanOfClient;
  readonly #prefixOf: (client: number) => readonly string[];
  readonly #events: CrewEvents;
  readonly #merger: HistoryMerger;
  readonly #clients = new Map<number, ClientProcess>();
  readonly #lives = new Map<number, number>();
  readonly #sessions = new Map<string, Sessions>();
  /** Who waits for a grant; grants are looked at as they are told, not as they are ordered. */
  #onGrant: (client: ClientProcess | undefined) => void = () => undefined;
  #isFinishing = false;
  #isOver = false;
  kills = 0;

  constructor(
    planOf: PlanOfClient,
    prefixOf: (client: number) => readonly string[],
    events: CrewEvents,
  ) {
    this.#planOf = planOf;
    this.#prefixOf = prefixOf;
    this.#events = events;
    this.#merger = new HistoryMerger((event) => events.onEvent(event));
    // Notes of the harness are told through the same order as what the clients tell.
    this.#merger.open(HARNESS, 0);
  }

  get clients(): readonly ClientProcess[] {
    return [...this.#clients.values()];
  }

  /** Resolves when all of them work. */
  async start(count: number): Promise<void> {
    const ready = Array.from({ length: count }, (_, client) => this.#start(client));
    await Promise.all(ready);
  }

  /** A note of the harness itself. */
  note(f: string, value: unknown): void {
    const time = this.#events.now();
    const event = { process: "nemesis", type: "info", f, value, time, workload: "" } as const;
    this.#merger.tell(HARNESS, event);
  }

  /** Lets pass what the harness has nothing to say about; to be called again and again. */
  tick(): void {
    if (!this.#isOver) this.#merger.mark(HARNESS, this.#events.now());
  }

  /** The next client that is told that it holds something, or nobody within so long. */
  async nextHolder(milliseconds: number): Promise<ClientProcess | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#onGrant(undefined), milliseconds);
      this.#onGrant = (client) => {
        clearTimeout(timer);
        this.#onGrant = () => undefined;
        resolve(client);
      };
    });
  }

  async replace(client: ClientProcess): Promise<void> {
    const { client: number } = client.plan;
    if (this.#clients.get(number) !== client || this.#isFinishing) return;
    this.kills += 1;
    await client.kill();
    // It may take long to be served while there are other faults: nobody waits for it.
    if (!this.#isFinishing) void this.#start(number);
  }

  /** They stop beginning operations, finish what they began, read for the last time and end. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    const running = this.clients;
    for (const client of running) client.order({ order: "finish" });
    await Promise.all(running.map((client) => client.ended));
    this.#end();
  }

  /** At once, whatever they do. */
  async kill(): Promise<void> {
    this.#isFinishing = true;
    await Promise.all(this.clients.map((client) => client.kill()));
    this.#end();
  }

  #end(): void {
    if (!this.#isOver) this.#merger.close(HARNESS);
    this.#isOver = true;
  }

  #start(number: number): Promise<void> {
    const life = this.#lives.get(number) ?? 0;
    this.#lives.set(number, life + 1);
    const source = `${number}.${life}`;
    const sessions: Sessions = new Map();
    this.#sessions.set(source, sessions);
    this.#merger.open(source, this.#events.now());
    return new Promise((resolve) => {
      const client = new ClientProcess(this.#planOf(number, life), this.#prefixOf(number), {
        onLine: (line) => this.#line(source, line, resolve),
        onEnd: (error) => {
          this.#gone(source, client);
          if (error !== undefined && !this.#isFinishing) this.#events.onFailure(error);
          resolve();
        },
      });
      this.#clients.set(number, client);
    });
  }

  #line(source: string, line: ClientLine, onReady: () => void): void {
    if ("failed" in line) this.#events.onFailure(new Error(`a client failed: ${line.failed}`));
    else if ("mark" in line) this.#merger.mark(source, line.mark);
    else if ("ready" in line) onReady();
    else {
      const { session, workload, process, type, f } = line;
      if (type === "ok" && f === "acquire") this.#onGrant(this.#clients.get(line.client ?? -1));
      if (session !== undefined && session !== 0 && process !== "nemesis") {
        this.#sessions.get(source)?.set(workload, { process, session });
      }
      this.#merger.tell(source, line);
    }
  }

  /** Whatever it held may end from here on; nothing that it had open will be told the end of. */
  #gone(source: string, client: ClientProcess): void {
    const time = this.#events.now();
    if (!this.#isFinishing) {
      for (const [workload, { process, session }] of this.#sessions.get(source) ?? []) {
        const crash = { process, type: "info", f: "crash", session, time, workload } as const;
        this.#merger.tell(source, crash);
      }
    }
    this.#sessions.delete(source);
    this.#merger.close(source);
    this.#events.onGone(client.plan.client, time);
    if (this.#clients.get(client.plan.client) === client) {
      this.#clients.delete(client.plan.client);
    }
  }
}

const HARNESS = "harness";
