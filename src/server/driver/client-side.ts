/**
 * The requests of this node's clients, taken in between two turns of the loop: connections are
 * noted, commands are admitted or refused, reads and watches are noted. Nothing is proposed, sent
 * to peers or answered from the table here.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import type { LockTable } from "../../lockfsm/index.js";
import { CLOSE_TRY_AGAIN, type ClientConnection, type GatewayEvents } from "../../net/index.js";
import {
  type AttachCommand,
  CLIENT_FRAME_BYTES_MAX,
  isNodeOperation,
  LOCAL_CREDENTIAL,
  type LogLevelOperation,
  MESSAGE,
  NO_CREDENTIAL,
  type NodeEndpoint,
  OP,
  type Operation,
  type OperationFailure,
  PROTOCOL_VERSION,
  type Query,
  type ReadOnlyQuery,
  type SequencedCommand,
  type SessionCommand,
  STATUS,
  type VitalsQuery,
  type VitalsView,
  type WatchQuery,
} from "../../protocol/index.js";
import { type Configuration, membersOf, type NodeId } from "../../raft/index.js";
import type { AccessLog } from "../commands/access-log.js";
import type { Admission } from "../commands/admission.js";
import type { Attachment, Attachments } from "../commands/attachments.js";
import type { SignIn } from "../commands/sign-in.js";
import type { Limits } from "../limits/limits.js";
import type { Operations } from "../members/operations.js";
import type { Clock, LogLevels, NodeLogger } from "../ports.js";
import { leastCostOf, refuse as refuseRead } from "../reads/query-answers.js";
import { type AccessRefusal, accessProblem, judge, report } from "../reads/read-rights.js";
import type { Reads } from "../reads/reads.js";
import type { ServedWatches } from "../reads/served-watches.js";
import type { SnapshotExporter } from "../snapshots/exporter.js";
import type { VitalsRelay } from "../vitals/vitals-relay.js";

const { FORBIDDEN, UNAUTHENTICATED } = ERROR_NUMBERS;
const READ_ONLY = "this connection may only read";
const NOT_SURE =
  "without contact with a leader this node does not know who may do this: " +
  "use the socket in its data directory";

/** Vitals are long and are answered at once, so a turn must not have too many of them. */
const VITALS_PER_TURN_MAX = 8;

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
  readonly table: LockTable;
  readonly signIn: SignIn;
  readonly accessLog: AccessLog;
  readonly reads: Reads;
  readonly operations: Operations;
  readonly watches: ServedWatches;
  readonly exporter: SnapshotExporter;
  readonly limits: Limits;
  /** How this node is; only points and events after that wall time. */
  readonly vitals: (after: number) => VitalsView;
  /** How other members are. */
  readonly relay: Pick<VitalsRelay, "ask" | "isFullFor">;
  readonly logger: NodeLogger;
  readonly logLevels: LogLevels | undefined;
  /** A client has changed the level of the log. */
  readonly onLogLevel: (attachment: Attachment, operation: LogLevelOperation) => void;
}

export class ClientSide implements GatewayEvents {
  readonly #parts: ClientSideParts;
  readonly #host: ClientSideHost;
  #vitalsLeft = VITALS_PER_TURN_MAX;

  constructor(parts: ClientSideParts, host: ClientSideHost) {
    this.#parts = parts;
    this.#host = host;
  }

  onConnection(connection: ClientConnection): void {
    const { attachments, signIn, limits } = this.#parts;
    const attachment = attachments.add(connection);
    limits.arrive(attachment);
    if (this.#parts.logger.isDebugging === true) {
      const { id, address, isEncrypted, isLocal, certifiedName } = connection;
      const fields = { connection: id, address, isEncrypted, isLocal, certifiedName };
      this.#parts.logger("debug", "client connected", fields);
    }
    signIn.meet(attachment);
    this.#host.wake();
  }

  endTurn(): void {
    this.#vitalsLeft = VITALS_PER_TURN_MAX;
  }

  /** A client without any right hears nothing about the other nodes. */
  greet(attachment: Attachment): void {
    const { nodeId, clusterId, signIn } = this.#parts;
    const isStranger = signIn.isStranger(attachment);
    attachment.connection.send({
      kind: MESSAGE.hello,
      version: PROTOCOL_VERSION,
      clusterId,
      nodeId,
      leaderId: isStranger ? 0 : this.#host.servingLeader,
      endpoints: isStranger ? [] : this.#host.endpoints,
      frameBytesMax: CLIENT_FRAME_BYTES_MAX,
      voters: isStranger ? [] : this.#host.configuration.voters,
    });
  }

  onAttach(connection: ClientConnection, command: AttachCommand, bytes: Uint8Array): void {
    const attachment = this.#asking(connection);
    if (attachment === undefined) return;
    if (attachment.isReadOnly) {
      this.#parts.attachments.refuseAttach(attachment, command.attempt, FORBIDDEN);
      this.#host.wake();
    } else if (!this.#isTurnedAway(attachment) || this.#isOwn(attachment, command)) {
      this.#parts.admission.attach(attachment, command, bytes);
    } else {
      this.report(attachment, command, UNAUTHENTICATED);
      this.#parts.attachments.refuseAttach(attachment, command.attempt, UNAUTHENTICATED);
      this.#host.wake();
    }
  }

  onCommand(connection: ClientConnection, command: SessionCommand, bytes: Uint8Array): void {
    const attachment = this.#asking(connection);
    if (attachment === undefined) return;
    // What a session gives back is always taken, and what comes after its end is left to admission,
    // which drops it. The table would answer an order in the same way.
    const isOrder = connection.session === 0 && !attachment.wasAttached && "sequence" in command;
    if (isOrder && attachment.isReadOnly) this.#refuseOrder(attachment, command, FORBIDDEN);
    else if (isOrder && this.#isTurnedAway(attachment)) {
      this.report(attachment, command, UNAUTHENTICATED);
      this.#refuseOrder(attachment, command, UNAUTHENTICATED);
    } else this.#parts.admission.command(attachment, command, bytes);
  }

  #refuseOrder(
    { connection }: Attachment,
    { sequence }: SequencedCommand,
    status: AccessRefusal,
  ): void {
    connection.send({ kind: MESSAGE.reply, sequence, stamp: 0, result: { status } });
    this.#host.wake();
  }

  onInvalidCommand(connection: ClientConnection, op: number, id: number): void {
    const attachment = this.#asking(connection);
    if (attachment !== undefined) this.#parts.admission.invalid(attachment, op, id);
  }

  onQuery(connection: ClientConnection, query: Query): void {
    const { reads, watches, clock, limits } = this.#parts;
    if (query.op === OP.signIn) {
      const attachment = this.#parts.attachments.of(connection);
      if (attachment !== undefined) this.#parts.signIn.begin(attachment, query);
      this.#host.wake();
      return;
    }
    const attachment = this.#asking(connection);
    if (attachment === undefined) return;
    if (query.op === OP.ping) tellNothing(attachment, query);
    else if (query.op === OP.readOnly) this.#lower(attachment, query);
    else if (this.#isTurnedAway(attachment) && !this.#isForStrangers(attachment, query))
      this.#forbid(attachment, query);
    else if (query.op === OP.watch) this.#watch(attachment, query);
    else if (query.op === OP.unwatch) watches.unwatch(attachment, query);
    else if (query.op === OP.vitals) this.#tellVitals(attachment, query);
    else if (limits.refusesRead(attachment, leastCostOf(query)))
      refuseRead(attachment, query, ERROR_NUMBERS.BUSY);
    else reads.add(attachment, query, clock.nowMs());
    this.#host.wake();
  }

  onOperation(connection: ClientConnection, operation: Operation, bytes: Uint8Array): void {
    const { operations, reads, exporter, clock } = this.#parts;
    const attachment = this.#asking(connection);
    if (attachment === undefined) return;
    if (attachment.isReadOnly && !onlyShows(operation))
      refuse(attachment, operation, FORBIDDEN, { message: READ_ONLY });
    else if (this.#isTurnedAway(attachment)) this.#forbid(attachment, operation);
    else if (!isNodeOperation(operation))
      operations.add(attachment, operation, bytes, clock.nowMs());
    else if (operation.op === OP.saveSnapshot && !operation.isStale)
      reads.add(attachment, operation, clock.nowMs());
    else {
      const problem = this.#problemOf(attachment, operation);
      if (problem !== undefined) refuse(attachment, operation, problem);
      else if (operation.op === OP.saveSnapshot && !this.#isSureOf(attachment)) {
        refuse(attachment, operation, ERROR_NUMBERS.UNAVAILABLE, { message: NOT_SURE });
      } else if (operation.op === OP.readSnapshot) exporter.read(attachment, operation);
      else if (operation.op === OP.logLevel) this.#logLevel(attachment, operation);
      else exporter.save(attachment, operation);
    }
    this.#host.wake();
  }

  /** The attachment of that connection; `undefined` if it may not ask anything now. */
  #asking(connection: ClientConnection): Attachment | undefined {
    const { attachments } = this.#parts;
    const attachment = attachments.of(connection);
    if (attachment === undefined) return undefined;
    attachment.hasAsked = true;
    if (attachment.share.isCounted) {
      attachment.share.payRequest();
      return attachment;
    }
    if (!attachment.isSigningIn && !attachment.isHeldBack) return this.#counted(attachment);
    const before = attachment.isHeldBack ? "hello" : "the sign-in was answered";
    attachments.close(attachment, `a request before ${before}`);
    return undefined;
  }

  #counted(attachment: Attachment): Attachment | undefined {
    const full = this.#parts.limits.count(attachment);
    attachment.share.payRequest();
    if (full === undefined) return attachment;
    this.#parts.attachments.close(attachment, full, CLOSE_TRY_AGAIN);
    return undefined;
  }

  /**
   * Whether what the table says of the connection is not out of date. There is nothing to lose in
   * an open cluster, and anyone who can use the socket in the directory could read the directory.
   */
  #isSureOf({ credential }: Attachment): boolean {
    const isNamed = credential !== NO_CREDENTIAL && credential !== LOCAL_CREDENTIAL;
    return !isNamed || this.#host.servingLeader !== 0;
  }

  /**
   * Whether it is one of `anonymous`, which may do nothing here. What it asks is refused at once: it
   * costs the other nodes nothing, and takes no place in the log or in a line from others. The table
   * would refuse it in the same way, unless this node lags and the cluster was just opened.
   */
  #isTurnedAway(attachment: Attachment): boolean {
    return attachment.credential === NO_CREDENTIAL && this.#parts.signIn.isStranger(attachment);
  }

  /** Whether it comes back to a session that `anonymous` opened while it could. */
  #isOwn(attachment: Attachment, command: AttachCommand): boolean {
    const { signIn, table } = this.#parts;
    if (signIn.isShutOut(attachment) || command.op === OP.open) return false;
    const anonymous = table.viewerOf(NO_CREDENTIAL)?.number;
    return table.identityOf(command.session) === anonymous;
  }

  /** Such as who they are. */
  #isForStrangers(attachment: Attachment, query: Query): boolean {
    const viewer = this.#parts.table.viewerOf(attachment.credential);
    return !this.#parts.signIn.isShutOut(attachment) && accessProblem(viewer, query) === undefined;
  }

  /** The connection may ask nothing before it has said who it is. */
  #forbid(attachment: Attachment, request: Query | Operation): void {
    this.report(attachment, request, UNAUTHENTICATED);
    refuse(attachment, request, UNAUTHENTICATED);
  }

  /** A request of the connection is refused because of who it is. */
  report(
    attachment: Attachment,
    request: Query | Operation | AttachCommand | SessionCommand,
    status: AccessRefusal,
  ): void {
    const viewer = this.#parts.table.viewerOf(attachment.credential);
    report(this.#parts.accessLog, attachment, viewer, request, status);
  }

  #problemOf(attachment: Attachment, request: Query | Operation): AccessRefusal | undefined {
    const viewer = this.#parts.table.viewerOf(attachment.credential);
    return judge(this.#parts.accessLog, attachment, viewer, request);
  }

  /** No look at the table is needed: from now on the connection may do less. */
  #lower(attachment: Attachment, { id }: ReadOnlyQuery): void {
    if (attachment.connection.session !== 0 || attachment.awaitedAttach !== undefined) {
      this.#parts.attachments.close(attachment, "a connection with a session cannot only read");
      return;
    }
    attachment.isReadOnly = true;
    tellNothing(attachment, { id });
  }

  #watch(attachment: Attachment, query: WatchQuery): void {
    const problem = this.#problemOf(attachment, query);
    const { limits, watches } = this.#parts;
    const full = problem === undefined ? limits.watchRefusal(attachment) : undefined;
    if (problem !== undefined) refuse(attachment, query, problem);
    else if (full !== undefined) refuse(attachment, query, ERROR_NUMBERS.QUOTA, { message: full });
    else if (limits.refusesRead(attachment, leastCostOf(query)))
      refuse(attachment, query, ERROR_NUMBERS.BUSY);
    else watches.begin(attachment, query);
  }

  /** Answers at once, by the rights that this node knows: it may have no leader to ask. */
  #tellVitals(attachment: Attachment, query: VitalsQuery): void {
    const problem = this.#problemOf(attachment, query);
    if (problem !== undefined) refuse(attachment, query, problem);
    else if (
      this.#vitalsLeft === 0 ||
      this.#parts.limits.refusesRead(attachment, leastCostOf(query))
    ) {
      refuse(attachment, query, ERROR_NUMBERS.BUSY);
    } else {
      this.#vitalsLeft -= 1;
      this.#answerVitals(attachment, query);
    }
  }

  #answerVitals(attachment: Attachment, query: VitalsQuery): void {
    const { nodeId, relay, clock, vitals } = this.#parts;
    const { id, node, after } = query;
    const tell = (payload: VitalsView | null): void => {
      if (attachment.isClosed) return;
      attachment.connection.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
    };
    if (node === 0 || node === nodeId) tell(vitals(after));
    else if (!membersOf(this.#host.configuration).includes(node)) {
      const message = `node ${node} is not a member of this cluster`;
      refuse(attachment, query, ERROR_NUMBERS.INVALID_ARGUMENT, { message });
    } else if (relay.isFullFor(node)) refuse(attachment, query, ERROR_NUMBERS.BUSY);
    else relay.ask(node, after, clock.nowMs(), (view) => tell(view ?? null));
  }

  #logLevel(attachment: Attachment, operation: LogLevelOperation): void {
    const { nodeId, logLevels, table, onLogLevel } = this.#parts;
    const { id, node, level, forMs } = operation;
    if (node !== 0 && node !== nodeId) {
      const message = `this is node ${nodeId}, not ${node}`;
      refuse(attachment, operation, ERROR_NUMBERS.INVALID_ARGUMENT, { message });
    } else if (logLevels === undefined) {
      const message = "the log of this node has no levels";
      refuse(attachment, operation, ERROR_NUMBERS.INVALID_ARGUMENT, { message });
    } else if (level !== undefined && !this.#isSureOf(attachment)) {
      refuse(attachment, operation, ERROR_NUMBERS.UNAVAILABLE, { message: NOT_SURE });
    } else {
      const by = table.viewerOf(attachment.credential)?.name ?? "";
      if (level !== undefined) {
        logLevels.change(level, forMs, by);
        onLogLevel(attachment, operation);
      }
      const payload = { node: nodeId, ...logLevels.view };
      attachment.connection.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload });
    }
  }

  onReceived(connection: ClientConnection, bytes: number): void {
    const attachment = this.#parts.attachments.of(connection);
    // A turn plans when it is read again.
    if (attachment !== undefined && this.#parts.limits.received(attachment, bytes))
      this.#host.wake();
  }

  onClosed(connection: ClientConnection): void {
    const attachment = this.#parts.attachments.of(connection);
    if (attachment !== undefined) this.#parts.attachments.remove(attachment);
    if (this.#parts.logger.isDebugging !== true) return;
    const { id, address, session } = connection;
    this.#parts.logger("debug", "client gone", { connection: id, address, session });
  }
}

/** Whether it changes nothing and takes nothing away. */
function onlyShows(operation: Operation): boolean {
  if (operation.op === OP.logLevel) return operation.level === undefined;
  return operation.op === OP.members;
}

function refuse(
  { connection }: Attachment,
  { id }: Query | Operation,
  status: ErrorNumber,
  payload: OperationFailure | null = null,
): void {
  connection.send({ kind: MESSAGE.answer, id, status, payload });
}

/** An answer that says only that it was heard. */
function tellNothing({ connection }: Attachment, { id }: { readonly id: number }): void {
  connection.send({ kind: MESSAGE.answer, id, status: STATUS.ok, payload: null });
}
