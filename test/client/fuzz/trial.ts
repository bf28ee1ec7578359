/**
 * Carries out a plan: applications in several processes call the SDK, operators take locks away,
 * and the network, the nodes and the machines fail. The calls and their answers go to the oracle.
 */
import {
  CLIENT_DEFAULTS,
  type ClientSettings,
  connectOn,
  type ExportedSession,
  type Lock,
  type WantedItem,
} from "../../../src/client/index.js";
import { EMPTY } from "../world/set-up.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import { SimulatedWorld } from "../world/simulated-world.js";
import { TableServer } from "../world/table-server.js";
import {
  type Asked,
  type Call,
  type CallKind,
  codeOf,
  type Exported,
  type Handle,
  identityOf,
  neededOf,
  Process,
} from "./asked.js";
import { Faults } from "./faults.js";
import { Oracle } from "./oracle.js";
import {
  FAULT_MS_MAX,
  LIMIT,
  OWNERS,
  PLAN_MS,
  type Plan,
  SEMAPHORE_KEY,
  type Step,
  type StepOf,
} from "./plan.js";

/** Within it everything is told that there is to tell, once nothing fails any more. */
const SETTLING_MS = 8_000;
/** Far beyond what the longest run needs. */
const EVENTS_MAX = 500_000;
const TICKET_TTL_MS = 3_000;

/** What may become of a call without that anybody did wrong. */
const CODES: Readonly<Record<CallKind, readonly string[]>> = (() => {
  const common = ["CANCELLED", "TAKEN_OVER", "SESSION_EXPIRED", "UNAVAILABLE"];
  const strong = [...common, "BUSY", "DISK_FULL", "INVALID_ARGUMENT"];
  const wait = [...strong, "LOCK_TIMEOUT", "LOCK_HELD", "DEADLOCK"];
  const gone = ["LOCK_LOST", "NOT_HELD"];
  return {
    acquire: wait,
    nest: [...wait, ...gone],
    upgrade: [...wait, ...gone],
    claim: [...strong, "NOT_HELD"],
    update: [...strong, ...gone],
    downgrade: [...common, ...gone],
    release: [],
    detach: [...strong, ...gone],
  };
})();

type Taker = StepOf<"export">["takers"][number];
type Change = StepOf<"change">;

export class Trial {
  readonly #plan: Plan;
  readonly #world: SimulatedWorld;
  readonly #server: TableServer;
  readonly #oracle: Oracle;
  /** What was asked for and happened, to be read when something is wrong. */
  readonly #story: string[] = [];
  readonly #faults: Faults;
  #operator: Process | undefined;
  #problem: unknown;
  #isOver = false;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#world = new SimulatedWorld(plan.seed);
    this.#server = new TableServer(this.#world);
    this.#faults = new Faults(this.#server);
    this.#oracle = new Oracle(this.#server, plan.ttlMs);
    let events = 0;
    this.#world.afterEach = () => {
      events += 1;
      if (events > EVENTS_MAX) this.#oracle.fail("it goes round and round");
      if (this.#problem !== undefined) throw this.#problem;
      this.#oracle.check();
    };
  }

  async run(): Promise<void> {
    try {
      await this.#run();
    } catch (error) {
      if (error instanceof Error) error.message += `\n${this.#story.join("\n")}`;
      throw error;
    }
  }

  async #run(): Promise<void> {
    const { ttlMs, rates, steps } = this.#plan;
    this.#operator = await this.#connect("operator", 1, {});
    for (const [i, rate] of rates.entries()) await this.#connect(`process ${i + 1}`, rate, {});
    this.#faults.begin(this.#plan);
    for (const { atMs, step } of steps) this.#world.after(atMs, () => this.#take(step));
    await this.#world.run(PLAN_MS + FAULT_MS_MAX + 100);
    this.#faults.heal();
    this.#tell("nothing fails any more");
    await this.#world.run(SETTLING_MS + 2 * ttlMs);
    this.#oracle.checkSettled();
    await this.#finish();
    this.#oracle.checkLog();
  }

  async #connect(name: string, rate: number, settings: Partial<ClientSettings>): Promise<Process> {
    const platform = new SimulatedPlatform(this.#world, this.#server, rate, true);
    const connecting = connectOn(platform, this.#settings(name, settings));
    const client = await this.#world.until(connecting);
    const process = new Process(name, platform, client, OWNERS);
    this.#oracle.processes.push(process);
    return process;
  }

  #settings(name: string, settings: Partial<ClientSettings>): ClientSettings {
    const { ttlMs } = this.#plan;
    return { ...CLIENT_DEFAULTS, endpoints: this.#server.endpoints, ttlMs, name, ...settings };
  }

  #tell(event: string): void {
    this.#story.push(`${this.#world.nowMs.toFixed(1).padStart(8)} ${event}`);
  }

  /** Everybody gives back what there is, and nothing is left. */
  async #finish(): Promise<void> {
    const { calls, handles, processes } = this.#oracle;
    const isAlive = ({ process }: { process: Process }): boolean => !process.isDead;
    this.#isOver = true;
    for (const { controller, state } of calls) if (state === "pending") controller.abort();
    for (const handle of handles.filter(isAlive)) if (!handle.isGiven) this.#release(handle);
    await this.#world.run(SETTLING_MS);
    const unanswered = calls.filter((call) => isAlive(call) && call.state === "pending");
    for (const { number, kind } of unanswered) {
      this.#oracle.fail(`call ${number} (${kind}) was never answered`);
    }
    const alive = processes.filter(({ isDead }) => !isDead);
    await this.#world.until(Promise.all(alive.map(({ client }) => client.close())));
    await this.#world.run(2 * this.#plan.ttlMs + TICKET_TTL_MS);
    const counts = this.#server.table.counts();
    for (const [name, count] of Object.entries(EMPTY)) {
      const left = counts[name as keyof typeof EMPTY];
      if (left !== count) this.#oracle.fail(`${left} ${name} are left in the table`);
    }
  }

  #processAt(number: number): Process | undefined {
    const alive = this.#oracle.processes.filter((each) => each.canCall && each !== this.#operator);
    return alive[number % alive.length];
  }

  #take(step: Step): void {
    switch (step.type) {
      case "acquire":
        this.#acquire(step);
        return;
      case "change":
        this.#changeAny(step);
        return;
      case "claim":
        this.#claim(step);
        return;
      case "export": {
        const process = this.#processAt(step.process);
        if (process !== undefined) this.#export(process, step.takers);
        return;
      }
      case "revoke": {
        this.#tell(`revoke ${step.key} ${step.now ? "now" : step.graceMs}`);
        const how = step.now ? { now: true } : { graceMs: step.graceMs };
        this.#operator?.client.revoke({ key: step.key }, how).catch(() => undefined);
        return;
      }
      case "end session": {
        const process = this.#processAt(step.process);
        if (process === undefined || process.client.session === 0) return;
        this.#tell(`end the session of ${process.name} ${step.now ? "now" : step.graceMs}`);
        const how = step.now ? { now: true } : { graceMs: step.graceMs };
        this.#operator?.client.endSession(process.client.session, how).catch(() => undefined);
        return;
      }
      case "steal":
        this.#steal(step);
        return;
      default:
        this.#tell(JSON.stringify(step));
        this.#faults.take(step, "process" in step ? this.#processAt(step.process) : undefined);
    }
  }

  #call(
    kind: CallKind,
    process: Process,
    given: Partial<Pick<Call, "marker" | "items" | "handle" | "owner">>,
  ): Call {
    const call: Call = {
      number: this.#oracle.calls.length + 1,
      kind,
      process,
      marker: "",
      items: new Map(),
      handle: undefined,
      owner: undefined,
      ...given,
      controller: new AbortController(),
      atMs: this.#world.nowMs,
      isOfHeld: given.handle === undefined || this.#oracle.believes(given.handle),
      state: "pending",
      code: "",
    };
    this.#oracle.calls.push(call);
    return call;
  }

  /** The call is answered some time; what the answer means is `onDone`'s. */
  #await<Result>(
    call: Call,
    promise: Promise<Result>,
    onDone: (result: Result) => void,
    onFailed: () => void = () => undefined,
  ): void {
    const { number, kind, process, controller } = call;
    const about = call.handle === undefined ? "" : ` of ${call.handle.lock.token}`;
    const wanted = [...call.items].map(([key, { mode }]) => ` ${key} ${mode}`).join();
    this.#tell(`${number} ${kind}${wanted}${about} ${call.marker} by ${process.name}`);
    const settle = async (): Promise<void> => {
      try {
        const result = await promise;
        call.state = "done";
        this.#tell(`${number} done`);
        onDone(result);
      } catch (error) {
        if (call.state === "done") throw error;
        call.state = "failed";
        call.code = codeOf(error);
        this.#tell(`${number} failed ${call.code}`);
        onFailed();
        const isAborted = controller.signal.aborted && error === controller.signal.reason;
        if (!isAborted && !CODES[kind].includes(call.code)) throw error;
      }
    };
    settle().catch((error: unknown) => {
      this.#problem ??= error;
    });
  }

  #later(process: Process, delayMs: number | undefined, task: () => void): void {
    if (delayMs === undefined) return;
    this.#world.after(delayMs, () => process.platform.call(task));
  }

  #acquire({ process: number, items, owner, waitMs, abortMs, ...step }: StepOf<"acquire">): void {
    const process = this.#processAt(number);
    if (process === undefined) return;
    const { client } = process;
    const named = owner === undefined ? undefined : process.owners[owner];
    const marker = `acquire ${this.#oracle.calls.length + 1}`;
    const asked = askedOf(items);
    const call = this.#call("acquire", process, { marker, items: asked, owner: named?.id });
    const { maxHoldMs } = step;
    const options = {
      value: marker,
      signal: call.controller.signal,
      waitMs,
      maxHoldMs,
      owner: named,
      reentrant: named !== undefined,
    };
    this.#later(process, abortMs, () => call.controller.abort());
    const [first] = items as readonly WantedItem[];
    let acquiring: Promise<Lock>;
    if (items.length > 1) acquiring = client.acquireAll(items, options);
    else if (first?.permits === undefined) {
      acquiring = client.acquire(first?.key ?? "", { ...options, mode: first?.mode });
    } else {
      const { key, limit, permits } = first;
      acquiring = client.semaphore(key, { limit }).acquire({ ...options, permits });
    }
    this.#await(call, acquiring, (lock) => {
      this.#grant(process, lock, asked, step.holdMs);
    });
  }

  #grant(process: Process, lock: Lock, asked: Map<string, Asked>, holdMs?: number): Handle {
    const { session, sequence } = this.#oracle.identityOfToken(lock.token);
    const handle: Handle = {
      lock,
      signal: lock.signal,
      process,
      session,
      sequence,
      generation: process.generations.get(session) ?? 0,
      asked: new Map([...asked].map(([key, each]) => [key, { ...each }])),
      isGiven: false,
      loweredAt: new Map(),
      isVague: false,
      isCurious: this.#oracle.handles.length % 2 === 0,
    };
    // Whoever leaves the hold to others leaves it with all of its handles, also those on their way.
    handle.isGiven = this.#oracle.wasLeft(handle);
    if (handle.isGiven && lock.isHeld) this.#oracle.fail(`${lock.token} is held and was left`);
    this.#oracle.handles.push(handle);
    this.#tell(`${process.name} has ${identityOf(session, sequence)} by ${lock.token}`);
    this.#later(process, holdMs, () => this.#release(handle));
    this.#oracle.check();
    return handle;
  }

  /** A lock of an application that can call something, and has not given it back. */
  #handleAt(number: number): Handle | undefined {
    const live = this.#oracle.handles.filter(({ isGiven, process }) => !isGiven && process.canCall);
    return live[number % live.length];
  }

  #changeAny(step: Change): void {
    const handle = this.#handleAt(step.lock);
    if (handle === undefined) return;
    this.#change(handle, step.what, step);
    if (step.next === "export" && handle.process !== this.#operator) {
      this.#export(handle.process, [{ delayMs: 100, force: false, livesMs: undefined }]);
    } else if (step.next !== undefined && step.next !== "export" && !handle.isGiven) {
      this.#change(handle, step.next, step);
    }
  }

  #change(handle: Handle, what: Change["what"], { mode, waitMs, abortMs }: Change): void {
    const isOfPermits = handle.asked.has(SEMAPHORE_KEY);
    switch (what) {
      case "upgrade":
        if (!isOfPermits) this.#upgrade(handle, waitMs, abortMs);
        return;
      case "downgrade":
        if (!isOfPermits) this.#downgrade(handle);
        return;
      case "nest":
        this.#nest(handle, mode, waitMs, abortMs);
        return;
      case "update": {
        const marker = `update ${this.#oracle.calls.length + 1}`;
        const call = this.#call("update", handle.process, { marker, handle });
        this.#await(call, handle.lock.update(marker), () => undefined);
        return;
      }
      case "release":
        this.#release(handle);
        return;
      case "detach":
        this.#detach(handle);
    }
  }

  #upgrade(handle: Handle, waitMs: number | undefined, abortMs: number | undefined): void {
    const { process, asked, lock } = handle;
    const key = [...asked.keys()][0] ?? "";
    const items = new Map<string, Asked>([[key, { mode: "exclusive", permits: 0 }]]);
    const call = this.#call("upgrade", process, { handle, items });
    const { signal } = call.controller;
    this.#later(process, abortMs, () => call.controller.abort());
    this.#await(call, lock.upgrade({ key, waitMs, signal }), () => {
      // A downgrade that was called for later takes effect later.
      if ((handle.loweredAt.get(key) ?? 0) > call.number) return;
      handle.asked.set(key, { mode: "exclusive", permits: 0 });
    });
  }

  #downgrade(handle: Handle): void {
    const { process, asked, lock } = handle;
    const call = this.#call("downgrade", process, { handle });
    for (const [key, each] of asked) {
      each.mode = "shared";
      handle.loweredAt.set(key, call.number);
    }
    this.#await(
      call,
      lock.downgrade(),
      () => undefined,
      () => {
        handle.isVague = true;
      },
    );
  }

  #nest(
    handle: Handle,
    mode: "exclusive" | "shared",
    waitMs: number | undefined,
    abortMs: number | undefined,
  ): void {
    const { process, lock } = handle;
    const asked = new Map<string, Asked>();
    for (const [key, { mode: held, permits }] of handle.asked) {
      asked.set(key, { mode: held === "permits" ? held : mode, permits });
    }
    const marker = `nest ${this.#oracle.calls.length + 1}`;
    const about = { handle, items: asked, owner: lock.owner.id, marker };
    const call = this.#call("nest", process, about);
    const { signal } = call.controller;
    this.#later(process, abortMs, () => call.controller.abort());
    // What it nests in may be lost before: then it gets a hold of its own.
    const options = { reentrant: true, owner: lock.owner, signal, waitMs, value: marker };
    const items = [...asked].map(([key, { mode: its, permits }]): WantedItem => {
      return its === "permits" ? { key, permits, limit: LIMIT } : { key, mode: its };
    });
    this.#await(call, process.client.acquireAll(items, options), (more) => {
      const inner = this.#grant(process, more, asked);
      const isCounted = inner.session === handle.session && inner.sequence === handle.sequence;
      if (!isCounted && this.#oracle.believes(handle)) {
        this.#oracle.fail(`call ${call.number} got a hold of its own beside ${handle.sequence}`);
      }
    });
  }

  #release(handle: Handle): void {
    const { process, lock, session, sequence } = handle;
    if (handle.isGiven) return;
    if (!this.#isOver && !process.canCall) return;
    const call = this.#call("release", process, { handle, owner: this.#sharedOwnerOf(handle) });
    handle.isGiven = true;
    const isLast = !this.#oracle.handles.some((other) => {
      const isSame = other.session === session && other.sequence === sequence;
      return isSame && other.process === process && !other.isGiven;
    });
    this.#await(call, lock.release(), (result) => {
      const end = this.#oracle.endOf(session, sequence);
      if (result.released) {
        if (!call.isOfHeld) this.#oracle.fail(`call ${call.number} released what was lost`);
        if (isLast && call.owner === undefined && end?.reason !== "released") {
          this.#oracle.fail(`call ${call.number} released ${sequence}, which is ${end?.reason}`);
        }
        return;
      }
      const { reason } = result;
      // With another handle of the same hold, and with its client.
      if (reason !== "detached" && reason !== "closed") this.#oracle.checkReason(handle, reason);
    });
  }

  /** The task of the lock, where others of its acquires may share the hold. */
  #sharedOwnerOf({ process, lock }: Handle): number | undefined {
    const isNamed = this.#oracle.calls.some((call) => {
      return call.process === process && call.owner === lock.owner.id;
    });
    return isNamed ? lock.owner.id : undefined;
  }

  #detach(handle: Handle): void {
    const { process, session, sequence, lock } = handle;
    const call = this.#call("detach", process, { handle, owner: this.#sharedOwnerOf(handle) });
    const together = this.#oracle.handles.filter((other) => {
      const isSame = other.session === session && other.sequence === sequence;
      return isSame && other.process === process;
    });
    const live = together.filter((other) => this.#oracle.believes(other));
    const needed = neededOf(live);
    for (const each of together) each.isGiven = true;
    const detaching = lock.detach({ ticketTtlMs: TICKET_TTL_MS });
    this.#await(call, detaching, (ticket) => {
      for (const [key, { mode }] of needed) {
        const left = this.#oracle.leftModeOf(ticket.token, key);
        if (mode === "exclusive" && left !== mode) {
          this.#oracle.fail(`call ${call.number} left ${key} ${left}, and it was ${mode}`);
        }
      }
      this.#oracle.tickets.push({ ticket, isClaimed: false });
    });
  }

  #claim({ process: number, ticket: ticketNumber }: StepOf<"claim">): void {
    const process = this.#processAt(number);
    const { tickets } = this.#oracle;
    const left = tickets[ticketNumber % tickets.length];
    if (process === undefined || left === undefined) return;
    const { ticket } = left;
    const call = this.#call("claim", process, {});
    const { signal } = call.controller;
    this.#await(call, process.client.claim(ticket, { signal }), (lock) => {
      left.isClaimed = true;
      const asked = new Map<string, Asked>();
      for (const { key, permits } of lock.items) {
        asked.set(key, { mode: this.#oracle.leftModeOf(ticket.token, key), permits });
      }
      this.#grant(process, lock, asked);
    });
  }

  #steal({ key, holdMs }: StepOf<"steal">): void {
    const process = this.#operator;
    if (process === undefined) return;
    const marker = `steal ${this.#oracle.calls.length + 1}`;
    const asked = new Map<string, Asked>([[key, { mode: "exclusive", permits: 0 }]]);
    const call = this.#call("acquire", process, { marker, items: asked });
    const { signal } = call.controller;
    this.#await(
      call,
      process.client.acquire(key, { steal: true, value: marker, signal }),
      (lock) => {
        this.#grant(process, lock, asked, holdMs);
      },
    );
  }

  #export(process: Process, takers: readonly Taker[]): void {
    if (!process.canCall) return;
    const { client } = process;
    const { session } = client;
    const mine = this.#oracle.handles.filter((handle) => handle.process === process);
    const held = mine.filter((handle) => this.#oracle.believes(handle) && handle.lock.isHeld);
    const byHold = new Map<string, Handle[]>();
    for (const handle of held) {
      const identity = identityOf(handle.session, handle.sequence);
      byHold.set(identity, [...(byHold.get(identity) ?? []), handle]);
    }
    this.#tell(`${process.name} exports session ${session} with ${[...byHold.keys()]}`);
    process.isExported = true;
    const exporting = client.export();
    for (const { signal, sequence } of held) {
      if (!signal.aborted) this.#oracle.fail(`${sequence} is believed in after its export`);
    }
    const exported: Exported = {
      session,
      generation: process.generations.get(session) ?? 0,
      holds: new Map([...byHold].map(([identity, handles]) => [identity, neededOf(handles)])),
      heirs: 0,
    };
    const hand = async (): Promise<void> => {
      let text: string;
      try {
        text = JSON.stringify(await exporting);
      } catch (error) {
        this.#tell(`${process.name} exports nothing: ${codeOf(error)}`);
        if (codeOf(error) !== "UNAVAILABLE") throw error;
        if (!client.closed.aborted) process.isExported = false;
        return;
      }
      this.#oracle.exported.push(exported);
      for (const [i, taker] of takers.entries()) {
        this.#world.after(taker.delayMs, () => this.#takeOver(process, i, exported, text, taker));
      }
    };
    hand().catch((error: unknown) => {
      this.#problem ??= error;
    });
  }

  #takeOver(before: Process, i: number, exported: Exported, text: string, taker: Taker): void {
    const name = `${before.name}.${i + 1}`;
    const platform = new SimulatedPlatform(this.#world, this.#server, 1, true);
    const { force, livesMs } = taker;
    const resume = JSON.parse(text) as ExportedSession;
    this.#tell(`${name} takes over ${exported.session}${force ? " by force" : ""}`);
    let isDead = false;
    let heir: Process | undefined;
    if (livesMs !== undefined) {
      this.#world.after(livesMs, () => {
        this.#tell(`${name} ends without a word`);
        isDead = true;
        if (heir !== undefined) heir.isDead = true;
        platform.stop();
        platform.connection?.cut();
      });
    }
    const settings = this.#settings(name, { resume, force });
    const connect = async (): Promise<void> => {
      try {
        const client = await connectOn(platform, settings);
        if (!force) exported.heirs += 1;
        if (exported.heirs > 1) this.#oracle.fail(`${name} is a second heir of ${before.name}`);
        heir = new Process(name, platform, client, OWNERS);
        heir.isDead = isDead;
      } catch (error) {
        const code = codeOf(error);
        this.#tell(`${name} is refused: ${code}`);
        const expected = ["TAKEN_OVER", "SESSION_EXPIRED", "UNAVAILABLE", "BUSY"];
        if (!expected.includes(code)) throw error;
        const { generation, session } = exported;
        if (code === "TAKEN_OVER" && this.#server.generationOf(session) <= generation) {
          this.#oracle.fail(`${name} is refused, and nobody else has the session`);
        }
        return;
      }
      this.#oracle.processes.push(heir);
      this.#inherit(heir, exported);
    };
    connect().catch((error: unknown) => {
      this.#problem ??= error;
    });
  }

  /** As what the table has a lock. */
  #present(lock: Lock): Map<string, Asked> {
    const { session, sequence } = this.#oracle.identityOfToken(lock.token);
    return new Map(
      lock.items.map(({ key, permits }): [string, Asked] => {
        const mode = this.#oracle.modeOf(key, session, sequence);
        if (mode === undefined) throw this.#oracle.fail(`${sequence} does not hold ${key}`);
        return [key, { mode, permits }];
      }),
    );
  }

  /**
   * Exactly what the process before held, as it was promised there; or as another heir left it, from
   * which this one took it by force.
   */
  #inherit(heir: Process, { session, holds, generation }: Exported): void {
    const { locks = [], waits = [] } = heir.client.resumed ?? {};
    heir.generations.set(session, heir.platform.connection?.generation ?? 0);
    const isFirst = heir.generations.get(session) === generation + 1;
    if (locks.length !== holds.size) {
      this.#oracle.fail(
        `${heir.name} got ${locks.length} locks, and there were ${[...holds.keys()]}`,
      );
    }
    for (const lock of locks) {
      // It was lost on the way.
      if (!lock.isHeld) continue;
      const { session: its, sequence } = this.#oracle.identityOfToken(lock.token);
      const promised = holds.get(identityOf(its, sequence));
      if (promised === undefined) throw this.#oracle.fail(`${heir.name} got ${sequence} of nobody`);
      this.#grant(heir, lock, isFirst ? new Map(promised) : this.#present(lock));
    }
    for (const { keys, owner, lock } of waits) {
      const wait = {
        process: heir,
        session,
        owner: owner.id,
        keys: keys.join(),
        isPending: true,
      };
      this.#oracle.heirWaits.push(wait);
      const settle = async (): Promise<void> => {
        try {
          const granted = await lock;
          wait.isPending = false;
          // It was granted, and lost before that could be told.
          if (!granted.isHeld) return;
          const call = this.#oracle.calls.find(({ marker }) => marker === granted.value);
          if (call === undefined) throw this.#oracle.fail(`nobody asked for ${granted.value}`);
          this.#grant(heir, granted, isFirst ? new Map(call.items) : this.#present(granted));
        } catch (error) {
          wait.isPending = false;
          if (!CODES.acquire.includes(codeOf(error))) throw error;
        }
      };
      settle().catch((error: unknown) => {
        this.#problem ??= error;
      });
    }
  }
}

function askedOf(items: StepOf<"acquire">["items"]): Map<string, Asked> {
  return new Map(
    (items as readonly WantedItem[]).map((item): [string, Asked] => [
      item.key,
      item.permits === undefined
        ? { mode: item.mode ?? "exclusive", permits: 0 }
        : { mode: "permits", permits: item.permits },
    ]),
  );
}
