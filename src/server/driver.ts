/**
 * The loop of one node in one group. It collects what came in since the last turn, steps the core,
 * takes the effects once, and owns their order: hand the write to the log, send what may leave now,
 * send what waited for durability, apply what is committed, answer, flush. It knows the world only
 * by its ports: no sockets, timers, clocks or random numbers here; the simulator runs this very
 * code.
 */
import type { GatewayEvents, PeerEvents, PeerMessage } from "../net/index.js";
import { MESSAGE, type NodeEndpoint } from "../protocol/index.js";
import type { Effects, Message, NodeId } from "../raft/index.js";
import { Applier } from "./applier.js";
import { Attachments } from "./attachments.js";
import { ClientSide, type ClientSideHost } from "./client-side.js";
import { CommitInterest } from "./commit-interest.js";
import { DeferredMessages } from "./deferred-messages.js";
import type { DriverOptions, DriverPorts, DriverStatus } from "./driver-ports.js";
import { EntryCache } from "./entry-cache.js";
import { Forwarding } from "./forwarding.js";
import { KeptCommand } from "./kept-command.js";
import { KeptCommands } from "./kept-commands.js";
import { Leadership } from "./leadership.js";
import { Moving } from "./moving.js";
import { PeerRequests } from "./peer-requests.js";
import { PeerSide } from "./peer-side.js";
import { Proposals } from "./proposals.js";
import { Reads } from "./reads.js";
import { Regime } from "./regime.js";
import { ForwardedChunk, WaitingLine } from "./waiting-line.js";

/** What one turn spends on answering reads; the others wait for the next one. */
const READ_COST_PER_TURN_MAX = 1_024;
/** Election timeouts that a read may wait for its barrier. */
const READ_WAIT_TIMEOUTS = 5;
/** Election timeouts after which forwarded commands that were not applied go again. */
const RESEND_TIMEOUTS = 5;

export class Driver implements ClientSideHost {
  /** For the gateway. */
  readonly clientEvents: GatewayEvents;
  /** For the links to peers. */
  readonly peerEvents: PeerEvents;
  readonly #peerSide: PeerSide;
  readonly #peerRequests: PeerRequests;
  readonly #options: DriverOptions;
  readonly #ports: DriverPorts;
  readonly #attachments: Attachments;
  readonly #kept: KeptCommands;
  readonly #line = new WaitingLine();
  readonly #forwarding: Forwarding;
  readonly #proposals: Proposals;
  readonly #reads: Reads;
  readonly #leadership: Leadership;
  readonly #regime = new Regime();
  readonly #cache = new EntryCache();
  readonly #applier: Applier;
  readonly #moving: Moving;
  readonly #interest: CommitInterest;
  readonly #deferred: DeferredMessages;
  readonly #turnTask = (): void => this.#turnOrFail();
  readonly #send = (peer: NodeId, message: PeerMessage): void => {
    this.#hasUnflushedPeers = true;
    this.#ports.peers.send(peer, this.#options.group, message);
  };
  readonly #sendRaft = (message: Message): void => {
    this.#send(message.to, { type: "raft", message });
  };
  readonly #termAt = (index: number): number => this.#ports.raft.entry(index).term;
  #turn = 0;
  #isStarted = false;
  #isStopped = false;
  #isScheduled = false;
  #durableSeq = 0;
  /** The commit index at which the core had no room; nothing is proposed until it moves. */
  #refusedAtCommit = -1;
  #raftDeadlineMs = Number.POSITIVE_INFINITY;
  #hasUnflushedPeers = false;
  #leaderChangesTotal = 0;
  #announcedLeader: NodeId = 0;

  constructor(options: DriverOptions, ports: DriverPorts) {
    const { tuning, nodeId, clusterId } = options;
    const { electionTimeoutMs, batchBytesMax } = tuning;
    this.#options = options;
    this.#ports = ports;
    this.#durableSeq = ports.log.boot.lastSeq;
    this.#attachments = new Attachments((attachment) => this.#kept.drop(attachment));
    this.#kept = new KeptCommands(tuning.uncommittedBytesMax, this.#attachments);
    this.#forwarding = new Forwarding(this.#kept, this.#line, {
      batchBytesMax,
      retryAfterMs: tuning.heartbeatIntervalMs,
      resendAfterMs: RESEND_TIMEOUTS * electionTimeoutMs,
    });
    this.#proposals = new Proposals(batchBytesMax);
    this.#reads = new Reads(READ_WAIT_TIMEOUTS * electionTimeoutMs, this.#send);
    this.#leadership = new Leadership(electionTimeoutMs);
    this.#interest = new CommitInterest(this.#send);
    this.#moving = new Moving(nodeId, options.voters, electionTimeoutMs);
    this.#applier = new Applier(
      {
        raft: ports.raft,
        table: ports.table,
        attachments: this.#attachments,
        kept: this.#kept,
        cache: this.#cache,
      },
      ports.log.boot.baseIndex,
      { sliceEntriesMax: tuning.applySliceEntriesMax, sliceBytesMax: batchBytesMax },
    );
    this.#deferred = new DeferredMessages(
      () => ports.log.syncMark(),
      () => this.wake(),
      (error) => this.#fail(error),
    );
    this.clientEvents = new ClientSide(
      {
        nodeId,
        clusterId,
        clock: ports.clock,
        attachments: this.#attachments,
        kept: this.#kept,
        line: this.#line,
        reads: this.#reads,
      },
      this,
    );
    this.#peerRequests = new PeerRequests(
      {
        regime: this.#regime,
        line: this.#line,
        forwarding: this.#forwarding,
        reads: this.#reads,
        logger: ports.logger,
        send: this.#send,
      },
      this,
    );
    this.#peerSide = new PeerSide(options.group, this.#regime, ports.logger, () => this.wake());
    this.peerEvents = this.#peerSide;
  }

  /** Number of the present turn, or of the last one. */
  get turn(): number {
    return this.#turn;
  }

  get servingLeader(): NodeId {
    const { raft } = this.#ports;
    return raft.hasQuorumContact ? raft.leader : 0;
  }

  get isOverloaded(): boolean {
    const { raft } = this.#ports;
    const limit = this.#options.tuning.uncommittedBytesMax;
    return this.#regime.isLeading && this.#line.bytes + raft.uncommittedBytes > limit;
  }

  /** What clients may connect to, as far as the peers have told by now. */
  get endpoints(): readonly NodeEndpoint[] {
    const { nodeId, advertise } = this.#options;
    const endpoints = [{ id: nodeId, endpoint: advertise }, ...this.#peerSide.endpoints];
    return endpoints.sort((a, b) => a.id - b.id);
  }

  get status(): DriverStatus {
    const { raft } = this.#ports;
    return {
      role: raft.role,
      term: raft.term,
      leader: raft.leader,
      commitIndex: raft.commitIndex,
      appliedIndex: this.#applier.index,
      hasQuorumContact: raft.hasQuorumContact,
      connections: this.#attachments.count,
      leaderChangesTotal: this.#leaderChangesTotal,
      entriesProposedTotal: this.#proposals.count,
      commandsAppliedTotal: this.#applier.commandCount,
      commandsRefusedTotal: this.#kept.refusedCount,
      keptBytes: this.#kept.bytes,
    };
  }

  /** Takes up the log and begins to turn. */
  start(): void {
    this.#isStarted = true;
    this.#ports.log.start({
      onDurable: (seq) => {
        this.#durableSeq = seq;
        this.#peerSide.push({ type: "persisted", seq });
      },
      onFailure: (error) => this.#fail(error),
    });
    this.wake();
  }

  /** No turn comes after this. */
  stop(): void {
    this.#isStopped = true;
    this.#ports.scheduler.disarm();
  }

  /** Something came in: a turn is to follow. */
  wake(): void {
    if (this.#isScheduled || !this.#isStarted || this.#isStopped) return;
    this.#isScheduled = true;
    this.#ports.scheduler.soon(this.#turnTask);
  }

  onCommitInterest(peer: NodeId, isInterested: boolean): void {
    this.#ports.raft.step({ type: "commitInterest", peer, isInterested });
  }

  #turnOrFail(): void {
    this.#isScheduled = false;
    if (this.#isStopped) return;
    try {
      this.#runTurn();
    } catch (error) {
      this.#fail(error);
    }
  }

  #runTurn(): void {
    const { raft, clock, gateway } = this.#ports;
    const nowMs = clock.nowMs();
    this.#turn += 1;
    this.#stepInputs(nowMs);
    if (!this.#regime.isCurrent(raft)) this.#changeRegime(nowMs);
    this.#peerRequests.read(this.#peerSide.takeDriverInputs(), nowMs);
    this.#forwarding.retry(nowMs);
    if (this.#regime.isLeading) this.#lead(nowMs);
    else if (this.#regime.canReachLeader) this.#askLeader(nowMs);
    this.#perform(raft.take());
    this.#flushPeers();
    this.#apply(raft.commitIndex);
    this.#reads.expire(nowMs);
    this.#reads.answer(this.#ports.table, READ_COST_PER_TURN_MAX);
    this.#tellToMove(nowMs);
    this.#flushPeers();
    gateway.flush();
    this.#planNextTurn(nowMs);
  }

  #stepInputs(nowMs: number): void {
    const { raft } = this.#ports;
    raft.step({ type: "tick", nowMs });
    for (const input of this.#peerSide.takeInputs()) {
      if (input.type === "message") this.#moving.onHeard(input.message.from, nowMs);
      raft.step(input);
    }
  }

  /** Term, leader or link changed: what was on its way may be lost. */
  #changeRegime(nowMs: number): void {
    const { raft } = this.#ports;
    const before = { term: this.#regime.term, isLeading: this.#regime.isLeading };
    this.#regime.follow(raft);
    const { term, isLeading, leader } = this.#regime;
    this.#refusedAtCommit = -1;
    if (isLeading !== before.isLeading || (isLeading && term !== before.term)) {
      this.#cache.clear();
      if (isLeading) this.#leadership.begin(raft, this.#ports.log.boot.baseIndex, nowMs);
      else this.#leadership.end();
    }
    for (const chunk of this.#forwarding.restart(nowMs))
      this.#peerRequests.refuse(chunk, "notLeader");
    this.#reads.restart();
    this.#interest.restart();
    if (leader === 0 || leader === this.#announcedLeader) return;
    this.#announcedLeader = leader;
    this.#leaderChangesTotal += 1;
    this.#ports.logger("info", "leader", { leader, term });
    const { endpoints } = this;
    this.#attachments.broadcast({ kind: MESSAGE.leader, leaderId: leader, endpoints });
  }

  /** No entry can be proposed before another one commits. */
  get #isBlocked(): boolean {
    const { raft } = this.#ports;
    const { pipelineEntriesMax, uncommittedBytesMax } = this.#options.tuning;
    if (raft.commitIndex === this.#refusedAtCommit) return true;
    if (raft.uncommittedBytes >= uncommittedBytesMax) return true;
    return raft.uncommittedEntries >= pipelineEntriesMax && !this.#leadership.mustStamp;
  }

  #isEntryDue(nowMs: number): boolean {
    const { table } = this.#ports;
    if (this.#isBlocked) return false;
    return this.#leadership.isEntryDue(nowMs, this.#line, table, this.#reads.needBarrier);
  }

  /** The clock is read when everything that goes into the entry was read before. */
  #lead(nowMs: number): void {
    const { raft, clock } = this.#ports;
    const stamp = this.#leadership.countTime(nowMs);
    if (!this.#isEntryDue(nowMs)) return;
    const reads = this.#reads.join();
    const { id, data } = this.#proposals.compose(this.#line, stamp, clock.wallMs(), reads);
    raft.step({ type: "propose", id, data });
  }

  #askLeader(nowMs: number): void {
    const { leader, term } = this.#regime;
    this.#interest.tell(leader, this.#attachments.count > 0);
    this.#forwarding.forward(term, nowMs, (message) => this.#send(leader, message));
    this.#reads.ask(leader, term);
  }

  #perform(effects: Effects): void {
    if (effects.write !== undefined) this.#ports.log.append(effects.write);
    for (const message of effects.sendNow) this.#sendRaft(message);
    for (const message of effects.sendAfter) this.#deferred.push(message);
    this.#deferred.release(this.#durableSeq, this.#sendRaft);
    for (const { id, index, term } of effects.accepted) {
      const { stamp, data, commands, reads } = this.#proposals.close(id);
      this.#leadership.onStamped(stamp, index);
      this.#cache.add(index, data, commands);
      this.#reads.place(reads, index, term);
    }
    for (const { id, reason } of effects.refused) this.#onRefused(id, reason);
    this.#raftDeadlineMs = effects.nextDeadlineMs;
    const { roleChange } = effects;
    if (roleChange !== undefined) this.#ports.logger("info", "role", { ...roleChange });
  }

  /** The core did not take an entry: each command in it goes the way of a refusal. */
  #onRefused(id: number, reason: "notLeader" | "busy"): void {
    const { items, reads } = this.#proposals.close(id);
    const nowMs = this.#ports.clock.nowMs();
    this.#refusedAtCommit = this.#ports.raft.commitIndex;
    this.#reads.release(reads);
    for (const item of items) {
      if (item instanceof ForwardedChunk) this.#peerRequests.refuse(item, reason);
    }
    // After `notLeader` a change of regime follows, and with it everything kept is sent again.
    if (reason === "notLeader") return;
    const commands = items.filter((item) => item instanceof KeptCommand);
    this.#forwarding.sendLater(commands, nowMs);
  }

  #apply(commitIndex: number): void {
    const before = this.#applier.index;
    this.#applier.applySlice(commitIndex);
    const { index } = this.#applier;
    if (index === before) return;
    this.#ports.raft.step({ type: "applied", index });
    this.#leadership.onApplied(index);
    this.#reads.onApplied(index, this.#termAt);
  }

  #tellToMove(nowMs: number): void {
    const lag = this.#ports.raft.commitIndex - this.#applier.index;
    if (!this.#moving.isNoticeDue(nowMs, this.#ports.raft.leader !== 0, lag)) return;
    const told = this.#attachments.tellToMove(this.#moving.troubleNumber);
    if (told > 0) this.#ports.logger("warn", "clients were told to move", { clients: told, lag });
  }

  #planNextTurn(nowMs: number): void {
    const { raft, table, scheduler } = this.#ports;
    if (this.#hasWork(nowMs)) {
      this.wake();
      return;
    }
    let deadlineMs = Math.min(
      this.#raftDeadlineMs,
      this.#reads.nextDeadlineMs,
      this.#moving.nextDeadlineMs,
      this.#forwarding.nextDeadlineMs,
    );
    if (this.#regime.isLeading && raft.role === "leader") {
      deadlineMs = Math.min(
        deadlineMs,
        this.#leadership.nextDeadlineMs(nowMs, this.#line, table, this.#isBlocked),
      );
    }
    scheduler.arm(deadlineMs, this.#turnTask);
  }

  /** Whether there is something to do that no input will announce. */
  #hasWork(nowMs: number): boolean {
    const { raft } = this.#ports;
    if (this.#applier.index < raft.commitIndex || this.#reads.hasReady) return true;
    if (!this.#regime.isCurrent(raft)) return true;
    if (this.#regime.isLeading) return this.#isEntryDue(nowMs);
    return this.#regime.canReachLeader && (this.#reads.needBarrier || !this.#line.isEmpty);
  }

  #flushPeers(): void {
    if (!this.#hasUnflushedPeers) return;
    this.#hasUnflushedPeers = false;
    this.#ports.peers.flush();
  }

  #fail(cause: unknown): void {
    if (this.#isStopped) return;
    this.stop();
    this.#ports.onFailure(cause instanceof Error ? cause : new Error(String(cause)));
  }
}
