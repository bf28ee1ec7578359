/**
 * The requests and answers of the drivers of other nodes: forwarded commands, read barriers,
 * operators' requests, snapshots. Only the leader of the term that a request names takes it; no
 * node relays it.
 */
import type { TableCommand } from "../../lockfsm/index.js";
import type { PeerMessage } from "../../net/index.js";
import { countRecords, decodeCommands, selectRecords } from "../../protocol/index.js";
import { decodeConfiguration, type NodeId } from "../../raft/index.js";
import type { Capacity } from "../commands/capacity.js";
import type { Forwarding, ForwardRefusal } from "../commands/forwarding.js";
import { ForwardedChunk, type WaitingLine } from "../commands/waiting-line.js";
import type { Limits } from "../limits/limits.js";
import type { Operations } from "../members/operations.js";
import type { NodeLogger } from "../ports.js";
import type { Reads } from "../reads/reads.js";
import type { SnapshotTurn } from "../snapshots/ports.js";
import type { VitalsRelay } from "../vitals/vitals-relay.js";
import type { LeaderView } from "./leader-view.js";
import type { Members } from "./members.js";
import type { PeerInput } from "./peer-side.js";

/** What is needed from the loop itself. */
export interface PeerRequestsHost {
  onCommitInterest(peer: NodeId, isInterested: boolean): void;
}

export interface PeerRequestsParts {
  readonly leaderView: LeaderView;
  readonly line: WaitingLine;
  readonly capacity: Capacity;
  readonly forwarding: Forwarding;
  readonly reads: Reads;
  readonly operations: Operations;
  readonly members: Members;
  readonly limits: Pick<Limits, "runsOf">;
  readonly relay: Pick<VitalsRelay, "onQuestion" | "onReply">;
  readonly logger: NodeLogger;
  readonly send: (peer: NodeId, message: PeerMessage) => void;
}

export class PeerRequests {
  readonly #parts: PeerRequestsParts;
  readonly #host: PeerRequestsHost;

  constructor(parts: PeerRequestsParts, host: PeerRequestsHost) {
    this.#parts = parts;
    this.#host = host;
  }

  /** Once a turn, after the core has seen the messages of the turn. */
  read(inputs: readonly PeerInput[], nowMs: number, snapshots: SnapshotTurn): void {
    const { leaderView, capacity, forwarding, reads, operations, members, send } = this.#parts;
    const { relay } = this.#parts;
    for (const { peer, message } of inputs) {
      if (members.isGone(peer)) continue;
      switch (message.type) {
        case "forward":
          this.#takeForward(peer, message, nowMs);
          break;
        case "forwardRefused":
          forwarding.refused(message.id, message.reason, nowMs);
          break;
        case "pressure":
          if (peer === leaderView.leader) capacity.onPressure(message.lack, nowMs);
          break;
        case "readBarrier":
          if (this.#leads(message.term)) reads.addRemote(peer, message.id);
          else send(peer, { type: "readIndex", id: message.id, index: 0 });
          break;
        case "commitInterest":
          this.#host.onCommitInterest(peer, message.isInterested);
          break;
        case "readIndex":
          // A refusal: the leader changes, or the question is asked again after a while.
          if (message.index > 0) reads.onIndex(message.id, message.index);
          break;
        case "members":
          members.onHint(peer, message.index, decodeConfiguration(message.configuration));
          break;
        case "operation":
          operations.addRemote(peer, message, this.#leads(message.term), nowMs);
          break;
        case "operationReply":
          operations.onReply(message);
          break;
        case "vitals":
          relay.onQuestion(peer, message);
          break;
        case "vitalsReply":
          relay.onReply(peer, message);
          break;
        case "snapshotOffer":
        case "snapshotChunk":
        case "snapshotProgress":
        case "snapshotRefused":
          snapshots.read(peer, message);
          break;
      }
    }
  }

  refuse(chunk: ForwardedChunk, reason: ForwardRefusal): void {
    this.#parts.send(chunk.from, { type: "forwardRefused", id: chunk.id, reason });
  }

  #takeForward(peer: NodeId, message: PeerMessage & { type: "forward" }, nowMs: number): void {
    const { id, term, records } = message;
    if (countRecords(records, 0) < 0) {
      this.#parts.logger("error", "forwarded records are cut", { peer, bytes: records.length });
      return;
    }
    const refusal = this.#leads(term) ? this.#parts.capacity.leaderRefusal : "notLeader";
    const isTaken = refusal === undefined;
    const chunk = isTaken
      ? this.#readable(peer, id, records)
      : new ForwardedChunk(peer, id, records, []);
    if (isTaken) this.#parts.line.push(chunk, nowMs);
    else this.refuse(chunk, refusal);
  }

  /** Keeps out of the log every command that a gateway would not have taken. */
  #readable(peer: NodeId, id: number, records: Uint8Array): ForwardedChunk {
    const commands = decodeCommands(records, 0);
    const runs = this.#parts.limits.runsOf(commands);
    if (commands.every(isReadable)) return new ForwardedChunk(peer, id, records, commands, runs);
    const readable = commands.filter(isReadable);
    const unreadable = commands.length - readable.length;
    this.#parts.logger("error", "forwarded records are not commands", { peer, unreadable });
    const kept = selectRecords(records, (number) => commands[number]?.command !== undefined);
    return new ForwardedChunk(peer, id, kept, readable, runs);
  }

  #leads(term: number): boolean {
    return this.#parts.leaderView.isLeading && this.#parts.leaderView.term === term;
  }
}

function isReadable({ command }: TableCommand): boolean {
  return command !== undefined;
}
