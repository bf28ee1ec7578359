/** Carries out faults and undoes them: each at its time, or all of them at once. */
import { unreachable } from "../../../src/errors/index.js";
import { type MemberAction, OP } from "../../../src/protocol/index.js";
import { votersOf } from "../../../src/raft/index.js";
import { SdkClient } from "../clients/sdk/sdk-client.js";
import type { Fault } from "../plan/fault.js";
import { DataLoss } from "./data-loss.js";
import type { CrashKind, NodeDisk } from "./disk/node-disk.js";
import type { SimNode } from "./node/sim-node.js";
import type { SimWorld } from "./sim-world.js";

/** How the answers to a stranded node get later: less at a time than a leader can bear. */
const STRAND_STEP_MS = 10;
const STRAND_STEP_EVERY_MS = 15;
/** Between the second of two ends in a row and the next start. */
const SECOND_DOWN_MS = 100;
/** So long a node that was added has to catch up. */
const LEARNING_MS = 300;

export class FaultInjector {
  readonly #world: SimWorld;
  readonly #onFault: (text: string) => void;
  readonly #onBegun: (fault: Fault) => void;
  readonly #inForce = new Set<() => void>();
  readonly #loss: DataLoss;
  #isOver = false;
  /** Faults that found something to break. */
  episodes = 0;

  /** `onBegun` gets each fault as it begins, with a node in the place of `LEADER`. */
  constructor(
    world: SimWorld,
    onFault: (text: string) => void,
    onBegun: (fault: Fault) => void = () => {},
  ) {
    this.#world = world;
    this.#onFault = onFault;
    this.#loss = new DataLoss(world, {
      crash: (id, kind, downMs) => this.#crash(id, kind, downMs, 0),
      cut: (from, to, forMs) => this.#cut(from, to, forMs),
      damaged: (node, done) => this.#onDamaged(node, done),
      later: (delayMs, task) => this.#later(delayMs, task),
      undoAtEnd: (undo) => this.#inForce.add(undo),
      undoAfter: (delayMs, undo) => this.#undoAfter(delayMs, undo),
    });
    this.#onBegun = onBegun;
  }

  /** `fromMs`: from when on the times of the faults count. */
  plan(faults: readonly Fault[], fromMs = 0): void {
    for (const fault of faults) {
      this.#world.simulation.at(fromMs + fault.atMs, () => {
        if (!this.#isOver) this.#begin(fault);
      });
    }
  }

  /** Takes back everything in force; what is planned does not come any more. */
  end(): void {
    this.#isOver = true;
    this.#world.operator.end();
    for (const undo of [...this.#inForce]) undo();
  }

  #begin(planned: Fault): void {
    const fault = this.#resolved(planned);
    this.#onFault(JSON.stringify(fault));
    this.#onBegun(fault);
    this.episodes += 1;
    switch (fault.kind) {
      case "crash":
        this.#crash(fault.node, fault.crash, fault.downMs, fault.afterEffects);
        return;
      case "crashAll":
        for (const { id } of this.#world.nodes) {
          this.#crash(id, fault.crash, fault.downMs, 0);
        }
        return;
      case "crashAtMoment":
        this.#crashAtMoment(fault);
        return;
      case "aloneAtInstall":
        this.#leaveAloneAtInstall(fault);
        return;
      case "lateTurns":
        this.#beLate(fault.node, fault.heartbeats, fault.forMs);
        return;
      case "holdAnswers":
        this.#holdAnswers(fault);
        return;
      case "cutAtAsking":
        this.#application(fault.client)?.atNextAsking(fault.question, () => {
          this.#later(fault.afterMs, () => this.#cutOff([fault.client], fault.forMs));
        });
        return;
      case "pause":
        this.#pause(fault.node, fault.forMs);
        return;
      case "freeze":
        this.#freeze(fault.node, fault.forMs, fault.isAsleep);
        return;
      case "hangWriteNow": {
        const node = this.#world.node(fault.node);
        node.disk.weather.hangWriteNow(() => {
          // To everybody else it stands still.
          this.#onBegun({ ...fault, kind: "pause" });
          node.beBusy(fault.forMs);
        });
        return;
      }
      case "failWriteNow": {
        const { weather } = this.#world.node(fault.node).disk;
        const ending = { crash: "kill", downMs: 0, afterEffects: 0 } as const;
        weather.failWriteNow(() => this.#onBegun({ ...fault, ...ending, kind: "crash" }));
        return;
      }
      case "suspendClient":
        this.#suspendClient(fault.client, fault.forMs, fault.wallMs);
        return;
      case "jumpClientWall":
        this.#application(fault.client)?.jumpWall(fault.byMs);
        return;
      case "pauseClient":
        this.#pauseClient(fault.client, fault.forMs, fault.whenGranted);
        return;
      case "reconnectClient":
        this.#client(fault.client)?.reconnect();
        return;
      case "cutAtAttach":
        this.#application(fault.client)?.atNextAttach(() => {
          if (!this.#isOver) this.#cutOff([fault.client], fault.forMs);
        });
        return;
      case "restartClient":
        this.#restartClient(fault);
        return;
      case "partition":
        this.#cutOff(fault.side, fault.forMs);
        return;
      case "bridge":
      case "cut":
        for (const [from, to] of this.#cutsOf(fault)) this.#cut(from, to, fault.forMs);
        return;
      case "reset":
        this.#world.peers.reset(fault.from, fault.to);
        return;
      case "slow":
        this.#slow(fault.from, fault.to, fault.byMs, fault.forMs);
        return;
      case "disorder":
        this.#world.peers.disorder = fault.share;
        this.#undoAfter(fault.forMs, () => {
          this.#world.peers.disorder = 0;
        });
        return;
      case "crashLeaders":
        for (let at = 0; at < fault.times; at += 1) {
          this.#later(at * fault.everyMs, () => {
            const { crash, downMs, afterEffects } = fault;
            this.#crash(this.#world.leaderId, crash, downMs, afterEffects);
          });
        }
        return;
      case "strand":
        this.#strand(fault);
        return;
      case "learnersOnly":
        this.#leaveLearners(fault.member, fault.forMs);
        return;
      case "transfer":
        this.#world.operator.ask({ op: OP.transfer, node: fault.node });
        return;
      case "changeMember":
        this.#changeMember(fault.action, fault.node);
        if (fault.crashAfterMs === 0) return;
        this.#later(fault.crashAfterMs, () => {
          this.#crash(this.#world.leaderId, "kill", fault.downMs, 0);
        });
        return;
      case "jumpWall":
        this.#world.node(fault.node).clock.jumpWall(fault.byMs);
        return;
      case "otherVersion":
        this.#loss.runOther(this.#world.node(fault.node), fault);
        return;
      case "scarceMemory":
        this.#scarceMemory(fault.node, fault.forMs);
        return;
      default:
        this.#breakDisk(fault);
    }
  }

  /** With a node in the place of `LEADER`. */
  #resolved(fault: Fault): Fault {
    const world = this.#world;
    if (fault.kind === "partition") {
      return { ...fault, side: fault.side.map((id) => world.idAt(id)) };
    }
    if (fault.kind === "transfer" || !("node" in fault)) return fault;
    return { ...fault, node: world.idAt(fault.node) };
  }

  /** `asked`: by way of which node; default: any. */
  #changeMember(action: MemberAction, node: number, asked?: number): void {
    const address = action === "add" ? `node-${node}:1` : undefined;
    if (action === "add") this.#world.letGo(node);
    this.#world.operator.ask({ op: OP.changeMember, action, node, address }, asked);
  }

  #breakDisk(fault: DiskFault): void {
    const node = this.#world.node(fault.node);
    const { weather } = node.disk;
    const { simulation } = this.#world;
    switch (fault.kind) {
      case "hangDisk":
        weather.hang(simulation.nowMs + fault.forMs);
        return;
      case "slowDisk":
        weather.slowFactor *= fault.factor;
        this.#undoAfter(fault.forMs, () => {
          weather.slowFactor = Math.max(1, weather.slowFactor / fault.factor);
        });
        return;
      case "fullDisk":
        weather.isFull = true;
        this.#undoAfter(fault.forMs, () => {
          weather.isFull = false;
        });
        return;
      case "failWrite":
        weather.failWriteAfter(fault.afterOperations);
        return;
      case "failRead":
        this.#crash(fault.node, "kill", fault.downMs, 0);
        weather.failReadAfter(fault.afterOperations);
        return;
      case "flipBits":
      case "loseSegment":
      case "loseRecords":
      case "loseKeys":
        this.#damage(node, fault);
        return;
      case "rot":
        this.#loss.rot(node, fault);
        return;
      case "recover":
        this.#loss.recover(node, fault.isLost);
        return;
      case "oldCopy":
        this.#loss.putOldCopyBack(node, fault);
        return;
      case "wipeDisk":
        this.#wipe(node, fault.downMs);
        return;
      default:
        unreachable(fault);
    }
  }

  #damage(node: SimNode, fault: DamageFault): void {
    if (node.state === "quarantined") return;
    this.#crash(node.id, "power", fault.downMs, 0);
    const { disk } = node;
    const done = damageOn(disk, fault);
    this.#onDamaged(node, done);
  }

  #onDamaged(node: SimNode, done: readonly string[]): void {
    if (done.length > 0) node.onDamaged();
    this.#onFault(`damaged on node ${node.id}: ${done.join(", ")}`);
  }

  /** A node that never saw it cannot distinguish it from a new one: then nothing is done. */
  #wipe(node: SimNode, downMs: number): void {
    const others = this.#world.nodes.filter(({ id }) => id !== node.id);
    const isKnown = others.every((other) => other.remembers(node));
    if (node.state === "quarantined" || !isKnown) return;
    this.#crash(node.id, "power", downMs, 0);
    node.wipe();
    this.#onFault(`nothing is left on the disk of node ${node.id}`);
  }

  #crash(id: number, kind: CrashKind, downMs: number, afterEffects: number): void {
    const node = this.#world.node(id);
    if (node.state === "quarantined") return;
    this.#world.hold(id);
    if (afterEffects > 0) node.crashAfterEffects(afterEffects, kind);
    else node.crash(kind);
    this.#undoAfter(downMs, () => {
      // Where the effect never came, the process ends now, and a moment later it starts again.
      if (afterEffects > 0) node.crash(kind);
      this.#world.letGo(id);
    });
  }

  /** Two starts in a row: the second process has to make sense of what the first one left as it began. */
  #crashAtMoment(fault: MomentFault): void {
    const { node: id, moment, crash, downMs, afterEffects, againAfterEffects } = fault;
    this.#world.node(id).disk.atMoment(moment, () => {
      if (this.#isOver) return;
      // What is about to be done is the first effect.
      this.#crash(id, crash, downMs, 1 + afterEffects);
      this.#later(downMs, () => this.#crash(id, "kill", SECOND_DOWN_MS, againAfterEffects));
    });
  }

  #leaveAloneAtInstall({ node: id, awayMs, hangMs, downMs }: AloneAtInstallFault): void {
    const { simulation } = this.#world;
    const { disk } = this.#world.node(id);
    this.#cutOff([id], awayMs);
    disk.atMoment("installNamed", () => {
      if (this.#isOver) return;
      disk.weather.hang(simulation.nowMs + hangMs);
      this.#later(0, () => this.#crash(this.#world.leaderId, "kill", downMs, 0));
    });
  }

  #beLate(id: number, heartbeats: number, forMs: number): void {
    const node = this.#world.node(id);
    const byMs = heartbeats * node.tuning.heartbeatIntervalMs;
    node.lateMs += byMs;
    this.#undoAfter(forMs, () => {
      node.lateMs -= byMs;
    });
  }

  #holdAnswers({ client: host, byMs, forMs, pauseMs }: HeldAnswersFault): void {
    for (const { id } of this.#world.nodes) this.#slow(id, host, byMs, forMs);
    if (pauseMs > 0) this.#pauseClient(host, pauseMs, false);
  }

  #pause(id: number, forMs: number): void {
    const node = this.#world.node(id);
    if (node.state !== "running") return;
    node.pause();
    this.#undoAfter(forMs, () => node.resume());
  }

  /** What was on its way to it is sent again when it goes on. */
  #freeze(id: number, forMs: number, isAsleep: boolean): void {
    const { clock } = this.#world.node(id);
    if (isAsleep) {
      clock.sleep();
      this.#undoAfter(forMs, () => clock.wake());
    }
    this.#pause(id, forMs);
    for (const { id: other } of this.#world.nodes) {
      if (other === id) continue;
      this.#cut(other, id, forMs);
      this.#cut(id, other, forMs);
    }
  }

  /** Whatever process the node has meanwhile. */
  #scarceMemory(id: number, forMs: number): void {
    const { memory } = this.#world.node(id);
    memory.isScarce = true;
    this.#undoAfter(forMs, () => {
      memory.isScarce = false;
    });
  }

  #pauseClient(host: number, forMs: number, whenGranted: boolean): void {
    const client = this.#client(host);
    if (client === undefined) return;
    const pause = (): void => {
      if (this.#isOver) return;
      client.pause();
      this.#undoAfter(forMs, () => client.resume());
    };
    if (whenGranted) client.atNextGrant(pause);
    else pause();
  }

  #restartClient({ client: host, how, downMs, afterUpgradeMs }: RestartFault): void {
    const client = this.#application(host);
    if (client === undefined) return;
    const restart = (): void => {
      client.end(how, afterUpgradeMs === undefined);
      this.#undoAfter(downMs, () => client.begin());
    };
    if (afterUpgradeMs === undefined) restart();
    else client.atNextAsking("upgrade", () => this.#later(afterUpgradeMs, restart));
  }

  #suspendClient(host: number, forMs: number, wallMs: number): void {
    const client = this.#application(host);
    const wake = client?.suspend();
    if (client === undefined || wake === undefined) return;
    client.jumpWall(wallMs);
    this.#undoAfter(forMs, wake);
  }

  #application(host: number): SdkClient | undefined {
    const client = this.#client(host);
    return client instanceof SdkClient ? client : undefined;
  }

  #cut(from: number, to: number, forMs: number): void {
    this.#world.paths.cut(from, to);
    this.#undoAfter(forMs, () => this.#world.paths.mend(from, to));
  }

  /** Slower by little at a time: a leader whose answers stop at once gives up. */
  #strand({ node, byMs, forMs, act, member }: StrandFault): void {
    const others = this.#world.nodes.map(({ id }) => id).filter((id) => id !== node);
    const steps = Math.ceil(byMs / STRAND_STEP_MS);
    for (let step = 0; step < steps; step += 1) {
      this.#later(step * STRAND_STEP_EVERY_MS, () => {
        for (const other of others) this.#slow(other, node, STRAND_STEP_MS, forMs);
      });
    }
    this.#later(steps * STRAND_STEP_EVERY_MS + byMs, () => {
      if (act === "transfer") {
        this.#world.operator.ask({ op: OP.transfer, node: 0 }, node);
        return;
      }
      for (const other of others) this.#cut(node, other, forMs);
      if (act === "cutAndChange") this.#changeMemberAt(node, member);
    });
  }

  /** Learners answer the leader, and voters do not. */
  #leaveLearners(member: number, forMs: number): void {
    const { voters, learners } = this.#world.members;
    if (![...voters, ...learners].includes(member)) this.#changeMember("add", member);
    this.#later(LEARNING_MS, () => {
      const { leaderId, members } = this.#world;
      for (const voter of votersOf(members)) {
        if (voter === leaderId) continue;
        this.#cut(leaderId, voter, forMs);
        this.#cut(voter, leaderId, forMs);
      }
    });
  }

  /** Takes the next step with `member` that its place in the cluster admits, or takes it back. */
  #changeMemberAt(node: number, member: number): void {
    const { voters, learners } = this.#world.members;
    if (voters.includes(member)) this.#changeMember("demote", member, node);
    else this.#changeMember(learners.includes(member) ? "promote" : "add", member, node);
  }

  #slow(from: number, to: number, byMs: number, forMs: number): void {
    this.#world.paths.slow(from, to, byMs);
    this.#undoAfter(forMs, () => this.#world.paths.slow(from, to, -byMs));
  }

  /** These, nodes and clients, from all others. */
  #cutOff(side: readonly number[], forMs: number): void {
    const { nodes, clients } = this.#world;
    const hosts = [...nodes.map(({ id }) => id), ...clients.map(({ host }) => host)];
    const cuts = pairsOf(hosts, (from, to) => side.includes(from) !== side.includes(to));
    for (const [from, to] of cuts) this.#cut(from, to, forMs);
  }

  #cutsOf(fault: CutFault): [from: number, to: number][] {
    if (fault.kind === "cut") return [[fault.from, fault.to]];
    const ids = this.#world.nodes.map(({ id }) => id);
    return pairsOf(ids, (from, to) => {
      // The bridge sees everybody; of the others, those before and behind it do not see each other.
      if (from === fault.node || to === fault.node) return false;
      return isBefore(from, fault.node, ids.length) !== isBefore(to, fault.node, ids.length);
    });
  }

  #client(host: number) {
    return this.#world.clients.find((client) => client.host === host);
  }

  #later(delayMs: number, task: () => void): void {
    this.#world.simulation.after(delayMs, () => {
      if (!this.#isOver) task();
    });
  }

  #undoAfter(delayMs: number, undo: () => void): void {
    const once = (): void => {
      if (this.#inForce.delete(once)) undo();
    };
    this.#inForce.add(once);
    this.#world.simulation.after(delayMs, once);
  }
}

type AloneAtInstallFault = Extract<Fault, { readonly kind: "aloneAtInstall" }>;
type MomentFault = Extract<Fault, { readonly kind: "crashAtMoment" }>;
type HeldAnswersFault = Extract<Fault, { readonly kind: "holdAnswers" }>;
type RestartFault = Extract<Fault, { readonly kind: "restartClient" }>;
type CutFault = Extract<Fault, { readonly kind: "bridge" | "cut" }>;
type StrandFault = Extract<Fault, { readonly kind: "strand" }>;
type DamageFault = Extract<
  Fault,
  { readonly kind: "flipBits" | "loseSegment" | "loseRecords" | "loseKeys" }
>;
type DiskFault =
  | DamageFault
  | Extract<
      Fault,
      {
        readonly kind:
          | "hangDisk"
          | "slowDisk"
          | "fullDisk"
          | "failWrite"
          | "failRead"
          | "rot"
          | "recover"
          | "oldCopy"
          | "wipeDisk";
      }
    >;

function damageOn(disk: NodeDisk, fault: DamageFault): string[] {
  switch (fault.kind) {
    case "flipBits":
      return disk.flipBits(fault.bits);
    case "loseSegment":
      return disk.loseSegment();
    case "loseRecords":
      return disk.loseRecords(fault.isTail);
    case "loseKeys":
      return disk.loseKeys(fault.keys);
    default:
      return unreachable(fault);
  }
}

function pairsOf(
  hosts: readonly number[],
  isCut: (from: number, to: number) => boolean,
): [from: number, to: number][] {
  return hosts.flatMap((from) => {
    const others = hosts.filter((to) => to !== from && isCut(from, to));
    return others.map((to): [number, number] => [from, to]);
  });
}

/** Whether `id` is in the first half of the circle of nodes that begins after `bridge`. */
function isBefore(id: number, bridge: number, count: number): boolean {
  const place = (id - bridge + count) % count;
  return place <= (count - 1) / 2;
}
