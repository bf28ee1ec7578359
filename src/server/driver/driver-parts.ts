/**
 * The parts of one driver and how they are wired. Each knows only what it is given here; the loop
 * in `driver.ts` owns the order in which they act.
 */
import type { PeerMessage } from "../../net/index.js";
import type { Input, NodeId } from "../../raft/index.js";
import { AccessLog } from "../commands/access-log.js";
import { Admission } from "../commands/admission.js";
import { Attachments } from "../commands/attachments.js";
import { Capacity } from "../commands/capacity.js";
import { EntryCache } from "../commands/entry-cache.js";
import { Forwarding } from "../commands/forwarding.js";
import { KeptCommands } from "../commands/kept-commands.js";
import { LeadershipHandOver } from "../commands/leadership-hand-over.js";
import { Proposer } from "../commands/proposer.js";
import { SignIn } from "../commands/sign-in.js";
import { WaitingLine } from "../commands/waiting-line.js";
import { LimitCounts } from "../limits/limit-counts.js";
import { Limits, type NodeLimits } from "../limits/limits.js";
import { NO_LIMITS } from "../limits/usage.js";
import { Operations, type OperationsHost } from "../members/operations.js";
import { Reads } from "../reads/reads.js";
import { RequestIds } from "../request-ids.js";
import { DriverSnapshots, type Snapshots } from "../snapshots/snapshots.js";
import { CatchUp } from "../vitals/catch-up.js";
import { NodeTimes } from "../vitals/node-times.js";
import { Vitals } from "../vitals/vitals.js";
import { VitalsRelay } from "../vitals/vitals-relay.js";
import { Applier } from "./applier.js";
import { actionLogOf, logLevelAction, operationAction, savedAction } from "./audited.js";
import { ClientRedirect } from "./client-redirect.js";
import { ClientSide, type ClientSideHost } from "./client-side.js";
import { CommitInterest } from "./commit-interest.js";
import { DeferredMessages } from "./deferred-messages.js";
import type { DriverOptions, DriverPorts } from "./driver-ports.js";
import { EntryCheck } from "./entry-check.js";
import { LeaderView } from "./leader-view.js";
import { Members } from "./members.js";
import { Observation, type ObservationParts } from "./observation.js";
import { PeerRequests, type PeerRequestsHost } from "./peer-requests.js";
import { PeerSide } from "./peer-side.js";
import { vitalsSource } from "./vitals-source.js";

/** Election timeouts for which a read waits for its index. */
const READ_WAIT_TIMEOUTS = 5;
/** Election timeouts that another member has to say how it is. */
const VITALS_WAIT_TIMEOUTS = 2;
/** Election timeouts that an operator's request may take. */
const OPERATION_WAIT_TIMEOUTS = 10;
/** Election timeouts after which forwarded commands that were not applied are sent again. */
const RESEND_TIMEOUTS = 5;

/**
 * Bytes of entries that one turn applies if there are more, so that a node that catches up still
 * answers its peers in between. Applying a megabyte has taken up to 180 ms.
 */
const APPLY_SLICE_BYTES_MAX = 128 << 10;

/** What the parts need from the loop. */
export interface DriverHost extends ClientSideHost, PeerRequestsHost, OperationsHost {
  /** Sends to another node, together with everything else that this turn sends there. */
  send(peer: NodeId, message: PeerMessage): void;
  fail(cause: unknown): void;
}

export type DriverParts = ReturnType<typeof wireDriver>;

export function wireDriver(options: DriverOptions, ports: DriverPorts, host: DriverHost) {
  const { tuning, nodeId, clusterId, configuration } = options;
  const { electionTimeoutMs, batchBytesMax } = tuning;
  const { raft, table, logger, clock, memory } = ports;
  const send = (peer: NodeId, message: PeerMessage): void => host.send(peer, message);
  const wake = (): void => host.wake();
  const fail = (error: unknown): void => host.fail(error);

  const catchUp = new CatchUp();
  const times = new NodeTimes(clock, options.metricsPrefixes ?? []);
  const leaderView = new LeaderView();
  const line = new WaitingLine();
  const cache = new EntryCache();
  // They depend on each other: a closed attachment drops its commands, and each kept command has
  // one.
  const attachments: Attachments = new Attachments({
    onTold: (attachment, message) => kept.onTold(attachment, message),
    onCutOff: (attachment) => {
      kept.drop(attachment);
      if (!attachment.isClosed) return;
      watches.drop(attachment);
      limits.leave(attachment);
    },
  });
  const kept: KeptCommands = new KeptCommands(attachments, times.commands);
  const handOver = new LeadershipHandOver(electionTimeoutMs);
  const capacity = new Capacity(
    { raft, line, kept, handOver, log: ports.log, memory, clock, send },
    tuning,
  );
  const limits = new Limits(options.limits ?? unlimited(ports), { table, clock });
  const admission = new Admission({
    nodeId,
    attachments,
    kept,
    line,
    capacity,
    limits,
    clock,
    wake,
  });
  const requestIds = new RequestIds(options.incarnation);
  const retry = {
    batchBytesMax,
    retryAfterMs: tuning.heartbeatIntervalMs,
    resendAfterMs: RESEND_TIMEOUTS * electionTimeoutMs,
  };
  const forwarding = new Forwarding(kept, line, retry, requestIds);
  const readTiming = {
    waitMsMax: READ_WAIT_TIMEOUTS * electionTimeoutMs,
    askAgainAfterMs: electionTimeoutMs,
  };
  const reads = new Reads(readTiming, send, requestIds);
  const isLeader = (): boolean => raft.role === "leader";
  const actions = actionLogOf(ports);
  const accessLog = new AccessLog({ attachments, clock, logger, isLeader, actions });
  table.listenToAccess(accessLog);
  const signIn = new SignIn({
    ...{ table, attachments, clock, logger, accessLog },
    barrier: (onEnd) => reads.barrier(onEnd, clock.nowMs()),
    judge: (attachment) => {
      watches.judge(attachment, table);
      limits.judge(attachment);
    },
    greet: (attachment) => clientSide.greet(attachment),
    access: options.access ?? { isRequired: false, wasClosed: false },
    onAccess: (isClosed) => ports.onAccess?.(isClosed),
  });
  const save: ObservationParts["save"] = (attachment, operation) =>
    snapshots.exporter.save(attachment, operation);
  const observation = new Observation(
    {
      ...{ table, reads, audit: ports.audit, actions, clock, logger, accessLog, wake, save },
      times: times.locks,
    },
    tuning,
    raft.appliedIndex,
  );
  const { changeLog, watches } = observation;
  const operationWaitMs = OPERATION_WAIT_TIMEOUTS * electionTimeoutMs;
  const operations = new Operations(
    operationWaitMs,
    send,
    requestIds,
    (...refused) => clientSide.report(...refused),
    (...begun) => actions?.onHere(operationAction(table, ...begun)),
  );
  const redirect = new ClientRedirect(nodeId, electionTimeoutMs);
  const members = new Members(nodeId, electionTimeoutMs, ports.onPeers, send);
  const snapshots: Snapshots = new DriverSnapshots(
    {
      ...{ nodeId, clock, store: ports.snapshots, table, raft, peers: ports.peers },
      ...{ send, wake, logger },
      knowsVoterOf: (...named) => members.knowsVoterOf(...named),
      onSaved: (attachment, index) => actions?.onHere(savedAction(table, attachment, index)),
    },
    {
      snapshotLogBytes: tuning.snapshotLogBytes,
      snapshotSizeFactor: tuning.snapshotSizeFactor,
      chunkBytes: tuning.snapshotChunkBytes,
      trailingLogBytes: tuning.trailingLogBytes,
      electionTimeoutMs,
      heartbeatIntervalMs: tuning.heartbeatIntervalMs,
    },
    ports.named,
  );
  const relay = new VitalsRelay({
    waitMs: VITALS_WAIT_TIMEOUTS * electionTimeoutMs,
    ...{ requestIds, send },
    isLinked: (peer) => leaderView.isLinked(peer),
    bufferedBytes: (peer) => ports.peers.bufferedBytes(peer),
    view: (after) => vitals.view(after),
  });
  const deferred = new DeferredMessages(() => ports.log.syncMark(), wake, fail);
  const clientSide: ClientSide = new ClientSide(
    {
      ...{ nodeId, clusterId, clock, table, attachments, signIn, accessLog, admission },
      ...{ reads, operations, watches, limits },
      vitals: (after) => vitals.view(after),
      relay,
      ...{ logger, logLevels: ports.logLevels },
      onLogLevel: (...changed) => actions?.onHere(logLevelAction(table, ...changed)),
      exporter: snapshots.exporter,
    },
    host,
  );
  const peerRequests = new PeerRequests(
    {
      ...{ leaderView, line, capacity, forwarding, reads, operations, members, limits },
      ...{ relay, logger, send },
    },
    host,
  );
  const step = (input: Input): void => raft.step(input);
  const proposer = new Proposer(
    { raft, table, clock, line, cache, step, times: times.commands },
    tuning,
  );
  const applier = new Applier(
    {
      ...{ raft, table, attachments, cache, members, operations, proposer },
      ...{ changeLog, actions, catchUp, logger },
    },
    host,
    { index: raft.appliedIndex, configuration },
    { sliceEntriesMax: tuning.applySliceEntriesMax, sliceBytesMax: APPLY_SLICE_BYTES_MAX },
  );
  const peerSide = new PeerSide(options, leaderView, logger, wake, ports.notePeer, times);
  const source = vitalsSource(ports, {
    ...{
      nodeId,
      leaderView,
      observation,
      attachments,
      applier,
      handOver,
      times,
      peerSide,
      catchUp,
    },
  });
  const vitals: Vitals = new Vitals(nodeId, clock, source, ports.process);
  return {
    leaderView,
    vitals,
    times,
    catchUp,
    line,
    attachments,
    admission,
    capacity,
    kept,
    forwarding,
    reads,
    signIn,
    accessLog,
    observation,
    operations,
    redirect,
    members,
    limits,
    applier,
    proposer,
    snapshots,
    deferred,
    clientSide,
    peerRequests,
    entryCheck: new EntryCheck({ raft, table, applier, logger }),
    peerSide,
    relay,
    interest: new CommitInterest(send),
    handOver,
  };
}

function unlimited({ clock, logger }: DriverPorts): NodeLimits {
  const counts = new LimitCounts(true, clock, logger);
  return { identity: NO_LIMITS, address: NO_LIMITS, counts };
}

/** When the first of the parts has to act without an input. Does not include leading. */
export function earliestDeadlineMs(parts: DriverParts): number {
  const { observation, redirect, forwarding, operations, snapshots, members, signIn, limits } =
    parts;
  const { relay } = parts;
  return Math.min(
    observation.nextDeadlineMs,
    redirect.nextDeadlineMs,
    forwarding.nextDeadlineMs,
    operations.nextDeadlineMs,
    snapshots.nextDeadlineMs,
    members.nextDeadlineMs,
    signIn.nextDeadlineMs,
    limits.nextDeadlineMs,
    relay.nextDeadlineMs,
  );
}
