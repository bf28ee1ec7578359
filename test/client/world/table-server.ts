/**
 * A cluster for tests of the SDK: the real lock table behind the real codec, with one "log" that
 * every node applies at once, and a network whose faults can be switched. A second implementation
 * of what stands on the other side of a client's connection, not a mock: what is admitted goes by
 * the rules of the protocol, and everything else is decided by the table. A client that breaks the
 * order of its commands stops the test.
 */

import type { TransportEvents } from "../../../src/client/index.js";
import { ERROR_NUMBERS, type ErrorNumber } from "../../../src/errors/index.js";
import { type Credential, LockTable, type TableOutbox } from "../../../src/lockfsm/index.js";
import {
  type Attached,
  attachKeyOf,
  type Command,
  type Hello,
  isAttachCommand,
  isNodeOperation,
  isOrder,
  isStrong,
  MESSAGE,
  OP,
  type Operation,
  PROTOCOL_VERSION,
  type SequencedCommand,
  type SessionMessage,
  STATUS,
} from "../../../src/protocol/index.js";
import { type Admitted, ServerConnection } from "./server-connection.js";
import { noFaults } from "./server-faults.js";
import type { SimulatedWorld } from "./simulated-world.js";
import { TableMembers } from "./table-members.js";
import { TableReads } from "./table-reads.js";
import { TableSnapshots } from "./table-snapshots.js";

const CLUSTER_ID = "c0ffee00c0ffee00c0ffee00c0ffee00";
const FRAME_BYTES_MAX = 1 << 20;

/** How long a node looks for a leader before it answers an operation with `UNAVAILABLE`. */
const OPERATION_MS_MAX = 1_000;

/** How long a node waits for what it passed on before it passes it on again. */
const RESEND_MS = [5, 40] as const;

/** A command with a sequence that a node did not admit. */
export interface Unadmitted {
  readonly session: number;
  readonly command: SequencedCommand;
  readonly atMs: number;
}

/** A command with a sequence that the table executed. */
export interface Executed extends Unadmitted {
  readonly epoch: number;
  /** The index of the entry. */
  readonly index: number;
}

/** A token that a client showed to a node. */
export interface ShownToken {
  readonly nodeId: number;
  readonly token: string;
  readonly atMs: number;
}

export class TableServer implements TableOutbox {
  readonly world: SimulatedWorld;
  readonly table = new LockTable();
  readonly reads = new TableReads(this.table);
  readonly snapshots = new TableSnapshots(this.table);
  readonly nodes: readonly { readonly id: number; readonly endpoint: string }[];
  readonly members: TableMembers;
  readonly faults = noFaults();
  leaderId = 1;
  readonly connections = new Set<ServerConnection>();
  /** Every command as it was applied, in order, whether or not it had an effect. */
  readonly applied: Command[] = [];
  /** What the table executed, in order. */
  readonly executed: Executed[] = [];
  /** What was not admitted, in order. */
  readonly refused: Unadmitted[] = [];
  /** Commands with a sequence that were admitted and not executed yet, by session, epoch, sequence. */
  readonly #admitted = new Map<string, SequencedCommand>();
  /**
   * By session: sequences of which the table keeps how they ended, until the client says that it has
   * read it.
   */
  readonly #owed = new Map<number, Set<number>>();
  readonly #epochs = new Map<number, number>();
  /** Who gave an order without a session, by its number. */
  readonly #ordering = new Map<number, ServerConnection>();
  clusterId = CLUSTER_ID;
  version = PROTOCOL_VERSION;
  /** Connections opened, by node. */
  readonly opened: number[] = [];
  /** Every token that was shown, in order. */
  readonly shown: ShownToken[] = [];
  /** What each node passed on, on its way into the log. */
  readonly #lines = new Map<number, Admitted[]>();
  #index = 0;
  #clusterMs = 1_000;
  #countedAtMs = 0;

  constructor(
    world: SimulatedWorld,
    nodeCount = 3,
    endpointOf = (id: number): string => `ws://node-${id}:7411`,
  ) {
    this.world = world;
    this.nodes = Array.from({ length: nodeCount }, (_, i) => ({
      id: i + 1,
      endpoint: endpointOf(i + 1),
    }));
    this.members = new TableMembers(this.nodes);
    this.#tick();
  }

  get endpoints(): string[] {
    return this.nodes.map(({ endpoint }) => endpoint);
  }

  between([low, high]: readonly [number, number]): number {
    return low + (high - low) * this.world.random();
  }

  isHeld(key: string, token: number): boolean {
    return this.table.inspect(key).holds.some((hold) => hold.token === token);
  }

  connect(url: string, events: TransportEvents): ServerConnection {
    const node = this.nodes.find(({ endpoint }) => `${endpoint}/v1` === url);
    const connection = new ServerConnection(this, node?.id ?? 0, events);
    this.opened.push(node?.id ?? 0);
    if (node === undefined || this.faults.downNodes.has(node.id)) connection.refuse();
    else if (!this.faults.silentNodes.has(node.id)) connection.accept();
    return connection;
  }

  /** SIGSTOP: the node's process stands still, and nobody notices by what the kernel does. */
  freeze(nodeId: number): void {
    this.faults.silentNodes.add(nodeId);
    for (const connection of this.connections) {
      if (connection.nodeId === nodeId) connection.isBlackhole = true;
    }
  }

  hello(nodeId: number): Hello {
    return {
      kind: MESSAGE.hello,
      version: this.version,
      clusterId: this.clusterId,
      nodeId,
      leaderId: this.faults.isLeaderless ? 0 : this.leaderId,
      endpoints: this.nodes,
      frameBytesMax: FRAME_BYTES_MAX,
      voters: this.nodes.map(({ id }) => id),
    };
  }

  /** A command reached a node. */
  propose(connection: ServerConnection, command: Command): void {
    if (this.faults.cutsBefore(command)) {
      connection.cut();
      return;
    }
    const isAttach = isAttachCommand(command);
    const isAlone = connection.session === 0 && !connection.wasAttached && isOrder(command);
    if (isAlone) this.#ordering.set(command.sequence, connection);
    if (!isAttach && !isAlone) {
      if (connection.session === 0) {
        if (!connection.wasAttached) connection.close(1008, "not attached");
        return;
      }
      if ("sequence" in command && !connection.expects(command)) return;
    }
    const refusal = this.#refusalOf(command);
    if (refusal !== undefined) {
      if ("sequence" in command) {
        this.refused.push({ session: connection.session, command, atMs: this.world.nowMs });
      }
      connection.refuseCommand(command, refusal);
      return;
    }
    if (isAttach) connection.awaited = attachKeyOf(command);
    const session = isAttach ? 0 : connection.session;
    const epoch = session === 0 ? connection.credential : connection.epoch;
    if ("sequence" in command) {
      if (!isAlone) connection.noteAdmitted(command.sequence);
      this.#admitted.set(`${session}/${isAlone ? 0 : epoch}/${command.sequence}`, command);
    }
    const admitted = { connection, session, epoch, command };
    connection.kept.add(admitted);
    this.#passOn(admitted);
  }

  #refusalOf(command: Command): ErrorNumber | undefined {
    const { busy, refuses, refusesForGood, refusals, hardRefusals, refusal } = this.faults;
    if (refuses(command) || busy === "everything") return refusal;
    if (!("sequence" in command)) return undefined;
    if (refusesForGood(command)) return ERROR_NUMBERS.INVALID_ARGUMENT;
    if (busy === "commands" || (busy === "strong" && isStrong(command))) return refusal;
    const random = this.world.random();
    return random < hardRefusals || (isStrong(command) && random < refusals) ? refusal : undefined;
  }

  /** What is kept stays at the node until it is known to have been applied. */
  #passOn(admitted: Admitted): void {
    const { connection } = admitted;
    if (this.world.random() < this.faults.losses) {
      this.world.after(this.between(RESEND_MS), () => {
        if (!connection.kept.has(admitted)) return;
        for (const each of connection.kept) this.#enqueue(each);
      });
      return;
    }
    this.#enqueue(admitted);
    if (this.world.random() < this.faults.duplicates) {
      this.world.after(this.between(this.faults.duplicateMs), () => this.#enqueue(admitted));
    }
  }

  #enqueue(admitted: Admitted): void {
    const { nodeId } = admitted.connection;
    const line = this.#lines.get(nodeId);
    if (line !== undefined) {
      line.push(admitted);
      return;
    }
    this.#lines.set(nodeId, [admitted]);
    this.world.after(this.between(this.faults.commitMs), () => this.#commit(nodeId));
  }

  /** An operation reached a node, which passes it on to the leader. */
  operate(connection: ServerConnection, operation: Operation): void {
    const deadlineMs = this.world.nowMs + OPERATION_MS_MAX;
    const needsLeader = operation.op !== OP.readSnapshot && !isOfStale(operation);
    const tryNow = (): void => {
      if (needsLeader && this.faults.isLeaderless && this.world.nowMs < deadlineMs) {
        this.world.after(5, tryNow);
        return;
      }
      const answer =
        needsLeader && this.faults.isLeaderless
          ? this.members.unavailable()
          : this.#answerOf(connection, operation);
      if (this.faults.losesAnswers && operation.op !== OP.members) {
        connection.cut();
        return;
      }
      connection.push({ kind: MESSAGE.answer, id: operation.id, ...answer });
      connection.flush();
    };
    this.world.after(this.between(this.faults.commitMs), tryNow);
  }

  #answerOf(connection: ServerConnection, operation: Operation) {
    return isNodeOperation(operation)
      ? this.snapshots.carryOut(connection, operation, this.world.nowMs)
      : this.members.carryOut(operation, this);
  }

  owedTo(session: number): number[] {
    return [...(this.#owed.get(session) ?? [])];
  }

  toSession(session: number, epoch: number, message: SessionMessage): void {
    if (message.kind === MESSAGE.reply) this.#noteExecuted(session, epoch, message.sequence);
    if (session === 0 && message.kind === MESSAGE.reply) {
      this.#ordering.get(message.sequence)?.push(message);
      return;
    }
    this.#noteOwed(session, message);
    for (const connection of this.connections) {
      if (connection.session !== session || connection.epoch !== epoch) continue;
      connection.push(message);
      if (message.kind === MESSAGE.reply) connection.settle(message.sequence);
      if (message.kind === MESSAGE.ended) connection.unbind();
    }
  }

  #noteExecuted(session: number, epoch: number, sequence: number): void {
    const key = `${session}/${epoch}/${sequence}`;
    const command = this.#admitted.get(key);
    if (command === undefined) throw new Error(`${key} was executed twice, or never admitted`);
    // Orders without a session have numbers by chance, and their copies may reach the table again.
    if (session !== 0) this.#admitted.delete(key);
    const atMs = this.world.nowMs;
    this.executed.push({ session, epoch, command, index: this.#index, atMs });
    if (command.op === OP.end) this.#owed.get(session)?.delete(command.target);
    if (!this.faults.cutsAfter(command)) return;
    for (const connection of this.connections) {
      if (connection.session === session && connection.epoch === epoch) connection.cut();
    }
  }

  #noteOwed(session: number, message: SessionMessage): void {
    if (message.kind === MESSAGE.ended) this.#owed.delete(session);
    const isUnread =
      message.kind === MESSAGE.lost ||
      (message.kind === MESSAGE.outcome && message.result.status !== STATUS.granted);
    if (!isUnread) return;
    const owed = this.#owed.get(session) ?? new Set();
    owed.add(message.sequence);
    this.#owed.set(session, owed);
  }

  /** What a client acknowledges came with earlier entries, so this may follow the whole entry. */
  #noteRead({ session, epoch, command }: Admitted, epochs: ReadonlyMap<number, number>): void {
    if (!("acknowledged" in command) || epoch !== epochs.get(session)) return;
    for (const sequence of command.acknowledged) this.#owed.get(session)?.delete(sequence);
  }

  attached(message: Attached): void {
    if (message.status === STATUS.ok) this.#epochs.set(message.session, message.epoch);
    for (const connection of this.connections) {
      if (connection.awaited !== message.key) continue;
      connection.awaited = "";
      if (message.status === STATUS.ok) connection.bind(message);
      connection.push(message);
    }
  }

  #closeOutdated(): void {
    for (const connection of this.connections) {
      const { session, epoch } = connection;
      if (session === 0 || epoch === this.#epochs.get(session)) continue;
      connection.close(1008, "session attached elsewhere");
    }
  }

  /** Closes the connections whose credential is gone or has expired. */
  #closeUnknown(): void {
    for (const connection of this.connections) {
      const credential = this.table.findCredential(connection.credential);
      if (credential === undefined) connection.close(1008, "unknown credential");
      else if (this.hasExpired(credential)) connection.close(1008, "the credential has expired");
    }
  }

  hasExpired({ expiresWallMs }: Credential): boolean {
    return expiresWallMs > 0 && expiresWallMs <= this.#wallMs;
  }

  get #wallMs(): number {
    return 1_700_000_000_000 + Math.floor(this.world.nowMs);
  }

  #commit(nodeId: number): void {
    if (this.faults.isLeaderless) {
      this.world.after(5, () => this.#commit(nodeId));
      return;
    }
    const commands = this.#lines.get(nodeId) ?? [];
    this.#lines.delete(nodeId);
    this.#apply(commands);
  }

  #apply(commands: readonly Admitted[]): void {
    for (const { command } of commands) this.applied.push(command);
    const epochs = new Map(this.#epochs);
    this.#countTime();
    this.#index += 1;
    const stamp = Math.floor(this.#clusterMs);
    const wallMs = this.#wallMs;
    this.reads.beginEntry(this.#index, stamp, wallMs);
    this.table.apply({ index: this.#index, stamp, wallMs, commands }, this);
    for (const admitted of commands) {
      this.#noteRead(admitted, epochs);
      const { connection, session, command } = admitted;
      if (session === 0 || !("sequence" in command)) connection.kept.delete(admitted);
    }
    for (const connection of this.connections) {
      connection.tellWatches();
      connection.flush();
    }
    this.#closeOutdated();
    this.#closeUnknown();
  }

  /** Cluster time runs only while somebody leads. */
  #countTime(): void {
    const { nowMs } = this.world;
    if (!this.faults.isLeaderless) this.#clusterMs += nowMs - this.#countedAtMs;
    this.#countedAtMs = nowMs;
  }

  /** Applies what is due as soon as it is. */
  #tick(): void {
    this.#countTime();
    const { nextDueAt, hasQueuedWork } = this.table;
    const isDue = nextDueAt !== undefined && nextDueAt <= Math.floor(this.#clusterMs);
    if (!this.faults.isLeaderless && (isDue || hasQueuedWork)) this.#apply([]);
    else this.#closeUnknown();
    this.world.after(20, () => this.#tick());
  }
}

function isOfStale(operation: Operation): boolean {
  return operation.op === OP.saveSnapshot && operation.isStale;
}
