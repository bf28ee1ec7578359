/**
 * A cluster of real cores in simulated time, with links and disks that do only what they are
 * told. It has small operations (deliver, persist, break, crash) for the random schedules of a
 * property, and large ones (settle, advance, heal) for transcripts. All invariants are checked
 * after every turn.
 */
import { seededRandom } from "../../../lab/random-stream.js";
import type {
  Effects,
  Input,
  Message,
  NodeId,
  Raft,
  RaftConfig,
  Random,
} from "../../../src/raft/index.js";
import { members, NO_MEMBERS, target } from "./configurations.js";
import { ClusterInvariants } from "./invariants.js";
import { ReadChecks } from "./read-checks.js";
import { type SimulatedLink, SimulatedNetwork } from "./simulated-network.js";
import { SimulatedNode } from "./simulated-node.js";

export const TEST_CONFIG: Omit<RaftConfig, "id"> = Object.freeze({
  electionTimeoutMs: 100,
  heartbeatIntervalMs: 20,
  closedPeerDelayMs: 10,
  uncommittedBytesMax: 1 << 20,
  inflightBytesMax: 1 << 16,
  inflightMessagesMax: 4,
  appendBytesMax: 1 << 12,
  spareDelayMs: 0,
});

export interface ClusterOptions {
  /** Voters from the beginning: nodes 1 … size. */
  readonly size: number;
  /** Further nodes that belong to nothing yet, numbered after the others. */
  readonly spares?: number;
  readonly seed?: number;
  readonly config?: Partial<Omit<RaftConfig, "id">>;
  /** In place of one seeded source for all nodes. */
  readonly randomOf?: (id: NodeId) => Random;
  /** Called for the effects of each turn, after they were carried out. */
  readonly onEffects?: (node: SimulatedNode, effects: Effects) => void;
}

export class Cluster {
  nowMs = 1_000;
  readonly ids: readonly NodeId[];
  readonly nodes: readonly SimulatedNode[];
  readonly network: SimulatedNetwork;
  /** Every message that left, in order. */
  readonly sent: Message[] = [];
  readonly readChecks = new ReadChecks();
  private readonly invariants: ClusterInvariants;
  private requests = 0;

  constructor(options: ClusterOptions) {
    const count = options.size + (options.spares ?? 0);
    this.ids = Array.from({ length: count }, (_, at) => at + 1);
    this.network = new SimulatedNetwork(this.ids);
    const initial = members(this.ids.slice(0, options.size));
    const random = seededRandom(options.seed ?? 1);
    this.nodes = this.ids.map(
      (id) =>
        new SimulatedNode({
          config: { ...TEST_CONFIG, ...options.config, id },
          configuration: initial.voters.includes(id) ? initial : NO_MEMBERS,
          random: options.randomOf?.(id) ?? random,
          send: (message) => this.send(message),
          transfer: (transfer) => this.network.transfer(transfer),
          onEffects: (node, effects) => {
            options.onEffects?.(node, effects);
            this.readChecks.onEffects(node, effects);
          },
        }),
    );
    this.invariants = new ClusterInvariants(initial, this.nodes, this.network);
  }

  node(id: NodeId): SimulatedNode {
    const node = this.nodes[id - 1];
    if (node === undefined) throw new Error(`no node ${id}`);
    return node;
  }

  raft(id: NodeId): Raft {
    return this.node(id).raft;
  }

  /** The leader of the highest term among running nodes. */
  get leader(): SimulatedNode | undefined {
    let best: SimulatedNode | undefined;
    for (const node of this.nodes) {
      if (!node.isRunning || node.raft.role !== "leader") continue;
      if (best === undefined || node.raft.term > best.raft.term) best = node;
    }
    return best;
  }

  /** The last index that anybody ever held for committed. */
  get committedIndex(): number {
    return this.invariants.history.committedIndex;
  }

  // Small operations.

  turn(id: NodeId, ...inputs: readonly Input[]): void {
    const node = this.node(id);
    if (!node.isRunning) return;
    node.turn(this.nowMs, ...inputs);
    this.invariants.check(id);
  }

  persist(id: NodeId, count?: number): boolean {
    const node = this.node(id);
    if (!node.isRunning || !node.persist(this.nowMs, count)) return false;
    this.invariants.check(id);
    return true;
  }

  /** Hands over up to `count` messages of a link in one turn of the receiver. */
  deliver(link: SimulatedLink, count = Number.POSITIVE_INFINITY): boolean {
    if (!this.node(link.to).isRunning) return false;
    const messages = link.queue.splice(0, count);
    if (messages.length === 0) return false;
    this.turn(link.to, ...messages.map((message) => ({ type: "message", message }) as const));
    return true;
  }

  propose(id: NodeId, bytes = 8): number {
    const request = this.nextRequest();
    const data = new Uint8Array(bytes);
    new DataView(data.buffer).setUint32(0, request);
    this.turn(id, { type: "propose", id: request, data });
    return request;
  }

  /** Asks at `id` what is committed now, and has the answer checked against it. */
  read(id: NodeId): number {
    const request = this.nextRequest();
    if (!this.node(id).isRunning) return request;
    this.readChecks.onAsked(request, id, this.committedIndex);
    this.turn(id, { type: "readIndex", id: request });
    return request;
  }

  change(id: NodeId, voters: readonly NodeId[], learners: readonly NodeId[] = []): number {
    const request = this.nextRequest();
    this.turn(id, { type: "changeMembership", id: request, target: target(voters, learners) });
    return request;
  }

  /** `to`: 0 for the most complete node. */
  transferLeadership(id: NodeId, to: NodeId): number {
    const request = this.nextRequest();
    this.turn(id, { type: "transferLeadership", id: request, target: to });
    return request;
  }

  beginSnapshot(id: NodeId): boolean {
    const node = this.node(id);
    return node.isRunning && node.beginSnapshot();
  }

  finishSnapshot(id: NodeId, kept = 0): boolean {
    const node = this.node(id);
    if (!node.isRunning || !node.finishSnapshot(this.nowMs, kept)) return false;
    this.invariants.check(id);
    return true;
  }

  /** Takes a snapshot at once and keeps `kept` entries before it. */
  compact(id: NodeId, kept = 0): boolean {
    return this.beginSnapshot(id) && this.finishSnapshot(id, kept);
  }

  /** The oldest snapshot under way on `link` arrives. */
  deliverSnapshot(link: SimulatedLink): boolean {
    const node = this.node(link.to);
    if (!node.isRunning) return false;
    const transfer = link.transfers.shift();
    if (transfer === undefined) return false;
    node.receiveSnapshot(this.nowMs, transfer);
    this.invariants.check(link.to);
    return true;
  }

  /** The sender gives up the oldest snapshot under way on `link`. */
  giveUpSnapshot(link: SimulatedLink): boolean {
    const transfer = link.transfers.shift();
    if (transfer === undefined) return false;
    const { epoch, to: peer } = transfer;
    this.turn(link.from, { type: "snapshotFailed", peer, epoch });
    return true;
  }

  /** What is committed waits from now on to be applied at `id`, or goes on. */
  holdApply(id: NodeId, isHeld: boolean): void {
    const node = this.node(id);
    if (!node.isRunning) return;
    node.isApplyHeld = isHeld;
    this.turn(id);
  }

  start(id: NodeId): void {
    const node = this.node(id);
    if (node.isRunning) return;
    this.invariants.onStart(id);
    node.start(this.nowMs);
    this.invariants.check(id);
  }

  startAll(): void {
    for (const id of this.ids) this.start(id);
  }

  /** The process dies at once; `durableWrites` of what it had handed over survive. */
  crash(id: NodeId, durableWrites = 0): void {
    const node = this.node(id);
    if (!node.isRunning) return;
    node.disk.persist(durableWrites);
    node.crash();
    this.network.end(id);
    this.readChecks.onForgotten(id);
    this.invariants.check(id);
  }

  /** `id` dies and its disk is replaced by an empty one: it belongs to nothing any more. */
  wipe(id: NodeId): void {
    this.crash(id);
    this.node(id).wipe();
    this.invariants.onWiped(id);
  }

  /**
   * Makes `id` again if no vote that it forgets can matter, as an operator would with a lost disk.
   * That takes longer than for the others to see that its process ended.
   */
  remake(id: NodeId): boolean {
    if (!this.invariants.isNobodysVoter(id)) return false;
    this.wipe(id);
    for (const link of this.network.links) if (link.to === id) this.notice(link);
    this.start(id);
    return true;
  }

  /** Breaks a connection; the sender learns of it by `notice`. */
  break(link: SimulatedLink): void {
    this.network.break(link);
  }

  block(from: NodeId, to: NodeId): void {
    const link = this.network.link(from, to);
    link.isBlocked = true;
    this.network.break(link);
  }

  /** Cuts both directions between `group` and everybody else. */
  isolate(...group: readonly NodeId[]): void {
    for (const { from, to } of this.network.links) {
      if (group.includes(from) !== group.includes(to)) this.block(from, to);
    }
  }

  unblockAll(): void {
    for (const link of this.network.links) link.isBlocked = false;
  }

  /** The sender learns that its connection is gone. */
  notice(link: SimulatedLink): boolean {
    if (link.epoch === 0 || link.isAlive || !this.node(link.from).isRunning) return false;
    const { epoch, isClosed: closed } = link;
    link.epoch = 0;
    link.isClosed = false;
    this.turn(link.from, { type: "peerDown", peer: link.to, epoch, closed });
    return true;
  }

  /** Dials where nothing stands and both ends run. */
  connect(link: SimulatedLink): boolean {
    const isPossible = this.node(link.from).isRunning && this.node(link.to).isRunning;
    if (link.isBlocked || link.epoch !== 0 || !isPossible) return false;
    this.network.connect(link);
    this.turn(link.from, { type: "peerUp", peer: link.to, epoch: link.epoch });
    return true;
  }

  // Big operations.

  /** Delivers, persists, notices and connects until nothing is left to do at this time. */
  settle(): void {
    let isBusy = true;
    for (let rounds = 0; isBusy; rounds += 1) {
      if (rounds > 10_000) throw new Error("the cluster never comes to rest");
      isBusy = false;
      for (const link of this.network.links) {
        isBusy = this.notice(link) || isBusy;
        isBusy = this.connect(link) || isBusy;
        isBusy = this.deliver(link) || isBusy;
        isBusy = this.deliverSnapshot(link) || isBusy;
      }
      for (const id of this.ids) isBusy = this.persist(id) || isBusy;
    }
  }

  /** Lets `durationMs` pass, every timer at its time, everything else at once. */
  advance(durationMs: number): void {
    this.settle();
    this.passTime(this.nowMs + durationMs, () => this.settle());
  }

  /** Time passes and timers fire, with nothing delivered and nothing persisted. */
  drift(durationMs: number): void {
    this.passTime(this.nowMs + durationMs, () => {});
  }

  /** Advances until there is a leader, at most `limitMs`. */
  electLeader(limitMs = 2_000): SimulatedNode {
    const endMs = this.nowMs + limitMs;
    while (this.nowMs <= endMs) {
      this.settle();
      const { leader } = this;
      if (leader?.raft.hasQuorumContact) return leader;
      this.advance(5);
    }
    throw new Error(`no leader within ${limitMs} ms: ${this.describe()}`);
  }

  describe(): string {
    return this.nodes
      .map((node) => {
        if (!node.isRunning) return `${node.id}: down`;
        const { role, term, leader, commitIndex, lastIndex } = node.raft;
        return `${node.id}: ${role} of ${term} under ${leader}, ${commitIndex}/${lastIndex}`;
      })
      .join("; ");
  }

  private passTime(endMs: number, afterTimers: () => void): void {
    for (;;) {
      const nextMs = Math.min(...this.running.map((node) => node.nextDeadlineMs));
      if (nextMs > endMs) break;
      this.nowMs = Math.max(this.nowMs, nextMs);
      this.fireTimers();
      afterTimers();
    }
    this.nowMs = endMs;
    for (const { id } of this.running) this.turn(id);
    afterTimers();
  }

  private fireTimers(): void {
    for (const node of this.running) {
      if (node.nextDeadlineMs <= this.nowMs) this.turn(node.id);
    }
  }

  private nextRequest(): number {
    this.requests += 1;
    return this.requests;
  }

  private get running(): SimulatedNode[] {
    return this.nodes.filter((node) => node.isRunning);
  }

  private send(message: Message): void {
    this.invariants.onSend(message);
    this.sent.push(message);
    this.network.send(message);
  }
}
