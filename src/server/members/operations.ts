/**
 * The requests of operators about the cluster itself: show the members, change them, choose another
 * leader. Any node takes a request; only the leader judges it, by its own table, and carries it out,
 * and it is answered when its effect is committed. Every request asks for a state, so that asking a
 * second leader after the first was lost does no harm. Only a transfer to no particular node is
 * fulfilled by any change of leader.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import type { PeerMessage } from "../../net/index.js";
import {
  type ChangeMemberOperation,
  decodeOperation,
  isNodeOperation,
  type LeaderOperation,
  MESSAGE,
  OP,
  STATUS,
  type TransferOperation,
} from "../../protocol/index.js";
import type { Configuration, Input, NodeId, RefusalReason } from "../../raft/index.js";
import type { Attachment } from "../commands/attachments.js";
import { RequestIds } from "../request-ids.js";
import { planMembership } from "./membership.js";

/** Requests that may wait on one node; further ones are answered `BUSY`. */
const OPERATIONS_MAX = 64;
/** From one client, or from one node for one credential: each leaves room for the others. */
const OPERATIONS_OF_ONE_MAX = 16;
/** By one credential, however many clients have it. */
const OPERATIONS_OF_CREDENTIAL_MAX = 48;
/** Lists and objects in one another, in the answer of a leader. One of a thousand could not be sent. */
const ANSWER_DEPTH_MAX = 8;
/** The share of a request's time in which it waits for an earlier change to end … */
const PATIENCE_SHARE = 1 / 10;
/** … and the share between two tries. */
const RETRY_SHARE = 1 / 100;

/** The receiver of the answer: a client of this node, or the node that passed its request on. */
type Asker =
  | { readonly kind: "client"; readonly attachment: Attachment; readonly id: number }
  | { readonly kind: "peer"; readonly peer: NodeId; readonly id: number };

type Forbidden = typeof ERROR_NUMBERS.FORBIDDEN | typeof ERROR_NUMBERS.UNAUTHENTICATED;
type OnBegun = (
  operation: ChangeMemberOperation | TransferOperation,
  credential: number,
  address: string,
) => void;
type OnForbidden = (attachment: Attachment, operation: LeaderOperation, status: Forbidden) => void;

interface Request {
  readonly asker: Asker;
  /** The number of the credential by which it came. */
  readonly credential: number;
  readonly operation: LeaderOperation;
  readonly bytes: Uint8Array;
  readonly deadlineMs: number;
  /** What the leader must have applied to judge it; 0 until that is known. */
  judgedAtIndex: number;
  /** The leader that has begun it; 0 before. */
  begunBy: NodeId;
  /** When "not ready" of the core becomes the answer; 0 before the first one. */
  patientUntilMs: number;
}

/** What the leader needs. */
export interface OperationsHost {
  /** In force, committed or not. */
  readonly configuration: Configuration;
  /** In force at the last applied entry. */
  readonly appliedConfiguration: Configuration;
  readonly nodeId: NodeId;
  /** The last committed entry, if this node leads for certain and knows it; else `undefined`. */
  readonly sureCommitIndex: number | undefined;
  /** The last applied entry. */
  readonly appliedIndex: number;
  /** Why that credential may not do this; `undefined` if it may. */
  judge(credential: number, operation: LeaderOperation): Forbidden | undefined;
  /** The payload of `members`. */
  membersView(): unknown;
  step(input: Input): void;
}

export class Operations {
  readonly #waitMsMax: number;
  readonly #send: (peer: NodeId, message: PeerMessage) => void;
  /** Neither passed on nor begun. */
  #waiting: Request[] = [];
  /** On a follower: passed on to the leader, by number. */
  readonly #passedOn = new Map<number, Request>();
  /** On a leader: stepped into the core, by number, until it accepts, refuses or ends it. */
  readonly #stepped = new Map<number, Request>();
  /** On a leader: changes that the core accepted and that are not applied yet. */
  #settling: Request[] = [];
  /** On a leader: requests that the core cannot begin now. */
  #postponed: Request[] = [];
  #retryAtMs = Number.POSITIVE_INFINITY;
  #nextDeadlineMs = Number.POSITIVE_INFINITY;
  readonly #requestIds: RequestIds;

  readonly #onForbidden: OnForbidden;
  readonly #onBegun: OnBegun;

  /**
   * @param waitMsMax how long a request may take before it is answered `UNAVAILABLE`: outcome unknown
   * @param onForbidden called before a client is answered that it may not do that
   * @param onBegun called when this node, which leads, first asks the core for it
   */
  constructor(
    waitMsMax: number,
    send: (peer: NodeId, message: PeerMessage) => void,
    requestIds = new RequestIds(0),
    onForbidden: OnForbidden = () => {},
    onBegun: OnBegun = () => {},
  ) {
    this.#onBegun = onBegun;
    this.#onForbidden = onForbidden;
    this.#waitMsMax = waitMsMax;
    this.#send = send;
    this.#requestIds = requestIds;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** When `expire` may have something to do. */
  get nextDeadlineMs(): number {
    return Math.min(this.#nextDeadlineMs, this.#retryAtMs);
  }

  /** A request of a client of this node. */
  add(attachment: Attachment, operation: LeaderOperation, bytes: Uint8Array, nowMs: number): void {
    const asker: Asker = { kind: "client", attachment, id: operation.id };
    this.#admit(asker, attachment.credential, operation, bytes, nowMs);
  }

  /**
   * Another node passed a request on; `isLeading`: this node leads the term that the request names.
   */
  addRemote(
    peer: NodeId,
    message: PeerMessage & { readonly type: "operation" },
    isLeading: boolean,
    nowMs: number,
  ): void {
    const asker: Asker = { kind: "peer", peer, id: message.id };
    const operation = decodeOperation(message.request);
    if (operation === undefined || isNodeOperation(operation)) {
      this.#answer(asker, ERROR_NUMBERS.PROTOCOL, { message: "not an operation" });
    } else if (isLeading) {
      this.#admit(asker, message.credential, operation, message.request, nowMs);
    }
    // Otherwise the asking node learns of another term or leader, and asks again there.
  }

  /** On a follower: sends the waiting requests to the leader of `term`. */
  passOn(leader: NodeId, term: number): void {
    for (const request of this.#waiting) {
      const id = this.#requestIds.next();
      request.begunBy = leader;
      this.#passedOn.set(id, request);
      this.#send(leader, {
        type: "operation",
        id,
        term,
        credential: request.credential,
        request: request.bytes,
      });
    }
    if (this.#waiting.length > 0) this.#waiting = [];
  }

  /** On a follower: the leader's answer. */
  onReply({ id, status, text }: PeerMessage & { readonly type: "operationReply" }): void {
    const request = this.#passedOn.get(id);
    if (request === undefined) return;
    this.#passedOn.delete(id);
    const payload = payloadOf(text);
    // With details it was refused for what it asks, and not for who asks.
    if (payload === null && isForbidden(status)) this.#forbid(request, status);
    else this.#answer(request.asker, status as ErrorNumber | typeof STATUS.ok, payload);
  }

  /** On a leader: whether `begin` has something to do. */
  canBegin(host: OperationsHost): boolean {
    // First, since nearly every turn has none, and the host has to ask what is committed.
    if (!this.hasWaiting) return false;
    const { sureCommitIndex, appliedIndex } = host;
    if (sureCommitIndex === undefined) return false;
    return this.#waiting.some(({ judgedAtIndex }) => judgedAtIndex <= appliedIndex);
  }

  /**
   * On a leader: judges and begins the waiting requests, once its table has everything that was
   * committed when they came. The core refuses a second change of members.
   */
  begin(host: OperationsHost): void {
    if (!this.hasWaiting) return;
    const { sureCommitIndex, appliedIndex } = host;
    const requests = this.#waiting;
    if (sureCommitIndex === undefined) return;
    this.#waiting = [];
    for (const request of requests) {
      if (request.judgedAtIndex === 0) request.judgedAtIndex = sureCommitIndex;
      if (request.judgedAtIndex > appliedIndex) {
        this.#waiting.push(request);
        continue;
      }
      const { operation, asker, credential } = request;
      const refusal = host.judge(credential, operation);
      if (refusal !== undefined) this.#forbid(request, refusal);
      else if (operation.op === OP.members) this.#answer(asker, STATUS.ok, host.membersView());
      else if (operation.op === OP.changeMember) this.#beginChange(request, operation, host);
      else this.#beginTransfer(request, operation, host);
    }
  }

  /** On a leader: whether `begin` may ask the core to give leadership away. */
  wantsTransfer(host: OperationsHost): boolean {
    if (!this.canBegin(host)) return false;
    return this.#waiting.some(({ operation }) => operation.op === OP.transfer);
  }

  /** On a leader: the core took the change `id`. False if that is not an operation. */
  onAccepted(id: number): boolean {
    const request = this.#stepped.get(id);
    if (request === undefined) return false;
    this.#stepped.delete(id);
    this.#settling.push(request);
    return true;
  }

  /**
   * On a leader: the core refused `id`. False if that is not an operation. A request is tried again
   * if the leader is new, or while another change is under way, which may be the same one, begun by
   * an earlier leader.
   */
  onRefused(id: number, reason: RefusalReason, nowMs: number): boolean {
    const request = this.#stepped.get(id);
    if (request === undefined) return false;
    this.#stepped.delete(id);
    if (reason === "notReady" && request.patientUntilMs === 0) {
      request.patientUntilMs = nowMs + this.#waitMsMax * PATIENCE_SHARE;
    }
    if (reason === "notLeader") {
      this.#waiting.push(request);
    } else if (reason === "notReady" && nowMs < request.patientUntilMs) {
      this.#postponed.push(request);
      this.#retryAtMs = Math.min(this.#retryAtMs, nowMs + this.#waitMsMax * RETRY_SHARE);
    } else {
      const [status, message] = REFUSALS[reason];
      this.#answer(request.asker, status, { message });
    }
    return true;
  }

  onTransferEnded(id: number, isDone: boolean): void {
    const request = this.#stepped.get(id);
    if (request === undefined) return;
    this.#stepped.delete(id);
    if (isDone) {
      // Another node leads or will: once it is known, so is whether it is the requested one.
      this.#waiting.push(request);
    } else {
      const message = "the other node did not take over within an election timeout";
      this.#answer(request.asker, ERROR_NUMBERS.BUSY, { message });
    }
  }

  /** On a leader: entries were applied; changes that are in force now are answered. */
  onApplied(host: OperationsHost): void {
    if (this.#settling.length === 0) return;
    this.#settling = this.#settling.filter((request) => {
      const operation = request.operation as ChangeMemberOperation;
      const plan = planMembership(host.appliedConfiguration, operation);
      if (plan.kind !== "fulfilled") return true;
      this.#answer(request.asker, STATUS.ok, null);
      return false;
    });
  }

  /** Leader, term or link changed: begun requests are begun again, by the current leader. */
  restart(leader: NodeId, nodeId: NodeId): void {
    const requests = this.#all();
    this.#passedOn.clear();
    this.#stepped.clear();
    this.#settling = [];
    this.#postponed = [];
    const again: Request[] = [];
    for (const request of requests) {
      // The node that passed it on asks again by itself.
      if (request.asker.kind === "peer" && leader !== nodeId) continue;
      if (isFulfilledBy(request, leader)) {
        this.#answer(request.asker, STATUS.ok, null);
      } else {
        request.judgedAtIndex = 0;
        again.push(request);
      }
    }
    this.#waiting = again;
  }

  /**
   * Answers requests that took too long, which may still take effect, and retries postponed ones.
   */
  expire(nowMs: number): void {
    if (nowMs >= this.#retryAtMs) {
      this.#retryAtMs = Number.POSITIVE_INFINITY;
      this.#waiting.push(...this.#postponed);
      this.#postponed = [];
    }
    if (nowMs < this.#nextDeadlineMs) return;
    this.#nextDeadlineMs = Number.POSITIVE_INFINITY;
    const isAlive = (request: Request): boolean => {
      if (request.deadlineMs > nowMs) {
        this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, request.deadlineMs);
        return true;
      }
      const message = "no leader carried it out in time; it may still take effect";
      this.#answer(request.asker, ERROR_NUMBERS.UNAVAILABLE, { message });
      return false;
    };
    this.#waiting = this.#waiting.filter(isAlive);
    this.#settling = this.#settling.filter(isAlive);
    this.#postponed = this.#postponed.filter(isAlive);
    for (const requests of [this.#passedOn, this.#stepped]) {
      for (const [id, request] of requests) if (!isAlive(request)) requests.delete(id);
    }
  }

  #admit(
    asker: Asker,
    credential: number,
    operation: LeaderOperation,
    bytes: Uint8Array,
    nowMs: number,
  ): void {
    const all = this.#all();
    const ofCredential = all.filter((request) => request.credential === credential);
    const ofOne = ofCredential.filter((request) => isSameAsker(request.asker, asker));
    if (
      all.length >= OPERATIONS_MAX ||
      ofCredential.length >= OPERATIONS_OF_CREDENTIAL_MAX ||
      ofOne.length >= OPERATIONS_OF_ONE_MAX
    ) {
      this.#answer(asker, ERROR_NUMBERS.BUSY, { message: "too many operations at a time" });
      return;
    }
    const deadlineMs = nowMs + this.#waitMsMax;
    this.#nextDeadlineMs = Math.min(this.#nextDeadlineMs, deadlineMs);
    const fresh = { judgedAtIndex: 0, begunBy: 0, patientUntilMs: 0 };
    this.#waiting.push({ asker, credential, operation, bytes, deadlineMs, ...fresh });
  }

  #all(): Request[] {
    const begun = [...this.#passedOn.values(), ...this.#stepped.values(), ...this.#settling];
    return [...begun, ...this.#postponed, ...this.#waiting];
  }

  #beginChange(request: Request, operation: ChangeMemberOperation, host: OperationsHost): void {
    const plan = planMembership(host.configuration, operation);
    if (plan.kind === "impossible") {
      this.#answer(request.asker, ERROR_NUMBERS.INVALID_ARGUMENT, { message: plan.message });
    } else if (plan.kind === "fulfilled") {
      this.#settling.push(request);
      this.onApplied(host);
    } else {
      const id = this.#noteStepped(request, operation, host.nodeId);
      host.step({ type: "changeMembership", id, target: plan.target });
    }
  }

  #beginTransfer(request: Request, operation: TransferOperation, host: OperationsHost): void {
    const { node } = operation;
    if (node === host.nodeId) {
      this.#answer(request.asker, STATUS.ok, null);
    } else if (node !== 0 && !host.configuration.voters.includes(node)) {
      const message = `node ${node} is not a voter and cannot lead`;
      this.#answer(request.asker, ERROR_NUMBERS.INVALID_ARGUMENT, { message });
    } else {
      const id = this.#noteStepped(request, operation, host.nodeId);
      host.step({ type: "transferLeadership", id, target: node });
    }
  }

  /** Negative, so that it differs from the numbers of proposals. */
  #noteStepped(
    request: Request,
    operation: ChangeMemberOperation | TransferOperation,
    nodeId: NodeId,
  ): number {
    const { asker, credential } = request;
    if (request.begunBy !== nodeId) {
      const address = asker.kind === "client" ? asker.attachment.connection.address : "";
      this.#onBegun(operation, credential, address);
    }
    const id = -this.#requestIds.next();
    request.begunBy = nodeId;
    this.#stepped.set(id, request);
    return id;
  }

  #forbid({ asker, operation }: Request, status: Forbidden): void {
    if (asker.kind === "client") this.#onForbidden(asker.attachment, operation, status);
    this.#answer(asker, status, null);
  }

  #answer(asker: Asker, status: typeof STATUS.ok | ErrorNumber, payload: unknown): void {
    const { id } = asker;
    if (asker.kind === "peer") {
      const text = JSON.stringify(payload);
      this.#send(asker.peer, { type: "operationReply", id, status, text });
    } else if (!asker.attachment.isClosed) {
      asker.attachment.connection.send({ kind: MESSAGE.answer, id, status, payload });
    }
  }
}

function isForbidden(status: number): status is Forbidden {
  return status === ERROR_NUMBERS.FORBIDDEN || status === ERROR_NUMBERS.UNAUTHENTICATED;
}

function isSameAsker(a: Asker, b: Asker): boolean {
  if (a.kind === "peer") return b.kind === "peer" && a.peer === b.peer;
  return b.kind === "client" && a.attachment === b.attachment;
}

/** Any change of leader fulfils a transfer, unless it names a node: then only that leader does. */
function isFulfilledBy({ operation, begunBy }: Request, leader: NodeId): boolean {
  if (operation.op !== OP.transfer || begunBy === 0 || leader === 0) return false;
  return operation.node === 0 ? leader !== begunBy : leader === operation.node;
}

/** The leader's answer, which is JSON; one that no leader gives is shown as it came. */
function payloadOf(text: string): unknown {
  try {
    const payload: unknown = JSON.parse(text);
    if (!isDeep(payload, ANSWER_DEPTH_MAX)) return payload;
  } catch {
    // Not JSON.
  }
  return { message: text };
}

/** Whether more than `depth` lists and objects are in one another. */
function isDeep(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isDeep(item, depth - 1));
}

const REFUSALS: Readonly<Record<RefusalReason, readonly [ErrorNumber, string]>> = Object.freeze({
  notLeader: [ERROR_NUMBERS.UNAVAILABLE, "the leader changed"],
  busy: [ERROR_NUMBERS.BUSY, "the cluster is overloaded"],
  transferring: [ERROR_NUMBERS.BUSY, "leadership is being handed over"],
  notReady: [ERROR_NUMBERS.BUSY, "another change of members is under way, or the leader is new"],
  notCaughtUp: [ERROR_NUMBERS.BUSY, "the node has not caught up with the log yet"],
  wouldLoseQuorum: [
    ERROR_NUMBERS.FORBIDDEN,
    "too few of the voters that would remain can be reached: the cluster would lose its majority",
  ],
  invalid: [ERROR_NUMBERS.INVALID_ARGUMENT, "no such node, or nothing that could be done"],
});
