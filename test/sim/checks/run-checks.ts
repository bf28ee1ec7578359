/** Everything that watches a run, behind the ears of nodes, network and clients. */
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors.js";
import type { PeerIdentity, PeerMessage } from "../../../src/net/index.js";
import {
  type Answer,
  type AttachCommand,
  type Attached,
  isStrong,
  type KeyView,
  MESSAGE,
  type OP,
  type Revision,
  type ServerMessage,
  type SessionMessage,
  STATUS,
} from "../../../src/protocol/index.js";
import type { Entry, Message, Raft } from "../../../src/raft/index.js";
import type { LogLevel } from "../../../src/server/ports.js";
import type { DataDirectory } from "../../../src/storage/index.js";
import type { HeldBelief } from "../clients/belief.js";
import type { CallEnding, GuardedWrite, Said } from "../clients/client-watch.js";
import { SEEN } from "../clients/seen.js";
import type { WorldClient } from "../clients/world-client.js";
import type { Simulation } from "../engine/simulation.js";
import type { Fault } from "../plan/fault.js";
import type { SimPlan } from "../plan/plan.js";
import { foundersOf } from "../world/founders.js";
import type { CrashKind } from "../world/node-disk.js";
import type { SimNode } from "../world/sim-node.js";
import type { SimWorld, WorldWatch } from "../world/sim-world.js";
import type { CoreWatch } from "../world/watched-core.js";
import type { LogWatch } from "../world/watched-log.js";
import { CoreChecks } from "./core-checks.js";
import type { Coverage } from "./coverage.js";
import { DemandedSegments } from "./demanded-segments.js";
import { ExactlyOnce } from "./exactly-once.js";
import { Exclusion } from "./exclusion.js";
import { FencedResource } from "./fenced-resource.js";
import { ForwardOrder } from "./forward-order.js";
import { ProgramOrder } from "./program-order.js";
import { RaftChecks } from "./raft-checks.js";
import { ReadIndexes } from "./read-index.js";
import type { Story } from "./story.js";
import { TimeLaws } from "./time-laws.js";
import { type Fail, Violation } from "./violation.js";
import {
  type ToldChange,
  type WatchAsked,
  type WatchedKeys,
  WatchStreams,
} from "./watch-streams.js";
import { Witness } from "./witness.js";
import { wordsOf } from "./words.js";

/** Tables are compared at every index so many apart, with that of the witness. */
const HASH_EVERY = 4;
/** A node says these by itself to who wants to be attached. */
const OF_ANY_NODE: readonly number[] = [ERROR_NUMBERS.BUSY, ERROR_NUMBERS.DISK_FULL];

export class RunChecks implements WorldWatch {
  readonly raft: RaftChecks;
  readonly witness: Witness;
  readonly exclusion: Exclusion;
  readonly resource: FencedResource;
  readonly once: ExactlyOnce;
  readonly order: ProgramOrder;
  readonly #forwarded: ForwardOrder;
  /** Nodes have little room for clients: they may have none for what gives something back. */
  readonly #isNarrow: boolean;
  readonly streams: WatchStreams;
  /** Commands that an entry executed, as `op/status`, and other things seen by name. */
  readonly outcomes = new Map<string, number>();
  readonly #readIndexes: ReadIndexes;
  readonly #demanded: DemandedSegments;
  readonly #simulation: Simulation;
  readonly #story: Story;
  readonly #fail: Fail;
  readonly #hashes = new Map<number, string>();
  /** Where the log stood, as far as anybody outside can know. */
  #knownIndex = 0;
  /** `#knownIndex` when something was asked for. */
  readonly #askedAt = new Map<string, number>();
  readonly #coverage: Coverage | undefined;
  readonly #plan: SimPlan;
  #world: SimWorld | undefined;
  #time: TimeLaws | undefined;

  /** `coverage`: counts what the run comes to, where that is wanted. */
  constructor(plan: SimPlan, simulation: Simulation, story: Story, coverage?: Coverage) {
    this.#coverage = coverage;
    this.#plan = plan;
    this.#simulation = simulation;
    this.#story = story;
    this.#fail = (rule, message) => simulation.fail(new Violation(rule, message));
    const count = plan.nodeCount + plan.spareCount;
    const ids = Array.from({ length: count }, (_, at) => at + 1);
    this.exclusion = new Exclusion(this.#fail, (belief) => this.#isTorn(belief));
    this.resource = new FencedResource(this.#fail);
    const hasReaders = plan.clients.some(({ mix }) => mix.inspect > 0);
    const keys = [...plan.keys, ...plan.semaphores.map(({ key }) => key)];
    this.once = new ExactlyOnce(this.#fail);
    this.order = new ProgramOrder(this.#fail);
    this.#isNarrow = plan.tuning.uncommittedBytesMax !== undefined;
    this.witness = new Witness(keys, hasReaders, {
      onAnswered: (marker, call, result) => this.once.onAnswered(marker, call, result),
      onSessionEnded: (session) => this.#onSessionEnded(session),
      onLost: (token) => this.#onLost(token),
      onExecuted: (session, epoch, command) => this.order.onExecuted(session, epoch, command),
      onGivenUp: (token) => this.#onGivenUp(token),
    });
    this.streams = new WatchStreams(this.witness.table, this.#fail);
    if (plan.clients.some(({ speaks }) => speaks === "sdk")) this.streams.listen();
    this.#forwarded = new ForwardOrder(this.#fail, (session) => {
      return this.witness.laws.highestOf(session);
    });
    this.#readIndexes = new ReadIndexes(this.#fail, () => this.raft.committedIndex);
    this.#demanded = new DemandedSegments(this.#fail);
    this.raft = new RaftChecks(ids, foundersOf(plan.nodeCount), this.#fail, (entry, raft) =>
      this.#onCommitted(entry, raft),
    );
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
    this.raft.onBoot(node.id, boot);
  }

  coreOf(node: SimNode, raft: Raft): CoreWatch {
    const around = {
      times: node.tuning,
      committedIndex: () => this.raft.committedIndex,
      members: () => this.raft.membersOf(node.id),
    };
    const checks = new CoreChecks(node.id, raft, around, this.#fail);
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
    this.raft.onWiped(node.id);
  }

  onPutBack(node: SimNode): void {
    this.#story.tell(() => `an old copy is the disk of node ${node.id}`);
    this.raft.onPutBack(node.id);
  }

  onRecovered(node: SimNode): void {
    this.#story.tell(() => `node ${node.id} is recovered`);
    this.raft.onRecovered(node.id);
    this.onSeen(SEEN.recovered);
  }

  onRecoveryFailed(node: SimNode, error: unknown): void {
    this.#story.tell(() => `node ${node.id} is not recovered: ${String(error)}`);
    if (node.disk.weather.hasFailed || node.mayBeDamaged) return;
    this.#fail("starts", `node ${node.id} is not recovered: ${String(error)}`);
  }

  onMet(node: SimNode, identity: PeerIdentity): void {
    const other = this.#world?.node(identity.nodeId);
    if (other !== undefined && other.versionOffset !== node.versionOffset) {
      this.#fail("one version in a cluster", `nodes ${node.id} and ${other.id} talk`);
    }
    const isForgetful = other?.isForgetful === true;
    if (!isForgetful || node.isForgetful || !node.noted.knowsBetter(identity)) return;
    this.#fail("who forgot is let in by nobody", `node ${node.id} lets ${wordsOf(identity)} in`);
  }

  onFailed(node: SimNode, error: Error, isRemoved: boolean): void {
    this.#story.tell(() => `node ${node.id} gives up: ${error.message}`);
    if (isRemoved) return;
    if (!node.isExcusable(error)) {
      this.#fail("no failure without a cause", `node ${node.id}: ${error.stack ?? error.message}`);
    }
    this.#world?.ensureLater(node.id);
  }

  afterTurn(node: SimNode): void {
    if (node.state !== "running") return;
    const { raft, table, driver } = node.assembled;
    this.raft.afterTurn(node.id, raft, node.isAlive);
    this.#time?.afterTurn(raft);
    if (raft.appliedIndex === node.comparedIndex) return;
    // While the table waits for a snapshot the core is ahead of it.
    const index = driver.status.appliedIndex;
    if (index === node.comparedIndex) return;
    node.comparedIndex = index;
    const known = this.#hashes.get(index);
    if (known !== undefined && table.hash() !== known) {
      this.#fail("state machine safety", `tables differ behind entry ${index}, node ${node.id}`);
    }
  }

  onLogged(node: SimNode, level: LogLevel, event: string, fields?: unknown): void {
    this.#story.tell(() => `node ${node.id} ${level} ${event} ${JSON.stringify(fields) ?? ""}`);
  }

  logOf(node: SimNode): LogWatch {
    const { id } = node;
    return {
      onAppend: (write) => {
        this.raft.onAppend(id, write, node.raftOrNone);
        this.#time?.onAppend(id, write, node.raftOrNone);
      },
      onDurable: (seq) => {
        this.raft.onDurable(id, seq);
        this.#demanded.onDurable(id, node.disk);
      },
    };
  }

  onSnapshot({ id }: SimNode, index: number, configuration: Uint8Array): void {
    this.raft.onSnapshot(id, index, configuration);
  }

  onSend(from: number, to: number, message: PeerMessage): void {
    this.#readIndexes.onSend(from, to, message);
    this.#forwarded.onSend(from, to, message);
    if (message.type !== "raft") {
      this.#story.tell(() => `${from} -> ${to} ${message.type}`);
      return;
    }
    const inner = message.message;
    this.raft.onSend(inner);
    this.#time?.onSend(inner);
    // Of the heartbeats there are too many for a story.
    if (inner.type === "heartbeat" || inner.type === "heartbeatReply") return;
    this.#story.tell(() => `${from} -> ${to} ${describe(inner)}`);
  }

  onReceive(node: SimNode, message: PeerMessage): void {
    this.raft.onReceive(node.id, message);
  }

  // Clients.

  onNote(client: WorldClient, text: string): void {
    this.#story.tell(() => `client ${client.host} ${text}`);
  }

  onOperatorNote(text: string): void {
    this.#story.tell(() => `operator ${text}`);
  }

  onSaid(said: Said): void {
    const { session, command } = said;
    this.#askedAt.set(`${session}/${command.sequence}`, this.#knownIndex);
    this.order.onSaid(said);
  }

  onAttached(client: WorldClient, message: Attached): void {
    this.#story.tell(() => `client ${client.host} hears ${wordsOf(message)}`);
    if (OF_ANY_NODE.includes(message.status)) return;
    if (!this.witness.hasAttached(message)) {
      this.#fail("linearizable", `nobody said ${wordsOf(message)}`);
    }
    if (message.status === STATUS.ok) this.witness.hearAttached(message);
  }

  onHeard(way: AttachCommand["op"], message: ServerMessage): void {
    this.#coverage?.hear(way, message);
  }

  onMessage(client: WorldClient, session: number, epoch: number, message: SessionMessage): void {
    this.#story.tell(() => `client ${client.host} hears ${wordsOf(message)}`);
    if (!this.witness.hasSaid(session, message)) {
      this.#fail("linearizable", `nobody said ${wordsOf(message)} to session ${session}`);
    }
    const complaint = this.witness.hear(session, epoch, message);
    if (complaint !== undefined) this.#fail("nothing is left out", complaint);
    if (message.kind !== MESSAGE.reply && message.kind !== MESSAGE.outcome) return;
    const at = this.witness.executedAt(session, message.sequence);
    const asked = this.#askedAt.get(`${session}/${message.sequence}`);
    if (asked !== undefined && at <= asked) {
      const what = `${message.sequence} of session ${session}`;
      this.#fail("linearizable", `${what} was asked behind ${asked} and executed at ${at}`);
    }
    this.#knownIndex = Math.max(this.#knownIndex, at);
  }

  onRefused(session: number, epoch: number, sequence: number, status: ErrorNumber): void {
    this.#story.tell(() => `${sequence} of session ${session} is refused: ${status}`);
    const command = this.order.onRefused(session, epoch, sequence);
    const isWeak = command !== undefined && !isStrong(command);
    if (isWeak && status === ERROR_NUMBERS.BUSY && !this.#isNarrow) {
      this.#fail("weak calls get through", `op ${command.op} of session ${session} is refused`);
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
    const isRightful = belief.token === token && belief.isTrusted && !this.#isTorn(belief);
    this.resource.write(write, isRightful);
  }

  onCallEnded(marker: string, ending: CallEnding): void {
    this.onSeen(SEEN.callEnded(ending.kind === "failed" ? ending.code : ending.kind));
    this.#story.tell(() => `"${marker}" ends: ${wordsOf(ending)}`);
    this.once.onCallEnded(marker, ending);
  }

  onWatchBegun(watched: WatchedKeys, after: Revision, asked: WatchAsked): void {
    this.onSeen(SEEN.watchBegun);
    this.streams.onBegun(watched, after, asked, (session, sequence) => {
      return this.witness.executedAt(session, sequence);
    });
  }

  onWatchTold(watched: WatchedKeys, change: ToldChange): void {
    this.onSeen(SEEN.watchTold);
    this.streams.onTold(watched, change);
  }

  onWatchEnded(watched: WatchedKeys): void {
    this.streams.onEnded(watched);
  }

  onGivenBack(client: WorldClient, session: number, token: number): void {
    if (!this.witness.laws.isHeldBy(session, token)) return;
    this.#fail("exactly once", `client ${client.host} is told ${token} is released, and has it`);
  }

  onBroken(client: WorldClient, rule: string, what: string): void {
    this.#fail(rule, `client ${client.host}: ${what}`);
  }

  onRead(reader: number | string, id: number): void {
    this.#askedAt.set(`read ${reader}/${id}`, this.#knownIndex);
  }

  onAnswer(reader: number | string, op: typeof OP.inspect, { id, status, payload }: Answer): void {
    this.onExecuted(op, status);
    if (status !== STATUS.ok) return;
    const asked = this.#askedAt.get(`read ${reader}/${id}`) ?? 0;
    const view = payload as KeyView;
    const seenAt = this.witness.seenAt(view, asked);
    if (seenAt === undefined) {
      this.#fail("reads are linearizable", `behind ${asked} nobody sees ${wordsOf(view)}`);
      return;
    }
    this.#knownIndex = Math.max(this.#knownIndex, seenAt);
  }

  isHeldInLog(session: number, token: number): boolean {
    return this.witness.laws.isHeldBy(session, token);
  }

  numberInLog(session: number, token: number): number {
    return this.witness.laws.numberOf(session, token);
  }

  /** How the log has the key of a hold now; `undefined`: not under that token. */
  modeInLog(token: number, key: string): string | undefined {
    return this.witness.laws.modeOf(token, key);
  }

  /** Who counts on a hold that nothing took away untold. */
  #rightful(): readonly HeldBelief[] {
    const trusted = (this.#world?.clients ?? []).flatMap((client) => client.trusted);
    return trusted.filter((belief) => !this.#isTorn(belief));
  }

  #onSessionEnded(session: number): void {
    const holder = this.#rightful().find((belief) => belief.session === session);
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

  /** Stolen, revoked at once, or of a session that another process has: only fencing covers that. */
  #isTorn({ session, token }: HeldBelief): boolean {
    return this.witness.laws.isTorn(session, token);
  }

  #onCommitted(entry: Entry, raft: Raft): void {
    this.#time?.onCommitted(entry, raft);
    this.#simulation.hash.number(entry.index);
    this.#simulation.hash.number(entry.term);
    this.#simulation.hash.number(entry.data.length);
    this.streams.beginEntry(entry.index);
    const complaint = this.witness.apply(entry);
    if (complaint !== undefined) this.#fail("one order of everything", complaint);
    if (entry.index % HASH_EVERY !== 0) return;
    this.#hashes.set(entry.index, this.witness.table.hash());
  }
}

function describe(message: Message): string {
  const { from: _from, to: _to, epoch: _epoch, ...rest } = message;
  if (!("entries" in rest)) return JSON.stringify(rest);
  const entries = rest.entries.map(({ index, term }) => `${index}/${term}`);
  return JSON.stringify({ ...rest, entries });
}
