/**
 * The loop of one node in one group. It collects the inputs since the last turn, steps the core,
 * takes the effects, and owns their order: send what may leave now, hand the write to the log, send
 * what waited for durability, apply what is committed, answer, flush. In one turn it takes effects
 * again only after the log has written a record at once. It knows the world only by its ports, and
 * no sockets, timers, clocks or random numbers; the simulator runs this same code.
 */
import { assert, HoldfastError } from "../../errors/index.js";
import type { TableCounts } from "../../lockfsm/index.js";
import type { GatewayEvents, PageCaller, PeerEvents, PeerMessage } from "../../net/index.js";
import {
  type LeaderNotice,
  type LeaderOperation,
  MESSAGE,
  type NodeEndpoint,
} from "../../protocol/index.js";
import {
  type Configuration,
  type Effects,
  type Input,
  type Message,
  membersOf,
  type NodeId,
  type RefusalReason,
  type Write,
} from "../../raft/index.js";
import { HAND_OVER_ID } from "../commands/leadership-hand-over.js";
import { type AccessRefusal, accessProblem } from "../reads/read-rights.js";
import type { NamedSnapshots, SnapshotTurn } from "../snapshots/ports.js";
import {
  type DriverHost,
  type DriverParts,
  earliestDeadlineMs,
  wireDriver,
} from "./driver-parts.js";
import type { DriverOptions, DriverPorts, DriverStatus, PageRight } from "./driver-ports.js";
import { driverStatus } from "./driver-status.js";

/** A turn that takes longer than this keeps clients and peers waiting. */
const SLOW_TURN_MS = 20;

export class Driver implements DriverHost {
  /** For the gateway and for the links to peers. */
  readonly clientEvents: GatewayEvents;
  readonly peerEvents: PeerEvents;
  readonly #options: DriverOptions;
  readonly #ports: DriverPorts;
  readonly #parts: DriverParts;
  readonly #turnTask = (): void => this.#turnOrFail();
  readonly #sendRaft = (message: Message): void => {
    if (message.type === "appendReply" && message.needsSnapshot) {
      this.#parts.entryCheck.noteAsked(message);
    }
    this.send(message.to, { type: "raft", message });
  };
  #turn = 0;
  #isStarted = false;
  #isStopped = false;
  #isScheduled = false;
  #durableSeq = 0;
  #raftDeadlineMs = Number.POSITIVE_INFINITY;
  #hasUnflushedPeers = false;
  #leaderChangesTotal = 0;
  #announcedLeader: NodeId = 0;

  constructor(options: DriverOptions, ports: DriverPorts) {
    this.#options = options;
    this.#ports = ports;
    this.#durableSeq = ports.log.boot.lastSeq;
    this.#parts = wireDriver(options, ports, this);
    this.clientEvents = this.#parts.clientSide;
    this.peerEvents = this.#parts.peerSide;
  }

  get nodeId(): NodeId {
    return this.#options.nodeId;
  }

  /** The number of the current turn, or of the last one. */
  get turn(): number {
    return this.#turn;
  }

  get servingLeader(): NodeId {
    const { raft } = this.#ports;
    return raft.hasQuorumContact ? raft.leader : 0;
  }

  /** The cluster is closed, so that pages are only for callers with a credential. */
  expectPages(): void {
    this.#parts.signIn.expectPages();
    this.wake();
  }

  /** Whether that caller may read pages about the cluster. */
  judgePage(caller: PageCaller): PageRight {
    const { members, signIn } = this.#parts;
    const { certifiedNode } = caller;
    if (certifiedNode !== undefined && members.isMember(certifiedNode)) return "granted";
    const right = signIn.judgePage(caller);
    if (right === "unsure") this.wake();
    return right;
  }

  /** What clients may connect to, as far as the peers have reported it. */
  get endpoints(): readonly NodeEndpoint[] {
    const { nodeId, advertise } = this.#options;
    const ids = membersOf(this.configuration);
    // The members are unknown until a leader has sent them.
    const isMember = (id: NodeId): boolean => ids.length === 0 || ids.includes(id);
    const endpoints = [{ id: nodeId, endpoint: advertise }, ...this.#parts.peerSide.endpoints];
    return endpoints.filter(({ id }) => isMember(id)).sort((a, b) => a.id - b.id);
  }

  /**
   * Where peers that are members serve Redis clients, as far as they have reported it, by their ids.
   */
  get redisAddresses(): ReadonlyMap<NodeId, string> {
    const addresses = new Map<NodeId, string>();
    for (const id of membersOf(this.configuration)) {
      const address = this.#parts.peerSide.redisAddressOf(id);
      if (address !== undefined) addresses.set(id, address);
    }
    return addresses;
  }

  get configuration(): Configuration {
    return this.#ports.raft.configuration;
  }

  get appliedConfiguration(): Configuration {
    return this.#parts.applier.configuration;
  }

  /** A new leader does not know what is committed before it has committed an entry of its term. */
  get sureCommitIndex(): number | undefined {
    const { raft } = this.#ports;
    const { role, commitIndex, term } = raft;
    const isSure = role === "leader" && raft.hasQuorumContact && raft.matches(commitIndex, term);
    return isSure ? commitIndex : undefined;
  }

  get appliedIndex(): number {
    return this.#parts.applier.index;
  }

  /** Since the start, of all nodes' clients. */
  get commandsAppliedTotal(): number {
    return this.#parts.applier.commandCount;
  }

  judge(credential: number, operation: LeaderOperation): AccessRefusal | undefined {
    return accessProblem(this.#ports.table.viewerOf(credential), operation);
  }

  get status(): DriverStatus {
    return driverStatus(this.#ports, this.#parts, this.#leaderChangesTotal);
  }

  /** The sizes of the table, and what it has counted since the node caught up. */
  get counts(): TableCounts {
    return this.#parts.catchUp.since(this.#ports.table.counts());
  }

  membersView(): unknown {
    const { members, peerSide } = this.#parts;
    const { incarnation } = this.#options;
    return members.view(this.#ports.raft, this.endpoints, peerSide.incarnations, incarnation);
  }

  /** Starts the log and the loop. */
  start(): void {
    this.#isStarted = true;
    const { peerSide, handOver, members, times } = this.#parts;
    this.#ports.log.start({
      onDurable: (seq) => {
        this.#durableSeq = seq;
        peerSide.push({ type: "persisted", seq });
      },
      onSynced: (tookMs) => times.onLogSynced(tookMs),
      onFailure: (error) => this.fail(error),
      onSpace: (error) => {
        this.#ports.logger("warn", "log space", { error: error?.message ?? "there is room again" });
        handOver.onSpace(error !== undefined);
        this.wake();
      },
    });
    this.#onConfiguration(this.configuration, this.#ports.clock.nowMs());
    members.onApplied(this.appliedConfiguration);
    this.wake();
  }

  /**
   * Hands leadership over before `stop`, and sends the clients to other nodes. Resolves when this
   * node no longer leads, or no other node could take over.
   */
  async leave(): Promise<void> {
    if (this.#isStopped) return;
    const left = this.#parts.handOver.stop();
    this.wake();
    await left;
  }

  /** There are no more turns after this. Resolves when no call of the store is under way. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#ports.scheduler.disarm();
    this.#parts.handOver.onTurn(false);
    const { snapshots, observation } = this.#parts;
    return Promise.all([snapshots.stop(), observation.stop()]).then(() => {});
  }

  wake(): void {
    if (this.#isScheduled || !this.#isStarted || this.#isStopped) return;
    this.#isScheduled = true;
    this.#ports.scheduler.soon(this.#turnTask);
  }

  send(peer: NodeId, message: PeerMessage): void {
    this.#hasUnflushedPeers = true;
    this.#ports.peers.send(peer, this.#options.group, message);
  }

  step(input: Input): void {
    this.#ports.raft.step(input);
  }

  fail(cause: unknown): void {
    if (this.#isStopped) return;
    this.stop().catch(() => {});
    this.#ports.onFailure(cause instanceof Error ? cause : new Error(String(cause)));
  }

  onCommitInterest(peer: NodeId, isInterested: boolean): void {
    this.step({ type: "commitInterest", peer, isInterested });
  }

  #turnOrFail(): void {
    this.#isScheduled = false;
    if (this.#isStopped) return;
    try {
      this.#runTurn();
    } catch (error) {
      this.fail(error);
    }
  }

  #runTurn(): void {
    const { raft, clock, gateway } = this.#ports;
    const { leaderView, peerRequests, peerSide, forwarding, operations } = this.#parts;
    const { applier, snapshots, observation, signIn, times } = this.#parts;
    const nowMs = clock.nowMs();
    this.#turn += 1;
    times.commands.beginTurn();
    const snapshotTurn = this.#stepInputs(nowMs);
    if (!leaderView.isCurrent(raft)) this.#followLeader(nowMs);
    if (peerSide.takeNewEndpoints()) this.#tellEndpoints();
    peerRequests.read(peerSide.takeDriverInputs(), nowMs, snapshotTurn);
    forwarding.retry(nowMs);
    signIn.ask(nowMs);
    if (leaderView.isLeading) this.#lead(nowMs);
    else if (leaderView.canReachLeader) this.#askLeader(nowMs);
    // A write that the log made durable at once counts in this turn.
    while (this.#perform(raft.take(), nowMs, snapshotTurn))
      this.step({ type: "persisted", seq: this.#durableSeq });
    this.#flushPeers();
    times.commands.beginAnswers(raft.commitIndex);
    applier.apply(raft.commitIndex, snapshotTurn);
    snapshotTurn.end(this.#durableSeq);
    // First: what was applied may have taken from watches the right to see it.
    signIn.onApplied();
    observation.work(applier.index, snapshots.isTaking, nowMs);
    signIn.expire(nowMs);
    operations.expire(nowMs);
    this.#parts.relay.expire(nowMs);
    this.#parts.members.dropRemovedPeers(nowMs);
    this.#parts.limits.serve(nowMs);
    this.#tellToMove(nowMs);
    this.#flushPeers();
    gateway.flush();
    this.#parts.handOver.onTurn(raft.role === "leader");
    this.#parts.vitals.onTurn(nowMs);
    this.#parts.clientSide.endTurn();
    if (this.#ports.logger.isDebugging === true) this.#noteSlowTurn(nowMs);
    this.#planNextTurn(nowMs);
    if (this.#isLeft) this.#endRemoved();
  }

  /** Only while lines for debugging are written. */
  #noteSlowTurn(beganMs: number): void {
    const { clock, logger, raft } = this.#ports;
    const ms = Math.round(clock.nowMs() - beganMs);
    if (ms >= SLOW_TURN_MS) logger("debug", "slow turn", { ms, applied: raft.commitIndex });
  }

  /**
   * This node was removed, and no leader sends to it now. Until then, the log may still add it
   * again.
   */
  get #isLeft(): boolean {
    const { raft } = this.#ports;
    return this.#parts.members.isRemoved && raft.role !== "leader" && !raft.hasQuorumContact;
  }

  /** Steps the core with everything that came in since the last turn. */
  #stepInputs(nowMs: number): SnapshotTurn {
    const { peerSide, entryCheck, redirect, snapshots, members, applier, catchUp } = this.#parts;
    this.step({ type: "tick", nowMs });
    for (const input of peerSide.takeInputs()) {
      if (input.type === "message" && !this.#isHeard(input.message)) continue;
      if (input.type === "message" && input.message.type === "append") {
        this.step(entryCheck.judged(input.message));
        redirect.onHeard(input.message.from, nowMs);
        catchUp.onMessage(input.message);
        continue;
      }
      if (input.type === "message") redirect.onHeard(input.message.from, nowMs);
      else if (input.type === "peerDown") snapshots.onLinkDown(input.peer, input.epoch);
      else if (input.type === "peerUp") members.tell([input.peer], applier);
      this.step(input);
    }
    return snapshots.beginTurn(nowMs, this);
  }

  /** A removed peer still says how much it has stored, and nothing else that counts. */
  #isHeard({ from, type }: Message): boolean {
    const isAnswer = type === "appendReply" || type === "heartbeatReply";
    return isAnswer || !this.#parts.members.isGone(from);
  }

  /** Term, leader or link changed: anything that was sent before may be lost. */
  #followLeader(nowMs: number): void {
    const { raft, logger } = this.#ports;
    const { leaderView, capacity, proposer, applier, forwarding, reads, operations } = this.#parts;
    const before = { term: leaderView.term, isLeading: leaderView.isLeading };
    leaderView.follow(raft);
    const { term, isLeading, leader } = leaderView;
    if (isLeading && !(before.isLeading && term === before.term)) {
      proposer.begin(applier.index, nowMs);
    } else if (before.isLeading && !isLeading) {
      proposer.end();
    }
    for (const chunk of forwarding.restart(nowMs)) {
      this.#parts.peerRequests.refuse(chunk, "notLeader");
    }
    capacity.restart();
    reads.restart();
    operations.restart(leader, this.nodeId);
    this.#parts.interest.restart();
    if (leader === 0 || leader === this.#announcedLeader) return;
    this.#announcedLeader = leader;
    this.#leaderChangesTotal += 1;
    logger("info", "leader", { leader, term });
    this.#tellEndpoints();
  }

  /** Clients learn of other nodes before the node they are attached to fails. */
  #tellEndpoints(): void {
    const { endpoints } = this;
    const leaderId = this.#parts.leaderView.leader;
    const { attachments, signIn } = this.#parts;
    const message: LeaderNotice = { kind: MESSAGE.leader, leaderId, endpoints };
    for (const attachment of attachments.all()) {
      if (!signIn.isStranger(attachment)) attachment.connection.send(message);
    }
  }

  #lead(nowMs: number): void {
    const { reads, operations, proposer, handOver, capacity, members } = this.#parts;
    capacity.tell(members.others, nowMs);
    const isGivenAway = handOver.isDue(this.#ports.raft, nowMs);
    if (isGivenAway || operations.wantsTransfer(this)) proposer.stampNow();
    const question = reads.askCore(nowMs);
    if (question !== 0) this.step({ type: "readIndex", id: question });
    proposer.propose(nowMs);
    if (isGivenAway) this.step({ type: "transferLeadership", id: HAND_OVER_ID, target: 0 });
    operations.begin(this);
  }

  #askLeader(nowMs: number): void {
    const { leaderView, interest, attachments, forwarding, reads, operations } = this.#parts;
    const { leader, term } = leaderView;
    interest.tell(leader, attachments.count > 0);
    forwarding.forward(term, nowMs, (message) => this.send(leader, message));
    reads.askLeader(leader, term, nowMs);
    operations.passOn(leader, term);
  }

  /** Returns whether it wrote a record that is durable already. */
  #perform(effects: Effects, nowMs: number, snapshotTurn: SnapshotTurn): boolean {
    const { deferred, proposer, reads, operations } = this.#parts;
    for (const message of effects.sendNow) this.#sendRaft(message);
    const { write } = effects;
    const named = write === undefined ? undefined : snapshotTurn.onWrite(write);
    const isDurable = write !== undefined && this.#write(write);
    for (const message of effects.sendAfter) deferred.push(message);
    deferred.release(this.#durableSeq, this.#sendRaft);
    for (const { id, index } of effects.accepted) {
      if (!operations.onAccepted(id)) proposer.onAccepted(id, index);
    }
    for (const { id, reason } of effects.refused) this.#onRefused(id, reason, nowMs);
    for (const { id, index } of effects.reads) reads.onIndex(id, index);
    for (const id of effects.readsRefused) reads.onRefused(id);
    this.#raftDeadlineMs = effects.nextDeadlineMs;
    this.#performRare(effects, nowMs, snapshotTurn, named);
    return isDurable;
  }

  /** Hands a record to the log. Returns whether it is durable already. */
  #write(write: Write): boolean {
    // The log may block the loop for as long as the disk takes; the peers write in the meantime.
    this.#flushPeers();
    const isDurable = this.#ports.log.append(write, this.#parts.snapshots.isWriting);
    if (isDurable) this.#durableSeq = write.seq;
    return isDurable;
  }

  /** Effects that most turns do not have. */
  #performRare(
    effects: Effects,
    nowMs: number,
    snapshotTurn: SnapshotTurn,
    named: NamedSnapshots | undefined,
  ): void {
    const { operations, handOver, applier } = this.#parts;
    const { roleChange, configuration, restore, transferEnded } = effects;
    for (const wanted of effects.snapshotsWanted) snapshotTurn.onWanted(wanted);
    if (roleChange !== undefined) this.#ports.logger("info", "role", { ...roleChange });
    if (configuration !== undefined) {
      const { voters, outgoing, learners } = configuration;
      this.#ports.logger("info", "members", { voters, outgoing, learners });
      this.#onConfiguration(configuration, nowMs);
    }
    if (restore !== undefined) {
      assert(named !== undefined, () => `no write names snapshot ${restore.index}`);
      applier.restore(restore, named);
    }
    if (transferEnded === undefined) return;
    const { id, isDone } = transferEnded;
    if (id !== HAND_OVER_ID) operations.onTransferEnded(id, isDone);
    else if (!isDone) handOver.onFailed();
  }

  #onConfiguration(configuration: Configuration, nowMs: number): void {
    this.#parts.redirect.setVoters(configuration.voters);
    this.#parts.members.onEffective(configuration, nowMs);
    this.#parts.times.keepPeers(new Set(membersOf(configuration)));
    this.#tellEndpoints();
  }

  #onRefused(id: number, reason: RefusalReason, nowMs: number): void {
    const { proposer, operations, handOver } = this.#parts;
    if (id === HAND_OVER_ID) handOver.onFailed();
    else if (!operations.onRefused(id, reason, nowMs)) proposer.onRefused(id, reason, nowMs);
  }

  #tellToMove(nowMs: number): void {
    const { redirect, attachments, applier, snapshots } = this.#parts;
    const { raft } = this.#ports;
    const lag = raft.commitIndex - applier.index;
    // A client that comes while the table is being replaced gets no answer until that is done.
    const counted = snapshots.isRestoring ? Number.POSITIVE_INFINITY : lag;
    if (!redirect.isNoticeDue(nowMs, raft.leader !== 0, counted)) return;
    const told = attachments.tellToMove(redirect.troubleNumber);
    if (told > 0) this.#ports.logger("warn", "clients were told to move", { clients: told, lag });
  }

  #planNextTurn(nowMs: number): void {
    const { raft, scheduler } = this.#ports;
    const { leaderView, handOver, proposer } = this.#parts;
    if (this.#hasWork(nowMs)) {
      this.wake();
      return;
    }
    let deadlineMs = Math.min(this.#raftDeadlineMs, earliestDeadlineMs(this.#parts));
    if (leaderView.isLeading && raft.role === "leader") {
      deadlineMs = Math.min(
        deadlineMs,
        proposer.nextDeadlineMs(nowMs),
        raft.isTransferring ? Number.POSITIVE_INFINITY : handOver.nextDeadlineMs,
      );
    }
    scheduler.arm(deadlineMs, this.#turnTask);
  }

  /** Whether the next turn has something to do without a further input. */
  #hasWork(nowMs: number): boolean {
    const { raft } = this.#ports;
    const { applier, reads, observation, snapshots, leaderView, operations } = this.#parts;
    if (applier.isBehind(raft.commitIndex) || snapshots.hasWork || observation.hasWork) return true;
    if (!leaderView.isCurrent(raft)) return true;
    if (leaderView.isLeading) {
      const isAsked = reads.needIndex || operations.canBegin(this);
      return isAsked || this.#parts.proposer.isDue(nowMs);
    }
    const hasQuestions = reads.needIndex || operations.hasWaiting;
    return leaderView.canReachLeader && (hasQuestions || this.#parts.forwarding.isDue);
  }

  #flushPeers(): void {
    if (!this.#hasUnflushedPeers) return;
    this.#hasUnflushedPeers = false;
    this.#ports.peers.flush();
  }

  #endRemoved(): void {
    const { nodeId } = this.#options;
    this.fail(new HoldfastError("UNAVAILABLE", `node ${nodeId} was removed from the cluster`));
  }
}
