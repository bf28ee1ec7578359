/**
 * Everything that checks a run, fed by what nodes, network and clients report. The checks of one
 * cluster are in `cluster-checks.ts`: a run may restore a second cluster from a snapshot of the
 * first, and clients, resources and calls outlive the first.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import type { PeerIdentity, PeerMessage } from "../../../src/net/index.js";
import {
  type Answer,
  type AttachCommand,
  type Attached,
  type KeyView,
  MESSAGE,
  OP,
  type Result,
  type Revision,
  type SequencedCommand,
  type ServerMessage,
  type SessionMessage,
  STATUS,
} from "../../../src/protocol/index.js";
import type { Entry, Message, Raft, SnapshotPoint, VoteReply } from "../../../src/raft/index.js";
import type { LogLevel } from "../../../src/server/ports.js";
import type { DataDirectory } from "../../../src/storage/index.js";
import type { HeldBelief } from "../clients/belief.js";
import type { CallEnding, GuardedWrite, Host, Said } from "../clients/client-watch.js";
import { SIGHTINGS } from "../clients/sightings.js";
import type { WorldClient } from "../clients/world-client.js";
import type { Simulation } from "../engine/simulation.js";
import type { Fault } from "../plan/fault.js";
import type { SimPlan } from "../plan/plan.js";
import type { CrashKind } from "../world/disk/node-disk.js";
import type { LogWatch } from "../world/disk/watched-log.js";
import { FIRST_CLUSTER_ID } from "../world/founders.js";
import type { SimNode } from "../world/node/sim-node.js";
import type { CoreWatch } from "../world/node/watched-core.js";
import type { SimWorld, WorldWatch } from "../world/sim-world.js";
import { ANONYMOUS_PERSON, mayEverywhere, maySomewhere } from "./access/reckoning.js";
import { Speakers } from "./access/speakers.js";
import { isTurnedAway } from "./access/turned-away.js";
import { ViewedConnection } from "./access/viewed-connection.js";
import { canonicalTextOf } from "./canonical-text.js";
import { ClusterChecks } from "./cluster-checks.js";
import { Clusters } from "./clusters.js";
import type { RaftChecks } from "./consensus/raft-checks.js";
import type { Coverage } from "./coverage.js";
import { type Founding, newFounding, type Restored, restoredFounding } from "./founding.js";
import type { ToldChange, WatchAsked, WatchedKeys, WatchStreams } from "./hearing/watch-streams.js";
import type { Witness } from "./hearing/witness.js";
import { DoorLaws } from "./locks/door-laws.js";
import { ExactlyOnce } from "./locks/exactly-once.js";
import { Exclusion } from "./locks/exclusion.js";
import { FencedResource } from "./locks/fenced-resource.js";
import { type HandOverAsked, HandOverLaws } from "./locks/hand-over-laws.js";
import { ToldFates, wishOf } from "./locks/told-fates.js";
import type { Story } from "./story.js";
import { TimeLaws } from "./time/time-laws.js";
import { type Fail, Violation } from "./violation.js";

/** More than a run has. */
const TERMS_MOST = 1_000_000;
/** A node says these by itself to who wants to be attached. */
const OF_ANY_NODE: readonly number[] = [ERROR_NUMBERS.BUSY, ERROR_NUMBERS.DISK_FULL];

/** Why a node refuses a snapshot that comes as it was sent, or not at all. */
const REFUSABLE: readonly string[] = ["no room for", "nothing more of it", "none of the members"];

export class RunChecks implements WorldWatch {
  readonly exclusion: Exclusion;
  readonly resource: FencedResource;
  readonly once: ExactlyOnce;
  readonly doorLaws: DoorLaws;
  readonly fates: ToldFates;
  readonly handOvers: HandOverLaws;
  /** Nodes have little room for clients: they may have none for what gives something back. */
  readonly #isNarrow: boolean;
  /** Commands that an entry executed, as `op/status`, and other things seen by name. */
  readonly outcomes = new Map<string, number>();
  readonly #simulation: Simulation;
  readonly #story: Story;
  readonly #fail: Fail;
  readonly clusters: Clusters;
  readonly #coverage: Coverage | undefined;
  readonly #plan: SimPlan;
  /** Only where not everybody may do everything. */
  readonly #speakers: Speakers | undefined;
  /** What was committed when the process of a node began, by node. */
  readonly #startedAt = new Map<number, number>();
  /** The client that was last attached to a session, by session. */
  readonly #hostOf = new Map<number, number>();
  #world: SimWorld | undefined;
  #time: TimeLaws | undefined;

  /** `coverage`: counts what the run comes to, where that is wanted. */
  constructor(plan: SimPlan, simulation: Simulation, story: Story, coverage?: Coverage) {
    this.#coverage = coverage;
    this.#plan = plan;
    this.#simulation = simulation;
    this.#story = story;
    this.#fail = (rule, message) => simulation.fail(new Violation(rule, message));
    this.exclusion = new Exclusion(this.#fail, (belief) => this.isTorn(belief));
    this.resource = new FencedResource(this.#fail);
    this.once = new ExactlyOnce(this.#fail);
    this.doorLaws = new DoorLaws(
      this.#fail,
      (key) => this.witness.table.inspect(key),
      (token) => this.witness.laws.endOfLease(token),
      () => this.#calmTerm,
    );
    this.fates = new ToldFates(this.#fail);
    this.handOvers = new HandOverLaws(this.#fail);
    this.#isNarrow = plan.tuning.uncommittedBytesMax !== undefined;
    this.#speakers = plan.access === undefined ? undefined : new Speakers();
    const founding = newFounding(FIRST_CLUSTER_ID, plan.nodeCount, this.#speakers);
    this.clusters = new Clusters(this.#begin(founding));
  }

  /** Another one with each election, and with each setting that left little room; 0 while one does. */
  get #calmTerm(): number {
    const { tightenedCount } = this.witness.laws;
    const term = this.#leadingTerm;
    if (tightenedCount === undefined || term === 0) return 0;
    return term + TERMS_MOST * tightenedCount;
  }

  /** The highest term; 0 while nobody leads it. */
  get #leadingTerm(): number {
    const rafts = (this.#world?.nodes ?? []).flatMap(({ raftOrNone }) => raftOrNone ?? []);
    const highest = Math.max(0, ...rafts.map(({ term }) => term));
    return rafts.some(({ role, term }) => role === "leader" && term === highest) ? highest : 0;
  }

  #begin(founding: Founding): ClusterChecks {
    const { clusterId } = founding;
    const events = {
      // Numbers of sessions begin where they were when the other cluster was saved.
      onAnswered: (marker: string, call: string, result: Result) => {
        this.once.onAnswered(marker, `${call} in ${clusterId}`, result);
      },
      onExecuted: (session: number, _epoch: number, command: SequencedCommand) => {
        const host = this.#hostOf.get(session);
        if (host === undefined) return;
        const call = `${session}/${command.sequence} in ${clusterId}`;
        const wish = wishOf(session, command);
        if (wish !== undefined) this.fates.onExecuted(host, call, wish);
        const by = sessionOf(host, session, clusterId);
        this.handOvers.onExecuted(call, by, command);
        if (command.op !== OP.close) return;
        this.handOvers.onClosed(by, cluster.witness.laws.numbersOf(session));
      },
      onResult: (session: number, sequence: number, result: Result) => {
        const call = `${session}/${sequence} in ${clusterId}`;
        if (result.status === STATUS.acted) this.onSeen(SIGHTINGS.act(result.tokens.length > 0));
        this.fates.onResult(call, result);
        this.handOvers.onResult(call, result);
      },
      onSessionEnded: (session: number) => this.#onSessionEnded(cluster, session),
      onLost: (token: number) => this.#onLost(token),
      onGivenUp: (token: number) => this.#onGivenUp(token),
      onCommitted: (entry: Entry, raft: Raft) => this.#onCommitted(entry, raft),
    };
    const cluster = new ClusterChecks(this.#plan, founding, events, this.#fail);
    return cluster;
  }

  get raft(): RaftChecks {
    return this.clusters.now.raft;
  }

  get witness(): Witness {
    return this.clusters.now.witness;
  }

  get streams(): WatchStreams {
    return this.clusters.now.streams;
  }

  /** The cluster is stopped for good, and another one begins with what was saved of it. */
  async onRestored(restored: Restored): Promise<void> {
    const { keys, semaphores } = this.#plan;
    const used = [...keys, ...semaphores.map(({ key }) => key)];
    const founding = await restoredFounding(this.clusters.now, restored, used, this.#fail);
    this.#story.tell(() => `cluster ${founding.clusterId} begins behind ${founding.index}`);
    this.clusters.goOn(this.#begin(founding));
    this.onSeen(SIGHTINGS.restored);
  }

  /** A snapshot that was asked for when `committedIndex` was known is all that its file has. */
  onSaved(index: number, committedIndex: number): void {
    this.#story.tell(() => `saved: entry ${index}, asked for behind ${committedIndex}`);
    if (index < committedIndex) {
      this.#fail("reads are linearizable", `${index} is saved, asked for behind ${committedIndex}`);
    }
  }

  set world(world: SimWorld) {
    this.#world = world;
    if (!this.#plan.isTimed) return;
    this.#time = new TimeLaws(this.#plan, world.tuning, this.#simulation, this.#fail);
  }

  onFault(fault: Fault): void {
    this.#time?.onFault(fault);
  }

  // Nodes.

  onBoot(node: SimNode, { log, notices, identity }: DataDirectory): void {
    const { boot } = log;
    const lastIndex = boot.baseIndex + boot.entries.length;
    this.#story.tell(
      () =>
        `node ${node.id} opens its disk (${identity.incarnation}): log to ${lastIndex} ${notices.join("; ")}`,
    );
    this.clusters.of(node).raft.onBoot(node.id, boot);
  }

  coreOf(node: SimNode, raft: Raft): CoreWatch {
    const checks = this.clusters.of(node).coreOf(node, raft);
    const ear = this.#coverage?.coreOf(node, raft);
    if (ear === undefined) return checks;
    return {
      beforeStep: (input) => {
        ear.beforeStep(input);
        checks.beforeStep(input);
      },
      afterStep: (input) => checks.afterStep(input),
      onTake: (effects) => checks.onTake(effects),
    };
  }

  onStarted(node: SimNode): void {
    this.#story.tell(() => `node ${node.id} runs`);
    this.#startedAt.set(node.id, this.clusters.of(node).raft.committedIndex);
  }

  onStartFailed(node: SimNode, error: unknown, isRefused: boolean): void {
    this.#story.tell(() => `node ${node.id} does not start: ${String(error)}`);
    if (!isRefused && !node.disk.weather.hasFailed)
      this.#fail("starts", `node ${node.id} does not: ${String(error)}`);
    if (!isRefused) this.#world?.ensureLater(node.id);
  }

  onCrash(node: SimNode, kind: CrashKind): void {
    this.#story.tell(() => `node ${node.id} ends (${kind})`);
  }

  onWiped(node: SimNode): void {
    this.clusters.of(node).raft.onWiped(node.id);
  }

  onPutBack(node: SimNode): void {
    this.#story.tell(() => `an old copy is the disk of node ${node.id}`);
    this.clusters.of(node).raft.onPutBack(node.id);
  }

  onRecovered(node: SimNode): void {
    this.#story.tell(() => `node ${node.id} is recovered`);
    this.clusters.of(node).raft.onRecovered(node.id);
    this.onSeen(SIGHTINGS.recovered);
  }

  onRecoveryFailed(node: SimNode, error: unknown): void {
    this.#story.tell(() => `node ${node.id} is not recovered: ${String(error)}`);
    if (node.disk.weather.hasFailed || node.mayBeDamaged) return;
    this.#fail("starts", `node ${node.id} is not recovered: ${String(error)}`);
  }

  onNoted(node: SimNode, identity: PeerIdentity): void {
    this.clusters.of(node).marks.onNoted(node.id, node.disk, identity);
  }

  onMet(node: SimNode, identity: PeerIdentity): void {
    this.clusters.of(node).marks.onMet(node.id, identity);
    const other = this.#world?.node(identity.nodeId);
    if (other !== undefined && other.versionOffset !== node.versionOffset) {
      this.#fail("one version in a cluster", `nodes ${node.id} and ${other.id} talk`);
    }
    if (other !== undefined && other.clusterId !== node.clusterId) {
      this.#fail("one cluster", `nodes ${node.id} and ${other.id} talk`);
    }
    const isForgetful = other?.isForgetful === true;
    if (!isForgetful || node.isForgetful || !node.noted.knowsBetter(identity)) return;
    this.#fail(
      "who forgot is let in by nobody",
      `node ${node.id} lets ${canonicalTextOf(identity)} in`,
    );
  }

  onFailed(node: SimNode, error: Error, isRemoved: boolean): void {
    this.#story.tell(() => `node ${node.id} gives up: ${error.message}`);
    if (isRemoved) return;
    if (!node.isExcusable(error)) {
      this.#fail("no failure without a cause", `node ${node.id}: ${error.stack ?? error.message}`);
    }
    this.#world?.ensureLater(node.id);
  }

  onDoorFailed(node: SimNode, what: string): void {
    this.#fail("no exception", `a door of node ${node.id}: ${what}`);
  }

  afterTurn(node: SimNode): void {
    if (node.state !== "running") return;
    this.clusters.of(node).afterTurn(node);
    this.#time?.afterTurn(node.assembled.raft);
  }

  onLogged(node: SimNode, level: LogLevel, event: string, fields?: unknown): void {
    this.#story.tell(() => `node ${node.id} ${level} ${event} ${JSON.stringify(fields) ?? ""}`);
  }

  logOf(node: SimNode): LogWatch {
    const { id } = node;
    const { raft, marks, clock } = this.clusters.of(node);
    return {
      onAppend: (write) => {
        raft.onAppend(id, write, node.raftOrNone);
        if (write.snapshot !== undefined) this.#onSnapshotNamed(node, write.snapshot);
        const stampBefore = (index: number): number => raft.stampBefore(id, index);
        clock.onAppend(write, node.raftOrNone, this.#simulation.nowMs, stampBefore);
        this.#time?.onAppend(id, write, node.raftOrNone);
      },
      onDurable: (seq) => {
        raft.onDurable(id, seq);
        marks.onDurable(id, node.disk);
      },
    };
  }

  onSnapshot(node: SimNode, index: number, configuration: Uint8Array): void {
    this.clusters.of(node).raft.onSnapshot(node.id, index, configuration);
  }

  onSend(from: number, to: number, message: PeerMessage): void {
    // Nobody sends to who belongs to another cluster.
    const { readIndexes, forwarded, raft } = this.clusters.now;
    readIndexes.onSend(from, to, message);
    forwarded.onSend(from, to, message);
    if (message.type !== "raft") {
      if (message.type === "snapshotRefused") this.#onSnapshotRefused(from, to, message.reason);
      this.#story.tell(() => `${from} -> ${to} ${message.type}`);
      return;
    }
    const inner = message.message;
    raft.onSend(inner);
    if (inner.type === "voteReply" && inner.granted) this.#onVote(inner);
    this.#time?.onSend(inner);
    // There are too many heartbeats for a story.
    if (inner.type === "heartbeat" || inner.type === "heartbeatReply") return;
    this.#story.tell(() => `${from} -> ${to} ${describe(inner)}`);
  }

  /** What a log stands on outlives whatever happens to the process from here on. */
  #onSnapshotNamed(node: SimNode, { index, checksum }: SnapshotPoint): void {
    if (node.mayBeDamaged || node.disk.hasSnapshot(checksum)) return;
    const text = `the log of node ${node.id} names snapshot ${index}, which its store lacks`;
    this.#fail("a named snapshot is in the store", text);
  }

  /** What one node sends of a snapshot is what the other one gets, unless a disk has altered it. */
  #onSnapshotRefused(by: number, sender: number, reason: string): void {
    const isExcused = [by, sender].some((id) => {
      const node = this.#world?.node(id);
      return node?.mayBeDamaged === true || node?.disk.weather.hasFailed === true;
    });
    if (isExcused || REFUSABLE.some((words) => reason.startsWith(words))) return;
    this.#fail("a snapshot arrives whole", `node ${by} refuses ${sender}'s: ${reason}`);
  }

  #onVote(vote: VoteReply): void {
    const node = this.#world?.node(vote.from);
    if (node === undefined) return;
    const { raft, marks } = this.clusters.of(node);
    marks.onVote(vote, node.disk, raft.voteSeqOf(node.id, vote.term));
  }

  onReceive(node: SimNode, message: PeerMessage): void {
    const { raft, marks } = this.clusters.of(node);
    raft.onReceive(node.id, message);
    if (message.type === "raft" && message.message.type === "vote") marks.onAsked(message.message);
  }

  // Clients.

  onNote(client: Host, text: string): void {
    this.#story.tell(() => `client ${client.host} ${text}`);
  }

  onOperatorNote(text: string): void {
    this.#story.tell(() => `operator ${text}`);
  }

  viewOf(node: number): ViewedConnection | undefined {
    const speakers = this.#speakers;
    if (speakers === undefined || this.#world === undefined) return undefined;
    const { raft, witness } = this.clusters.of(this.#world.node(node));
    return new ViewedConnection({
      ...{ laws: witness.access, speakers, fail: this.#fail },
      committedIndex: () => raft.committedIndex,
      startedIndex: this.#startedAt.get(node) ?? 0,
    });
  }

  get isClosed(): boolean {
    return !mayEverywhere(this.witness.access.reckoning.now, ANONYMOUS_PERSON, "admin");
  }

  onSaid(said: Said): void {
    const { session, command } = said;
    this.clusters.now.onAsked(`${session}/${command.sequence}`);
    this.clusters.now.order.onSaid(said);
  }

  onAttached(client: Host, message: Attached): void {
    this.#story.tell(() => `client ${client.host} hears ${canonicalTextOf(message)}`);
    if (OF_ANY_NODE.includes(message.status)) return;
    if (!this.witness.hasAttached(message) && !this.#mayTurnAway(message)) {
      this.#fail("linearizable", `nobody said ${canonicalTextOf(message)}`);
    }
    if (message.status !== STATUS.ok) return;
    this.#hostOf.set(message.session, client.host);
    this.witness.hearAttached(message);
  }

  /**
   * Whether a node may have refused that by itself, as it does where strangers may do nothing. Its
   * table can be as old as any.
   */
  #mayTurnAway(message: Attached): boolean {
    const { reckoning } = this.witness.access;
    return (
      isTurnedAway(message) &&
      reckoning.since(0).some((state) => !maySomewhere(state, ANONYMOUS_PERSON, "observe"))
    );
  }

  onHeard(way: AttachCommand["op"], message: ServerMessage): void {
    this.#coverage?.hear(way, message);
  }

  onMessage(client: Host, session: number, epoch: number, message: SessionMessage): void {
    this.#story.tell(() => `client ${client.host} hears ${canonicalTextOf(message)}`);
    if (!this.witness.hasSaid(session, message)) {
      this.#fail("linearizable", `nobody said ${canonicalTextOf(message)} to session ${session}`);
    }
    const complaint = this.witness.hear(session, epoch, message);
    if (complaint !== undefined) this.#fail("nothing is left out", complaint);
    if (message.kind !== MESSAGE.reply && message.kind !== MESSAGE.outcome) return;
    const at = this.witness.executedAt(session, message.sequence);
    const asked = this.clusters.now.askedAt(`${session}/${message.sequence}`);
    if (asked !== undefined && at <= asked) {
      const what = `${message.sequence} of session ${session}`;
      this.#fail("linearizable", `${what} was asked behind ${asked} and executed at ${at}`);
    }
    this.clusters.now.onTold(at);
  }

  onRefused(session: number, epoch: number, sequence: number, status: ErrorNumber): void {
    this.#story.tell(() => `${sequence} of session ${session} is refused: ${status}`);
    const weak = this.clusters.now.onRefused(session, epoch, sequence);
    if (weak !== undefined && status === ERROR_NUMBERS.BUSY && !this.#isNarrow) {
      this.#fail("weak calls get through", `op ${weak.op} of session ${session} is refused`);
    }
  }

  onExecuted(op: number, status: number): void {
    this.onSeen(`${op}/${status}`);
  }

  onSeen(what: string): void {
    this.outcomes.set(what, (this.outcomes.get(what) ?? 0) + 1);
  }

  onBelief(belief: HeldBelief): void {
    this.exclusion.add(belief);
  }

  onWrite(write: GuardedWrite): void {
    const { belief, token } = write;
    const isRightful = belief.token === token && belief.isTrusted && !this.isTorn(belief);
    this.resource.write(write, isRightful);
  }

  onCallEnded(marker: string, ending: CallEnding): void {
    this.onSeen(SIGHTINGS.callEnded(ending.kind === "failed" ? ending.code : ending.kind));
    this.#story.tell(() => `"${marker}" ends: ${canonicalTextOf(ending)}`);
    this.once.onCallEnded(marker, ending);
  }

  onMade(client: Host, wish: string): void {
    this.fates.onMade(client.host, wish);
  }

  onDenied(client: Host, wish: string): void {
    this.onSeen(SIGHTINGS.callDenied);
    this.fates.onDenied(client.host, wish);
  }

  onHandOverAsked(client: Host, session: number, target: number | undefined): HandOverAsked {
    const { clusterId } = this.clusters.now.founding;
    if (target === undefined) this.fates.onAllHandedOver(client.host, session);
    return this.handOvers.onAsked(sessionOf(client.host, session, clusterId), target);
  }

  onWatchAsked(watched: WatchedKeys): void {
    this.streams.onAsked(watched);
  }

  onWatchBegun(watched: WatchedKeys, after: Revision, asked: WatchAsked): void {
    this.onSeen(SIGHTINGS.watchBegun);
    this.streams.onBegun(watched, after, asked, (session, sequence) => {
      return this.witness.executedAt(session, sequence);
    });
  }

  onWatchTold(watched: WatchedKeys, change: ToldChange): void {
    this.onSeen(SIGHTINGS.watchTold);
    this.streams.onTold(watched, change);
  }

  onWatchEnded(watched: WatchedKeys): void {
    this.streams.onEnded(watched);
  }

  onGivenBack(client: WorldClient, session: number, token: number): void {
    if (!this.isHeldInLog(session, token)) return;
    this.#fail("exactly once", `client ${client.host} hears ${token} is released, and has it`);
  }

  onBroken(client: Host, rule: string, what: string): void {
    this.#fail(rule, `client ${client.host}: ${what}`);
  }

  onRead(reader: number | string, id: number): void {
    this.clusters.now.onAsked(`read ${reader}/${id}`);
  }

  onAnswer(reader: number | string, op: typeof OP.inspect, { id, status, payload }: Answer): void {
    this.onExecuted(op, status);
    if (status !== STATUS.ok) return;
    const asked = this.clusters.now.askedAt(`read ${reader}/${id}`) ?? 0;
    const view = payload as KeyView;
    const seenAt = this.witness.seenAt(view, asked);
    if (seenAt === undefined) {
      this.#fail("reads are linearizable", `behind ${asked} nobody sees ${canonicalTextOf(view)}`);
      return;
    }
    this.clusters.now.onTold(seenAt);
  }

  isHeldInLog(session: number, token: number): boolean {
    return this.clusters.whichGranted(token).witness.laws.isHeldBy(session, token);
  }

  numberInLog(session: number, token: number): number {
    return this.clusters.whichGranted(token).witness.laws.numberOf(session, token);
  }

  holdsInLog(session: number, number: number): boolean {
    return this.witness.laws.keysOf(session, number) !== undefined;
  }

  /** How the log has the key of a hold now; `undefined`: not under that token. */
  modeInLog(token: number, key: string): string | undefined {
    return this.clusters.whichGranted(token).witness.laws.modeOf(token, key);
  }

  /** Who counts on a hold that nothing took away untold. */
  #rightful(): readonly HeldBelief[] {
    const world = this.#world;
    const believers =
      world === undefined ? [] : [...world.clients, ...world.owners, ...world.doorOwners];
    const trusted = believers.flatMap((believer): readonly HeldBelief[] => believer.trusted);
    return trusted.filter((belief) => !this.isTorn(belief));
  }

  #onSessionEnded(cluster: ClusterChecks, session: number): void {
    const holder = this.#rightful().find((belief) => {
      return belief.session === session && this.clusters.whichGranted(belief.token) === cluster;
    });
    if (holder === undefined) return;
    const { host } = holder.client;
    this.#fail("lease from below", `session ${session} ended before client ${host} let go`);
  }

  #onLost(token: number): void {
    const holder = this.#rightful().find((belief) => belief.token === token);
    if (holder === undefined) return;
    const { host } = holder.client;
    this.#fail("deadline from below", `${token} ended before client ${host} let go`);
  }

  #onGivenUp(token: number): void {
    const holder = this.#rightful().find((belief) => belief.token === token);
    if (holder === undefined) return;
    const what = `${token} is given back, and client ${holder.client.host} counts on it`;
    this.#fail("given up before it is given back", what);
  }

  /** Stolen or revoked at once: only fencing covers that. */
  isTorn({ session, token }: HeldBelief): boolean {
    return this.clusters.whichGranted(token).witness.laws.isTorn(session, token);
  }

  #onCommitted(entry: Entry, raft: Raft): void {
    this.#time?.onCommitted(entry, raft);
    this.#simulation.hash.number(entry.index);
    this.#simulation.hash.number(entry.term);
    this.#simulation.hash.number(entry.data.length);
  }
}

/** A client may have a session of the same number in a restored cluster, or another client may. */
function sessionOf(host: number, session: number, clusterId: string): string {
  return `session ${session} of client ${host} in ${clusterId}`;
}

function describe(message: Message): string {
  const { from: _from, to: _to, epoch: _epoch, ...rest } = message;
  if (!("entries" in rest)) return JSON.stringify(rest);
  const entries = rest.entries.map(({ index, term }) => `${index}/${term}`);
  return JSON.stringify({ ...rest, entries });
}
