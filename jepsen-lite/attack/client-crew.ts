/**
 * The client processes of a run: starts them, merges their events into the histories, replaces
 * those that are killed, and has them finish.
 */
import type { ClientLine, ClientOrder, ClientPlan } from "../clients/client-messages.js";
import { ClientProcess } from "../clients/client-process.js";
import type { HistoryEvent } from "../history/history-event.js";
import { HistoryMerger } from "../history/history-merger.js";
import { OpenHolds } from "./open-holds.js";

export interface CrewEvents {
  now(): number;
  /** Events of all clients, ordered by time. */
  onEvent(event: HistoryEvent): void;
  /** A client process was killed or is done: its open operations will not end. */
  onGone(client: number, timeNs: number): void;
  /** The run cannot continue. */
  onFailure(error: Error): void;
}

export type PlanOfClient = (client: number, life: number) => ClientPlan;

/** The processes of one client, by workload and number; noted when it dies. */
type Processes = Map<string, LivingProcess>;

interface LivingProcess {
  readonly workload: string;
  readonly process: number;
  /** The last one that it had; without any, the process is its own session. */
  readonly session: number | undefined;
}

export class ClientCrew {
  readonly #planOf: PlanOfClient;
  readonly #prefixOf: (client: number) => readonly string[];
  readonly #events: CrewEvents;
  readonly #merger: HistoryMerger;
  readonly #clients = new Map<number, ClientProcess>();
  readonly #lives = new Map<number, number>();
  readonly #processes = new Map<string, Processes>();
  readonly #holds = new WeakMap<ClientProcess, OpenHolds>();
  /** Called with the events of operations as they arrive, before they are ordered by time. */
  readonly #awaiting = new Set<(client: ClientProcess, event: HistoryEvent) => void>();
  #starting = 0;
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
    // Notes of the harness pass through the same order as the events of clients.
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

  /** Whether a client does not work yet. */
  get isStarting(): boolean {
    return this.#starting > 0;
  }

  /** A note of the harness itself. */
  note(f: string, value: unknown): void {
    this.record({ process: "nemesis", type: "info", f, value, workload: "" });
  }

  /** An event of the harness itself. */
  record(event: Omit<HistoryEvent, "time">): void {
    if (!this.#isOver) this.#merger.tell(HARNESS, { ...event, time: this.#events.now() });
  }

  /** Lets events pass for which the harness has nothing to add; must be called regularly. */
  tick(): void {
    if (!this.#isOver) this.#merger.mark(HARNESS, this.#events.now());
  }

  /** The next client that gets a grant (of that workload) within this time. */
  nextHolder(milliseconds: number, wanted?: string): Promise<ClientProcess | undefined> {
    return this.#nextWith(milliseconds, ({ type, f, workload }) => {
      return type === "ok" && f === "acquire" && (wanted ?? workload) === workload;
    });
  }

  /** The next client that begins to hand a hold over, or to take one up. */
  nextHandOver(milliseconds: number): Promise<ClientProcess | undefined> {
    return this.#nextWith(milliseconds, ({ type, f }) => type === "invoke" && HAND_OVERS.has(f));
  }

  #nextWith(
    milliseconds: number,
    isMeant: (event: HistoryEvent) => boolean,
  ): Promise<ClientProcess | undefined> {
    return new Promise((resolve) => {
      const end = (client: ClientProcess | undefined) => {
        clearTimeout(timer);
        this.#awaiting.delete(onEvent);
        resolve(client);
      };
      const onEvent = (client: ClientProcess, event: HistoryEvent) => {
        if (isMeant(event)) end(client);
      };
      const timer = setTimeout(() => end(undefined), milliseconds);
      this.#awaiting.add(onEvent);
    });
  }

  /** Whether this client holds a lock of that workload, or did so when it died. */
  isHolder(client: ClientProcess, workload: string): boolean {
    return this.#holds.get(client)?.has(workload) === true;
  }

  /** To every client that runs. */
  order(order: ClientOrder): void {
    for (const client of this.#clients.values()) client.order(order);
  }

  async replace(client: ClientProcess): Promise<void> {
    const { client: number } = client.plan;
    if (this.#clients.get(number) !== client || this.#isFinishing) return;
    this.kills += 1;
    await client.kill();
    // Other faults may delay it for long, so it is not awaited.
    if (!this.#isFinishing) void this.#start(number);
  }

  /** They begin no more operations, finish those they began, do their final reads and end. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    const running = this.clients;
    for (const client of running) client.order({ order: "finish" });
    await Promise.all(running.map((client) => client.ended));
    this.#end();
  }

  /** Kills them at once. */
  async kill(): Promise<void> {
    this.#isFinishing = true;
    await Promise.all(this.clients.map((client) => client.kill()));
    this.#end();
  }

  #end(): void {
    if (!this.#isOver) this.#merger.close(HARNESS);
    this.#isOver = true;
  }

  async #start(number: number): Promise<void> {
    this.#starting += 1;
    await this.#readyOrEnded(number);
    this.#starting -= 1;
  }

  #readyOrEnded(number: number): Promise<void> {
    const life = this.#lives.get(number) ?? 0;
    this.#lives.set(number, life + 1);
    const source = `${number}.${life}`;
    this.#processes.set(source, new Map());
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
      this.#holds.set(client, new OpenHolds());
    });
  }

  #line(source: string, line: ClientLine, onReady: () => void): void {
    if ("failed" in line) this.#events.onFailure(new Error(`a client failed: ${line.failed}`));
    else if ("mark" in line) this.#merger.mark(source, line.mark);
    else if ("ready" in line) onReady();
    else {
      const { session, workload, process, type } = line;
      const client = this.#clients.get(line.client ?? -1);
      if (client !== undefined) {
        this.#holds.get(client)?.event(line);
        for (const onEvent of this.#awaiting) onEvent(client, line);
      }
      // A late note may be about an earlier session of the worker.
      if (process !== "nemesis" && type !== "info") {
        const processes = this.#processes.get(source);
        const name = `${workload} ${process}`;
        const last = session === 0 ? processes?.get(name)?.session : session;
        processes?.set(name, { workload, process, session: last });
      }
      this.#merger.tell(source, line);
    }
  }

  /** Everything that it held may end from here on, and its open operations will have no end. */
  #gone(source: string, client: ClientProcess): void {
    const time = this.#events.now();
    if (!this.#isFinishing) this.#noteCrash(source, client.plan.ttlMs, time);
    this.#processes.delete(source);
    this.#merger.close(source);
    this.#events.onGone(client.plan.client, time);
    if (this.#clients.get(client.plan.client) === client) {
      this.#clients.delete(client.plan.client);
    }
  }

  #noteCrash(source: string, ttlMs: number, time: number): void {
    for (const { workload, process, session } of this.#processes.get(source)?.values() ?? []) {
      const note = { process, type: "info", f: "crash", value: { ttlMs }, time, workload } as const;
      this.#merger.tell(source, session === undefined ? note : { ...note, session });
    }
  }
}

const HARNESS = "harness";
/** The operations of the history by which a hold goes from one process to another. */
const HAND_OVERS: ReadonlySet<string> = new Set(["hand-over", "adopt"]);
