/**
 * What clients of this node do, taken in between two turns of the loop: connections are noted,
 * commands kept and put in line, reads and watches noted. Nothing is proposed, sent to peers or
 * answered from the table here.
 */
import type { ErrorNumber } from "../errors.js";
import type { ClientConnection, GatewayEvents } from "../net/index.js";
import {
  type AttachCommand,
  CLIENT_FRAME_BYTES_MAX,
  type Command,
  isNodeOperation,
  isOrder,
  MESSAGE,
  type NodeEndpoint,
  OP,
  type Operation,
  PROTOCOL_VERSION,
  type Query,
  type SessionCommand,
} from "../protocol/index.js";
import type { Configuration, NodeId } from "../raft/index.js";
import type { Attachment } from "./attachment.js";
import type { Attachments } from "./attachments.js";
import type { KeptCommands } from "./kept-commands.js";
import type { Operations } from "./operations.js";
import type { Clock, Memory } from "./ports.js";
import type { Reads } from "./reads.js";
import type { SnapshotExporting } from "./snapshot-exporting.js";
import type { WaitingLine } from "./waiting-line.js";
import type { Watches } from "./watches.js";

/** What the loop tells about itself, and the way to wake it. */
export interface ClientSideHost {
  readonly turn: number;
  /** 0 while unknown, or while this node never had contact with a majority. */
  readonly servingLeader: NodeId;
  /** Why this node, if it leads, takes no commands now. */
  readonly refusalNumber: ErrorNumber | undefined;
  readonly endpoints: readonly NodeEndpoint[];
  readonly configuration: Configuration;
  wake(): void;
}

export interface ClientSideRooms {
  readonly nodeId: NodeId;
  readonly clusterId: string;
  readonly clock: Clock;
  readonly memory: Memory;
  readonly attachments: Attachments;
  readonly kept: KeptCommands;
  readonly line: WaitingLine;
  readonly reads: Reads;
  readonly operations: Operations;
  readonly watches: Watches;
  readonly exporting: SnapshotExporting;
}

/** What enlarges the table. All else goes on when memory is scarce, a lease and a release above all. */
const ENLARGING: ReadonlySet<number> = new Set([
  OP.open,
  OP.acquire,
  OP.upgrade,
  OP.update,
  OP.setLimit,
]);

export class ClientSide implements GatewayEvents {
  readonly #rooms: ClientSideRooms;
  readonly #host: ClientSideHost;
  /** Looked at once a turn. */
  #isMemoryScarce = false;
  #lookedInTurn = -1;

  constructor(rooms: ClientSideRooms, host: ClientSideHost) {
    this.#rooms = rooms;
    this.#host = host;
  }

  onConnection(connection: ClientConnection): void {
    const { nodeId, clusterId, attachments } = this.#rooms;
    attachments.add(connection);
    connection.send({
      kind: MESSAGE.hello,
      version: PROTOCOL_VERSION,
      clusterId,
      nodeId,
      leaderId: this.#host.servingLeader,
      endpoints: this.#host.endpoints,
      frameBytesMax: CLIENT_FRAME_BYTES_MAX,
      voters: this.#host.configuration.voters,
    });
    this.#host.wake();
  }

  onAttach(connection: ClientConnection, command: AttachCommand, bytes: Uint8Array): void {
    const { attachments, kept } = this.#rooms;
    const attachment = attachments.of(connection);
    if (attachment === undefined) return;
    if (attachment.awaitedAttach !== undefined) kept.dropAttaches(attachment);
    attachments.await(attachment, command);
    this.#admit(attachment, command, bytes);
  }

  onCommand(connection: ClientConnection, command: SessionCommand, bytes: Uint8Array): void {
    const { attachments } = this.#rooms;
    const attachment = attachments.of(connection);
    if (attachment === undefined) return;
    if (connection.session === 0 && !isOrder(command)) {
      attachments.close(attachment, "a command before attaching");
    } else this.#admit(attachment, command, bytes);
  }

  onQuery(connection: ClientConnection, query: Query): void {
    const { attachments, reads, watches, clock } = this.#rooms;
    const attachment = attachments.of(connection);
    if (attachment === undefined) return;
    if (query.op === OP.unwatch) watches.unwatch(attachment, query);
    else if (query.op !== OP.watch || watches.admit(attachment, query)) {
      reads.add(attachment, query, clock.nowMs());
    }
    this.#host.wake();
  }

  onOperation(connection: ClientConnection, operation: Operation, bytes: Uint8Array): void {
    const { attachments, operations, reads, exporting, clock } = this.#rooms;
    const attachment = attachments.of(connection);
    if (attachment === undefined) return;
    if (!isNodeOperation(operation)) operations.add(attachment, operation, bytes, clock.nowMs());
    else if (operation.op === OP.readSnapshot) exporting.read(attachment, operation);
    else if (operation.isStale) exporting.save(attachment, operation);
    else reads.add(attachment, operation, clock.nowMs());
    this.#host.wake();
  }

  onClosed(connection: ClientConnection): void {
    const attachment = this.#rooms.attachments.of(connection);
    if (attachment !== undefined) this.#rooms.attachments.remove(attachment);
  }

  #admit(attachment: Attachment, command: Command, bytes: Uint8Array): void {
    const { kept, line, clock, attachments } = this.#rooms;
    const { turn, refusalNumber } = this.#host;
    const isFirst = line.isEmpty;
    const isUnwanted = this.#isScarceIn(turn) && ENLARGING.has(command.op);
    const admitted = kept.admit(attachment, command, bytes, turn, refusalNumber, isUnwanted);
    if (admitted !== undefined) {
      if (admitted.orderNumber > 0) attachments.awaitOrder(attachment, admitted.orderNumber);
      line.push(admitted, isFirst ? clock.nowMs() : 0);
    }
    // What waits already has its turn, and a keepalive goes with it: many of them are one turn.
    const goesAlong = admitted !== undefined && !isFirst && command.op === OP.keepalive;
    if (!goesAlong) this.#host.wake();
  }

  #isScarceIn(turn: number): boolean {
    if (turn !== this.#lookedInTurn) {
      this.#lookedInTurn = turn;
      this.#isMemoryScarce = this.#rooms.memory.isScarce;
    }
    return this.#isMemoryScarce;
  }
}
