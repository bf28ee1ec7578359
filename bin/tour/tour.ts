/**
 * The tour of a local cluster: workers that share a lock and write to a fenced resource, and acts that
 * hurt the cluster, one at a time. Each act is measured while it happens, and its outcome is a
 * sentence made of what was measured and nothing else. It acts only on processes of this cluster, and
 * ends by itself when nobody looks any more. Everything that it hurt is mended when it ends.
 */
import { type ChildProcess, fork } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { HoldfastError } from "../../src/errors/index.js";
import { Gate } from "../../src/fence/index.js";
import { type Admin, type Client, connect, connectAdmin } from "../../src/index.js";
import type { LocalCluster } from "../local-cluster/local-cluster.js";
import { onUnplannedExit } from "../output/unplanned-exit.js";
import { GrantProbe } from "./grant-probe.js";
import type { WorkerMessage } from "./tour-worker.js";

const TOUR_KEY = "tour/order";
const PROBE_KEY = "tour/probe";
const WORKER_PROGRAM = fileURLToPath(new URL("./tour-worker.js", import.meta.url));
const NAMES = ["worker-1", "worker-2", "worker-3"] as const;
/** Short, so that the end of a lease can be waited for. */
const WORKER_TTL_MS = 3_000;
/** Short as well: who hears nothing from a node moves to another one after a third of it. */
const PROBE_TTL_MS = 3_000;
/** Nobody asked for its state for so long: the page is gone. */
const UNSEEN_MS_MAX = 20_000;
const POLL_MS = 50;
const ACT_MS_MAX = 30_000;
/** How long it is looked at what a node that is stopped, or started again, does to grants. */
const SETTLE_MS = 3_000;
/** A worker that holds the lock for longer is about to give it back. */
const YOUNG_HOLD_MS = 2_500;
/** With fewer nodes, none can be spared. */
const NODES_MIN = 3;

export type ActName = "killLeader" | "pauseHolder" | "stopNode";
const ACTS: readonly string[] = ["killLeader", "pauseHolder", "stopNode"] satisfies ActName[];

interface Worker {
  readonly name: string;
  readonly child: ChildProcess;
  state: "starts" | "waits" | "holds" | "lost" | "paused";
  /** The token of its hold, or of its last one; 0: it had none. */
  token: number;
  heldSinceMs: number;
  accepted: number;
  refused: number;
}

interface Outcome {
  readonly act: ActName;
  /** "measuring": the sentence comes when it is over. */
  readonly state: "measuring" | "done" | "failed";
  readonly text: string;
}

export interface TourParts {
  readonly cluster: LocalCluster;
  readonly endpoints: readonly string[];
  readonly nodeIds: readonly number[];
}

const NOTHING_DONE = { token: 0, heldSinceMs: 0, accepted: 0, refused: 0 };

export class Tour {
  readonly #parts: TourParts;
  #workers: Worker[] = [];
  #gate = new Gate({ name: "the order of the tour" });
  #newestToken = 0;
  #running: AbortController | undefined;
  #beginning = false;
  #client: Client | undefined;
  #admin: Admin | undefined;
  #probe: GrantProbe | undefined;
  readonly #outcomes = new Map<ActName, Outcome>();
  #isActing = false;
  /** Nodes that this tour stopped or killed and has not mended. */
  readonly #hurt = new Map<number, "killed" | "stopped">();
  #seenAtMs = 0;

  constructor(parts: TourParts) {
    this.#parts = parts;
    onUnplannedExit(() => this.#killWorkers());
  }

  /** What the page shows; asking for it says that somebody looks. */
  state(): unknown {
    this.#seenAtMs = performance.now();
    return {
      isRunning: this.#running !== undefined,
      isActing: this.#isActing,
      key: TOUR_KEY,
      leaseMs: WORKER_TTL_MS,
      newestToken: this.#newestToken,
      workers: this.#workers.map(({ name, state, token, accepted, refused }) => {
        return { name, state, token, accepted, refused };
      }),
      nodes: this.#parts.nodeIds.map((id) => ({ id, state: this.#nodeState(id) })),
      outcomes: [...this.#outcomes.values()],
    };
  }

  /** Resolves to the reason why it is not done. What was begun goes on after that. */
  async act(name: string): Promise<string | undefined> {
    if (name === "begin") return this.#begin();
    if (name === "end") return this.#endByWish();
    if (this.#running === undefined) return "the tour has not begun";
    if (this.#isActing) return "another act is under way";
    if (name === "mend") return this.#mendByWish();
    if (!ACTS.includes(name)) return "there is no such act";
    const isOfNodes = name !== "pauseHolder";
    if (isOfNodes && this.#parts.nodeIds.length < NODES_MIN) return "it takes three nodes or more";
    if (this.#hurt.size > 0) return "a node is down: mend the cluster first";
    this.#actInBackground(name as ActName);
    return undefined;
  }

  /** Ends the workers and mends what was hurt. */
  async end(): Promise<void> {
    this.#running?.abort();
    this.#running = undefined;
    this.#killWorkers();
    this.#mend();
    const [client, admin] = [this.#client, this.#admin];
    this.#client = undefined;
    this.#admin = undefined;
    await Promise.all([client?.close(), admin?.close()]);
  }

  async #begin(): Promise<string | undefined> {
    if (this.#running !== undefined || this.#beginning) return undefined;
    this.#beginning = true;
    try {
      const endpoints = [...this.#parts.endpoints];
      this.#client = await connect({ endpoints, name: "tour probe", ttlMs: PROBE_TTL_MS });
      this.#admin = await connectAdmin({ endpoints, timeoutMs: 5_000 });
    } catch (error) {
      await this.end();
      if (error instanceof HoldfastError) return error.message;
      throw error;
    } finally {
      this.#beginning = false;
    }
    const running = new AbortController();
    this.#running = running;
    this.#outcomes.clear();
    this.#seenAtMs = performance.now();
    this.#probe = new GrantProbe(this.#client, PROBE_KEY);
    this.#gate = new Gate({ name: "the order of the tour" });
    this.#newestToken = 0;
    this.#workers = NAMES.map((name) => this.#startWorker(name));
    void this.#probe.run(running.signal);
    void this.#watchViewer(running.signal);
    return undefined;
  }

  async #endByWish(): Promise<undefined> {
    await this.end();
    return undefined;
  }

  #mendByWish(): undefined {
    this.#mend();
    return undefined;
  }

  async #watchViewer(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await delay(1_000, undefined, { ref: false });
      if (signal.aborted || performance.now() - this.#seenAtMs < UNSEEN_MS_MAX) continue;
      await this.end();
    }
  }

  #startWorker(name: string): Worker {
    const child = fork(WORKER_PROGRAM, [], { stdio: "ignore" });
    const worker: Worker = { name, child, state: "starts", ...NOTHING_DONE };
    child.on("error", () => undefined);
    child.on("message", (message) => this.#hear(worker, message as WorkerMessage));
    child.send({ endpoints: this.#parts.endpoints, name, key: TOUR_KEY, ttlMs: WORKER_TTL_MS });
    return worker;
  }

  #hear(worker: Worker, message: WorkerMessage): void {
    if (message.type === "writes") {
      this.#write(worker, message.token);
      return;
    }
    worker.state = message.type;
    if (message.type !== "holds") return;
    worker.token = message.token;
    worker.heldSinceMs = performance.now();
  }

  /** The resource: it does what a guarded database does, by the same gate that the package offers. */
  #write(worker: Worker, token: number): void {
    try {
      this.#gate.admit({ token, mode: "exclusive" });
      this.#newestToken = Math.max(this.#newestToken, token);
      worker.accepted += 1;
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === "STALE_TOKEN")) throw error;
      worker.refused += 1;
    }
  }

  #actInBackground(act: ActName): void {
    this.#isActing = true;
    this.#outcomes.set(act, { act, state: "measuring", text: "" });
    const measured: Promise<string> = {
      killLeader: () => this.#killLeader(),
      pauseHolder: () => this.#pauseHolder(),
      stopNode: () => this.#stopNode(),
    }[act]();
    void measured
      .then((text) => this.#outcomes.set(act, { act, state: "done", text }))
      .catch((error: unknown) => {
        const text = error instanceof Error ? error.message : String(error);
        this.#outcomes.set(act, { act, state: "failed", text });
      })
      .finally(() => {
        this.#isActing = false;
      });
  }

  async #killLeader(): Promise<string> {
    const { leader, holder } = await this.#before();
    const { token } = holder;
    const sinceMs = performance.now();
    this.#hurt.set(leader, "killed");
    this.#parts.cluster.processOf(leader)?.kill();
    const isGranting = (): boolean => (this.#probe?.countSince(performance.now() - 500) ?? 0) > 2;
    // A grant that was on its way did not come from another leader.
    await this.#until("another leader", () => performance.now() - sinceMs > 500 && isGranting());
    const next = await this.#leader();
    const gapMs = this.#gapMs(sinceMs);
    const kept =
      holder.token === token && holder.state === "holds"
        ? `${holder.name} kept its lock, token ${token}`
        : `${holder.name} ended its turn as usual; the newest fencing token is ${this.#newestToken}`;
    const who = `Node ${leader} was killed, node ${next} leads now.`;
    return `${who} For ${gapMs} ms nothing was granted. ${kept}, and ${this.#refusedText()}.`;
  }

  async #pauseHolder(): Promise<string> {
    const { holder } = await this.#before();
    const { token, refused } = holder;
    holder.child.kill("SIGSTOP");
    holder.state = "paused";
    const sinceMs = performance.now();
    try {
      await this.#until("the next worker", () => this.#holderAfter(token) !== undefined);
      const waitedMs = Math.round(performance.now() - sinceMs);
      const next = this.#holderAfter(token);
      await this.#until("a write of the next worker", () => this.#newestToken > token);
      holder.child.kill("SIGCONT");
      await this.#until("the late write", () => holder.refused > refused);
      const late = `When ${holder.name} went on, it wrote with token ${token}, and the fence refused that`;
      return `${next?.name} got the lock ${waitedMs} ms after ${holder.name} was paused, when its lease of ${WORKER_TTL_MS} ms was over; the fencing token went from ${token} to ${next?.token}. ${late}.`;
    } finally {
      holder.child.kill("SIGCONT");
    }
  }

  async #stopNode(): Promise<string> {
    const { leader, holder } = await this.#before();
    const node = this.#parts.nodeIds.find((id) => id !== leader) ?? leader;
    const sinceMs = performance.now();
    this.#hurt.set(node, "stopped");
    this.#parts.cluster.processOf(node)?.pause();
    await delay(SETTLE_MS);
    const granted = this.#probe?.countSince(sinceMs) ?? 0;
    const gapMs = this.#gapMs(sinceMs);
    const rest = `Node ${node} stands still and ${this.#parts.nodeIds.length - 1} nodes go on.`;
    const what = `In ${SETTLE_MS} ms the probe was granted ${granted} times, with at most ${gapMs} ms between two`;
    return `${rest} ${what}. ${holder.name} had token ${holder.token}, and ${this.#refusedText()}.`;
  }

  /** Everything is well: somebody holds the lock, with time left, and somebody waits. */
  async #before(): Promise<{ readonly leader: number; readonly holder: Worker }> {
    await this.#until("a worker that has just got the lock", () => {
      const holder = this.#holder();
      if (holder === undefined || this.#newestToken !== holder.token) return false;
      return performance.now() - holder.heldSinceMs < YOUNG_HOLD_MS;
    });
    const leader = await this.#leader();
    const holder = this.#holder();
    if (holder === undefined) throw new Error("no worker holds the lock: try again");
    return { leader, holder };
  }

  #holder(): Worker | undefined {
    return this.#workers.find(({ state }) => state === "holds");
  }

  #holderAfter(token: number): Worker | undefined {
    return this.#workers.find((worker) => worker.state === "holds" && worker.token > token);
  }

  async #leader(): Promise<number> {
    const admin = this.#admin;
    if (admin === undefined) throw new Error("the tour is over");
    return (await admin.members()).leaderId;
  }

  #gapMs(sinceMs: number): number {
    return Math.round(this.#probe?.longestGapMs(sinceMs, performance.now()) ?? 0);
  }

  #refusedText(): string {
    const refused = this.#workers.reduce((sum, worker) => sum + worker.refused, 0);
    if (refused === 0) return "the fence had nothing to refuse";
    return `the fence has refused ${refused} late ${refused === 1 ? "write" : "writes"} so far`;
  }

  async #until(what: string, isSo: () => boolean): Promise<void> {
    const deadlineMs = performance.now() + ACT_MS_MAX;
    while (!isSo()) {
      if (this.#running === undefined) throw new Error("the tour was ended");
      if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
      await delay(POLL_MS);
    }
  }

  #nodeState(id: number): "runs" | "killed" | "stopped" {
    if (this.#parts.cluster.processOf(id) === undefined) return "killed";
    return this.#hurt.get(id) === "stopped" ? "stopped" : "runs";
  }

  #mend(): void {
    for (const [id, how] of this.#hurt) {
      if (how === "stopped") this.#parts.cluster.processOf(id)?.resume();
      else this.#parts.cluster.startNode(id);
    }
    this.#hurt.clear();
  }

  #killWorkers(): void {
    for (const { child } of this.#workers) {
      // A paused process ends, too.
      child.kill("SIGKILL");
    }
    this.#workers = [];
  }
}
