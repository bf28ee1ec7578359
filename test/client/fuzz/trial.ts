/**
 * Carries out a plan: applications in several processes call the SDK, operators take locks away,
 * and the network, the nodes and the machines fail. The calls and their answers go to the oracle.
 */
import {
  CLIENT_DEFAULTS,
  type ClientSettings,
  connectOn,
  type HandedOver,
  type Lock,
  type WantedItem,
} from "../../../src/client/index.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { OP } from "../../../src/protocol/index.js";
import { EMPTY } from "../world/set-up.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import { SimulatedWorld } from "../world/simulated-world.js";
import { TableServer } from "../world/table-server.js";
import {
  type Asked,
  type Call,
  type CallKind,
  codeOf,
  type Handle,
  identityOf,
  type Left,
  type LeftHold,
  Process,
} from "./asked.js";
import { Faults } from "./faults.js";
import { Oracle } from "./oracle.js";
import {
  FAULT_MS_MAX,
  LIMIT,
  PLAN_MS,
  type Plan,
  SEMAPHORE_KEY,
  type Step,
  type StepOf,
  TASKS,
} from "./plan.js";

/** Within it everything that there is to report arrives, once nothing fails any more. */
const SETTLING_MS = 8_000;
/** Far beyond what the longest run needs. */
const EVENTS_MAX = 500_000;
const HANDED_OVER_MS = 3_000;

/** What may become of a call without that anybody did wrong. */
const CODES: Readonly<Record<CallKind, readonly string[]>> = (() => {
  const common = ["CANCELLED", "SESSION_EXPIRED", "UNAVAILABLE"];
  const strong = [...common, "BUSY", "DISK_FULL", "INVALID_ARGUMENT"];
  const wait = [...strong, "LOCK_TIMEOUT", "LOCK_HELD", "DEADLOCK"];
  const gone = ["LOCK_LOST", "NOT_HELD"];
  return {
    acquire: wait,
    nest: [...wait, ...gone],
    upgrade: [...wait, ...gone],
    adopt: strong,
    update: [...strong, ...gone],
    downgrade: [...common, ...gone],
    release: [],
    handOver: [...strong, ...gone],
    depart: ["UNAVAILABLE"],
  };
})();

type Heir = StepOf<"depart">["heirs"][number];
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
    const process = new Process(name, platform, client, TASKS);
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
    await this.#world.run(2 * this.#plan.ttlMs + HANDED_OVER_MS);
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
      case "adopt": {
        const process = this.#processAt(step.process);
        const all = this.#oracle.left;
        const left = all[step.left % all.length];
        if (process !== undefined && left !== undefined) this.#adopt(process, left, step.rest);
        return;
      }
      case "depart": {
        const process = this.#processAt(step.process);
        if (process !== undefined) this.#depart(process, step.heirs);
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
    given: Partial<Pick<Call, "marker" | "items" | "handle" | "task">>,
  ): Call {
    const call: Call = {
      number: this.#oracle.calls.length + 1,
      kind,
      process,
      marker: "",
      items: new Map(),
      handle: undefined,
      task: undefined,
      isDeferred: false,
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

  #acquire({ process: number, items, task, waitMs, abortMs, ...step }: StepOf<"acquire">): void {
    const process = this.#processAt(number);
    if (process === undefined) return;
    const { client } = process;
    const named = task === undefined ? undefined : process.tasks[task];
    const marker = `acquire ${this.#oracle.calls.length + 1}`;
    const asked = askedOf(items);
    const call = this.#call("acquire", process, { marker, items: asked, task: named?.id });
    const { maxHoldMs } = step;
    const options = {
      value: marker,
      signal: call.controller.signal,
      waitMs,
      maxHoldMs,
      task: named,
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
      asked: new Map([...asked].map(([key, each]) => [key, { ...each }])),
      isGiven: false,
      loweredAt: new Map(),
      isVague: false,
      isCurious: this.#oracle.handles.length % 2 === 0,
    };
    // A hold that is handed over leaves with all of its handles, also those on their way.
    handle.isGiven = process.left.has(identityOf(session, sequence));
    if (handle.isGiven && lock.isHeld) this.#oracle.fail(`${lock.token} is held and was left`);
    this.#oracle.handles.push(handle);
    const onAbort = () => {
      if (handle.isGiven || handle.signal.reason instanceof HoldfastError) return;
      this.#oracle.onLeft(handle);
      handle.isGiven = true;
    };
    // It may have left before its caller had it.
    if (handle.signal.aborted) onAbort();
    else handle.signal.addEventListener("abort", onAbort);
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
    if (step.next === "depart") {
      const heirs = [{ delayMs: 100, rest: false, livesMs: undefined }];
      if (handle.process !== this.#operator) this.#depart(handle.process, heirs);
    } else if (step.next !== undefined && !handle.isGiven) {
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
      case "handOver":
        this.#handOver(handle);
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
    const about = { handle, items: asked, task: lock.task.id, marker };
    const call = this.#call("nest", process, about);
    const { signal } = call.controller;
    this.#later(process, abortMs, () => call.controller.abort());
    // What it nests in may be lost before: then it gets a hold of its own.
    const options = { reentrant: true, task: lock.task, signal, waitMs, value: marker };
    const items = [...asked].map(([key, { mode: its, permits }]): WantedItem => {
      return its === "permits" ? { key, permits, limit: LIMIT } : { key, mode: its };
    });
    this.#await(call, process.client.acquireAll(items, options), (more) => {
      const inner = this.#grant(process, more, asked);
      const isCounted = inner.session === handle.session && inner.sequence === handle.sequence;
      if (!isCounted && this.#oracle.believes(handle)) {
        this.#oracle.fail(`call ${call.number} got another hold than ${handle.sequence}`);
      }
    });
  }

  #release(handle: Handle): void {
    const { process, lock, session, sequence } = handle;
    if (handle.isGiven) return;
    if (!this.#isOver && !process.canCall) return;
    const call = this.#call("release", process, { handle, task: this.#sharedTaskOf(handle) });
    handle.isGiven = true;
    const isLast = !this.#oracle.handles.some((other) => {
      const isSame = other.session === session && other.sequence === sequence;
      return isSame && other.process === process && !other.isGiven;
    });
    this.#await(call, lock.release(), (result) => {
      const end = this.#oracle.endOf(session, sequence);
      if (result.released) {
        if (!call.isOfHeld) this.#oracle.fail(`call ${call.number} released what was lost`);
        if (isLast && call.task === undefined && end?.reason !== "released") {
          this.#oracle.fail(`call ${call.number} released ${sequence}, which is ${end?.reason}`);
        }
        return;
      }
      const { reason } = result;
      // With another handle of the same hold, and with its client.
      if (reason !== "moved" && reason !== "closed") this.#oracle.checkReason(handle, reason);
    });
  }

  /** The task of the lock, where others of its acquires may share the hold. */
  #sharedTaskOf({ process, lock }: Handle): number | undefined {
    const isNamed = this.#oracle.calls.some((call) => {
      return call.process === process && call.task === lock.task.id;
    });
    return isNamed ? lock.task.id : undefined;
  }

  #handOver(handle: Handle): void {
    const { process, session, sequence, lock } = handle;
    const call = this.#call("handOver", process, { handle, task: this.#sharedTaskOf(handle) });
    const handing = lock.handOver({ ttlMs: HANDED_OVER_MS });
    call.isDeferred = lock.isHeld;
    this.#await(call, handing, (handed) => {
      const left = this.#noteLeft(process, handed);
      const needed = process.left.get(identityOf(session, sequence));
      if (left.holds.length !== 1 || needed === undefined)
        this.#oracle.fail(`call ${call.number} left a lock with its client`);
      if (!handed.confirmed) return;
      for (const [key, { mode }] of needed ?? []) {
        const leftMode = this.#oracle.leftModeOf(handle, key);
        if (mode === "exclusive" && leftMode !== mode) {
          this.#oracle.fail(`call ${call.number} left ${key} ${leftMode}, and it was ${mode}`);
        }
      }
    });
  }

  #noteLeft(process: Process, handed: HandedOver): Left {
    const holds = handed.holds.map(({ secret }): LeftHold => ({ secret, isAdopted: false }));
    for (const { secret } of handed.confirmed ? holds : []) {
      if (this.#oracle.leftBy(secret) === undefined) {
        this.#oracle.fail(`${process.name} got a confirmed hand-over that did not happen`);
      }
    }
    const left = { process, handed, holds, heirs: 0, adopter: undefined };
    this.#oracle.left.push(left);
    return left;
  }

  #adopt(process: Process, left: Left, rest: boolean): void {
    left.heirs += 1;
    const call = this.#call("adopt", process, {});
    const { signal } = call.controller;
    const adopting = process.client.adopt(left.handed, { signal, rest });
    this.#await(call, adopting, ({ locks, gone, refused }) => {
      if (locks.length + gone.length + refused.length !== left.holds.length) {
        this.#oracle.fail(`call ${call.number} does not learn of everything`);
      }
      if (locks.length > 0 && !rest) {
        if (left.adopter !== undefined) {
          this.#oracle.fail(`call ${call.number} goes on, and so does call ${left.adopter}`);
        }
        left.adopter = call.number;
      }
      for (const lock of locks) this.#takeUp(call, left, lock);
      for (const { reason } of gone) {
        if (reason === "unknown" && left.handed.confirmed) {
          this.#oracle.fail(`call ${call.number} finds nothing of what was confirmed`);
        }
        if (reason === "moved" && left.heirs === 1 && left.handed.confirmed) {
          this.#oracle.fail(`call ${call.number} learns of an heir, and is the only one`);
        }
      }
      for (const { error } of refused) {
        if (!CODES.adopt.includes(error.code)) throw error;
      }
    });
  }

  #takeUp({ process, number }: Call, { holds }: Left, lock: Lock): void {
    const got = this.#oracle.identityOfToken(lock.token);
    const hold = holds.find(({ secret }) => {
      return this.#server.executed.some(({ session, command }) => {
        const isIts = session === got.session && command.op === OP.adopt;
        return isIts && command.sequence === got.sequence && command.secret === secret;
      });
    });
    const before = hold && this.#oracle.leftBy(hold.secret);
    if (hold === undefined || before === undefined) {
      throw this.#oracle.fail(`call ${number} got ${lock.token}, which nobody left`);
    }
    if (hold.isAdopted) this.#oracle.fail(`call ${number} adopts ${lock.token} once more`);
    hold.isAdopted = true;
    const asked = new Map<string, Asked>();
    for (const { key, permits } of lock.items) {
      asked.set(key, { mode: this.#oracle.leftModeOf(before, key), permits });
    }
    this.#oracle.onAdopted(lock.token, before);
    this.#grant(process, lock, asked);
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

  #depart(process: Process, heirs: readonly Heir[]): void {
    if (!process.canCall) return;
    process.isLeaving = true;
    const call = this.#call("depart", process, {});
    const departing = process.client.handOver({ ttlMs: HANDED_OVER_MS });
    this.#await(
      call,
      departing,
      (handed) => {
        const left = this.#noteLeft(process, JSON.parse(JSON.stringify(handed)) as HandedOver);
        this.#checkDeparted(call, left);
        for (const [i, heir] of heirs.entries()) {
          this.#world.after(heir.delayMs, () =>
            this.#bringUp(`${process.name}.${i + 1}`, left, heir),
          );
        }
      },
      () => {
        if (!process.client.closed.aborted) process.isLeaving = false;
      },
    );
  }

  /** Nothing is left with a client that has ended, and each hold is what its caller knew to have. */
  #checkDeparted({ process, number }: Call, { handed, holds }: Left): void {
    const kept = this.#oracle.handles.find((handle) => {
      return handle.process === process && this.#oracle.believes(handle);
    });
    if (kept !== undefined) this.#oracle.fail(`call ${number} left ${kept.lock.token} behind`);
    if (!process.client.closed.aborted) this.#oracle.fail(`call ${number} did not end its client`);
    if (!handed.confirmed) return;
    for (const { secret } of holds) {
      const before = this.#oracle.leftBy(secret);
      if (before === undefined) continue;
      const promised = process.left.get(identityOf(before.session, before.sequence));
      const handles = this.#oracle.handles.filter(({ session, sequence }) => {
        return session === before.session && sequence === before.sequence;
      });
      if (handles.some(({ isVague }) => isVague)) continue;
      for (const [key, { mode }] of promised ?? []) {
        const leftMode = this.#oracle.leftModeOf(before, key);
        if (leftMode !== mode) {
          this.#oracle.fail(`call ${number} left ${key} ${leftMode}, and it was ${mode}`);
        }
      }
    }
  }

  /** A process that begins in order to go on with what another one left. */
  #bringUp(name: string, left: Left, { rest, livesMs }: Heir): void {
    const platform = new SimulatedPlatform(this.#world, this.#server, 1, true);
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
    const connect = async (): Promise<void> => {
      try {
        const client = await connectOn(platform, this.#settings(name, {}));
        heir = new Process(name, platform, client, TASKS);
        heir.isDead = isDead;
      } catch (error) {
        const code = codeOf(error);
        this.#tell(`${name} is refused: ${code}`);
        if (code !== "UNAVAILABLE" && code !== "BUSY") throw error;
        return;
      }
      this.#oracle.processes.push(heir);
      this.#adopt(heir, left, rest);
    };
    connect().catch((error: unknown) => {
      this.#problem ??= error;
    });
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
