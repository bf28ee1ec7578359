/**
 * A cluster for tests of the SDK: the real lock table behind the real codec, with one "log" that
 * every node applies at once, and a network whose faults can be switched. A second implementation
 * of what stands on the other side of a client's connection, not a mock: it decides nothing itself.
 */

import type { TransportEvents } from "../../src/client/index.js";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { LockTable, type Outbox, type TableCommand } from "../../src/lockfsm/index.js";
import {
  type Attached,
  type Command,
  type Hello,
  isAttachCommand,
  isNodeOperation,
  isOrder,
  MESSAGE,
  OP,
  type Operation,
  PROTOCOL_VERSION,
  type SessionMessage,
  STATUS,
} from "../../src/protocol/index.js";
import { ServerConnection } from "./server-connection.js";
import type { SimulatedWorld } from "./simulated-world.js";
import { TableMembers } from "./table-members.js";
import { TableReads } from "./table-reads.js";
import { TableSnapshots } from "./table-snapshots.js";

const CLUSTER_ID = "c0ffee00c0ffee00c0ffee00c0ffee00";
const FRAME_BYTES_MAX = 1 << 20;

/** How the network and the cluster misbehave; changed at any time. */
export interface Faults {
  /** Each message takes between these, and none overtakes another on its connection. */
  latencyMs: readonly [number, number];
  /** From a command's arrival to its entry being applied. */
  commitMs: readonly [number, number];
  /** Probability that a command is applied a second time by a later entry. */
  duplicates: number;
  /** Probability that a node has no room for a command, though it has for the next one. */
  refusals: number;
  /** For which commands the node has no room, whatever it has for others. */
  refuses: (command: Command) => boolean;
  /**
   * What the node refuses that it reaches: commands with a sequence, or attaching and reads too.
   */
  busy: "nothing" | "commands" | "everything";
  /** What it says then. */
  refusal: typeof ERROR_NUMBERS.BUSY | typeof ERROR_NUMBERS.DISK_FULL;
  /** Nobody leads: time stands still and nothing is applied. */
  isLeaderless: boolean;
  /** Nodes that cannot be reached: new connections fail. */
  readonly downNodes: Set<number>;
  /** Nodes whose whole machine is gone: nobody even says that a connection fails. */
  readonly silentNodes: Set<number>;
  /** The answers of operations get lost: the connection breaks behind each change. */
  losesAnswers: boolean;
}

/** How long a node looks for a leader before it answers an operation with `UNAVAILABLE`. */
const OPERATION_MS_MAX = 1_000;

/** Answers that the table keeps until they were read. */
const GRANTS: ReadonlySet<number> = new Set([STATUS.granted, STATUS.upgraded, STATUS.claimed]);

interface Pending extends TableCommand {
  readonly connection: ServerConnection;
}

export class TableServer implements Outbox {
  readonly world: SimulatedWorld;
  readonly table = new LockTable();
  readonly reads = new TableReads(this.table);
  readonly snapshots = new TableSnapshots(this.table);
  readonly nodes: readonly { readonly id: number; readonly endpoint: string }[];
  readonly members: TableMembers;
  readonly faults: Faults = {
    latencyMs: [0.2, 2],
    commitMs: [0.5, 3],
    duplicates: 0,
    refusals: 0,
    refuses: () => false,
    busy: "nothing",
    refusal: ERROR_NUMBERS.BUSY,
    isLeaderless: false,
    downNodes: new Set(),
    silentNodes: new Set(),
    losesAnswers: false,
  };
  leaderId = 1;
  readonly connections = new Set<ServerConnection>();
  /** Every command as it was applied, in order. */
  readonly applied: Command[] = [];
  /**
   * By session: outcomes, and tokens that were lost, which the table keeps until they were read.
   */
  readonly #owed = new Map<number, Set<number>>();
  readonly #epochs = new Map<number, number>();
  /** Who gave an order without a session, by its number. */
  readonly #ordering = new Map<number, ServerConnection>();
  clusterId = CLUSTER_ID;
  /** Connections opened, by node. */
  readonly opened: number[] = [];
  #pending: Pending[] = [];
  #repeats: Pending[] = [];
  #index = 0;
  #clusterMs = 1_000;
  #countedAtMs = 0;

  constructor(world: SimulatedWorld, nodeCount = 3) {
    this.world = world;
    this.nodes = Array.from({ length: nodeCount }, (_, i) => ({
      id: i + 1,
      endpoint: `ws://node-${i + 1}:7411`,
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

  hello(nodeId: number): Hello {
    return {
      kind: MESSAGE.hello,
      version: PROTOCOL_VERSION,
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
    const isAttach = isAttachCommand(command);
    const isAlone = connection.session === 0 && !connection.wasAttached && isOrder(command);
    if (isAlone) this.#ordering.set(command.sequence, connection);
    if (!isAttach && !isAlone && connection.session === 0) {
      if (!connection.wasAttached) connection.close(1008, "not attached");
      return;
    }
    const { busy } = this.faults;
    const isUnlucky = "sequence" in command && this.world.random() < this.faults.refusals;
    const isRefused = isUnlucky || this.faults.refuses(command);
    if (isRefused || busy === "everything" || (busy === "commands" && "sequence" in command)) {
      this.#refuse(connection, command);
      return;
    }
    const session = isAttach ? 0 : connection.session;
    const epoch = isAttach ? 0 : connection.epoch;
    this.#pending.push({ connection, session, epoch, command });
    if (this.#pending.length === 1) {
      this.world.after(this.between(this.faults.commitMs), () => this.#commit());
    }
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
    if (session === 0 && message.kind === MESSAGE.reply) {
      this.#ordering.get(message.sequence)?.push(message);
      return;
    }
    this.#noteOwed(session, message);
    for (const connection of this.connections) {
      if (connection.session !== session || connection.epoch !== epoch) continue;
      connection.push(message);
      if (message.kind === MESSAGE.ended) connection.session = 0;
    }
  }

  #noteOwed(session: number, message: SessionMessage): void {
    if (message.kind === MESSAGE.ended) this.#owed.delete(session);
    if (message.kind === MESSAGE.lost) this.#owe(session, message.token);
    const isEnd =
      message.kind === MESSAGE.outcome ||
      (message.kind === MESSAGE.reply && GRANTS.has(message.result.status));
    if (isEnd) this.#owe(session, message.sequence);
  }

  #owe(session: number, number: number): void {
    let owed = this.#owed.get(session);
    if (owed === undefined) {
      owed = new Set();
      this.#owed.set(session, owed);
    }
    owed.add(number);
  }

  /** What a client acknowledges came with earlier entries, so this may follow the whole entry. */
  #noteRead({ session, epoch, command }: Pending, epochs: ReadonlyMap<number, number>): void {
    if (command === undefined || !("acknowledged" in command)) return;
    if (epoch !== epochs.get(session)) return;
    for (const sequence of command.acknowledged) this.#owed.get(session)?.delete(sequence);
  }

  attached(message: Attached): void {
    if (message.status === STATUS.ok) this.#epochs.set(message.session, message.epoch);
    for (const connection of this.connections) {
      if (connection.awaited === `${message.nonce}/${message.attempt}`) {
        if (message.status === STATUS.ok) {
          connection.session = message.session;
          connection.epoch = message.epoch;
          connection.wasAttached = true;
        }
        connection.push(message);
      } else if (message.status === STATUS.ok && connection.session === message.session) {
        connection.close(1008, "session attached elsewhere");
      }
    }
  }

  #refuse(connection: ServerConnection, command: Command): void {
    if (isAttachCommand(command)) {
      connection.push({
        kind: MESSAGE.attached,
        nonce: command.nonce,
        attempt: command.attempt,
        status: this.faults.refusal,
        session: 0,
        epoch: 0,
        highestSequence: 0,
        stamp: 0,
        ttlMs: 0,
      });
    } else if ("sequence" in command) {
      const { sequence } = command;
      const result = { status: this.faults.refusal };
      connection.push({ kind: MESSAGE.reply, sequence, stamp: 0, result });
    }
    connection.flush();
  }

  #commit(): void {
    if (this.faults.isLeaderless) {
      this.world.after(5, () => this.#commit());
      return;
    }
    const commands = this.#pending;
    this.#pending = [];
    const repeats = this.#repeats;
    this.#repeats = commands.filter(() => this.world.random() < this.faults.duplicates);
    this.#apply([...repeats, ...commands]);
  }

  #apply(commands: readonly Pending[]): void {
    for (const { command } of commands) if (command !== undefined) this.applied.push(command);
    const epochs = new Map(this.#epochs);
    this.#countTime();
    this.#index += 1;
    const stamp = Math.floor(this.#clusterMs);
    const wallMs = 1_700_000_000_000 + Math.floor(this.world.nowMs);
    this.reads.beginEntry(this.#index, stamp, wallMs);
    this.table.apply({ index: this.#index, stamp, wallMs, commands }, this);
    for (const pending of commands) this.#noteRead(pending, epochs);
    for (const connection of this.connections) {
      connection.tellWatches();
      connection.flush();
    }
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
    this.world.after(20, () => this.#tick());
  }
}

function isOfStale(operation: Operation): boolean {
  return operation.op === OP.saveSnapshot && operation.isStale;
}
