/**
 * The requests of this node's clients, taken in between two turns of the loop: connections are
 * noted, commands are admitted or refused, reads and watches are noted. Nothing is proposed, sent
 * to peers or answered from the table here.
 */
import type { ClientConnection, GatewayEvents } from "../../net/index.js";
import {
  type AttachCommand,
  CLIENT_FRAME_BYTES_MAX,
  isNodeOperation,
  MESSAGE,
  type NodeEndpoint,
  OP,
  type Operation,
  PROTOCOL_VERSION,
  type Query,
  type SessionCommand,
} from "../../protocol/index.js";
import type { Configuration, NodeId } from "../../raft/index.js";
import type { Admission } from "../commands/admission.js";
import type { Attachments } from "../commands/attachments.js";
import type { Operations } from "../members/operations.js";
import type { Clock } from "../ports.js";
import type { Reads } from "../reads/reads.js";
import type { Watches } from "../reads/watches.js";
import type { SnapshotExporter } from "../snapshots/exporter.js";

/** What the loop reports about itself, and the way to wake it. */
export interface ClientSideHost {
  /** 0 if unknown, or if this node has not had contact with a majority. */
  readonly servingLeader: NodeId;
  readonly endpoints: readonly NodeEndpoint[];
  readonly configuration: Configuration;
  wake(): void;
}

export interface ClientSideParts {
  readonly nodeId: NodeId;
  readonly clusterId: string;
  readonly clock: Clock;
  readonly attachments: Attachments;
  readonly admission: Admission;
  readonly reads: Reads;
  readonly operations: Operations;
  readonly watches: Watches;
  readonly exporter: SnapshotExporter;
}

export class ClientSide implements GatewayEvents {
  readonly #parts: ClientSideParts;
  readonly #host: ClientSideHost;

  constructor(parts: ClientSideParts, host: ClientSideHost) {
    this.#parts = parts;
    this.#host = host;
  }

  onConnection(connection: ClientConnection): void {
    const { nodeId, clusterId, attachments } = this.#parts;
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
    const attachment = this.#parts.attachments.of(connection);
    if (attachment !== undefined) this.#parts.admission.attach(attachment, command, bytes);
  }

  onCommand(connection: ClientConnection, command: SessionCommand, bytes: Uint8Array): void {
    const attachment = this.#parts.attachments.of(connection);
    if (attachment !== undefined) this.#parts.admission.command(attachment, command, bytes);
  }

  onInvalidCommand(connection: ClientConnection, op: number, id: number): void {
    const attachment = this.#parts.attachments.of(connection);
    if (attachment !== undefined) this.#parts.admission.invalid(attachment, op, id);
  }

  onQuery(connection: ClientConnection, query: Query): void {
    const { attachments, reads, watches, clock } = this.#parts;
    const attachment = attachments.of(connection);
    if (attachment === undefined) return;
    if (query.op === OP.watch) watches.begin(attachment, query);
    else if (query.op === OP.unwatch) watches.unwatch(attachment, query);
    else reads.add(attachment, query, clock.nowMs());
    this.#host.wake();
  }

  onOperation(connection: ClientConnection, operation: Operation, bytes: Uint8Array): void {
    const { attachments, operations, reads, exporter, clock } = this.#parts;
    const attachment = attachments.of(connection);
    if (attachment === undefined) return;
    if (!isNodeOperation(operation)) operations.add(attachment, operation, bytes, clock.nowMs());
    else if (operation.op === OP.readSnapshot) exporter.read(attachment, operation);
    else if (operation.isStale) exporter.save(attachment, operation);
    else reads.add(attachment, operation, clock.nowMs());
    this.#host.wake();
  }

  onClosed(connection: ClientConnection): void {
    const attachment = this.#parts.attachments.of(connection);
    if (attachment !== undefined) this.#parts.attachments.remove(attachment);
  }
}
