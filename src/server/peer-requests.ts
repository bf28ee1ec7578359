/**
 * What the drivers of other nodes ask of this one and answer to it: forwarded commands, barriers for
 * reads, and their refusals. Only the leader of the very term that is named takes anything; nobody
 * relays.
 */
import type { PeerMessage } from "../net/index.js";
import { areWholeRecords } from "../protocol/index.js";
import type { NodeId } from "../raft/index.js";
import { decodeCommands } from "./decode-commands.js";
import type { Forwarding } from "./forwarding.js";
import type { PeerInput } from "./peer-side.js";
import type { Logger } from "./ports.js";
import type { Reads } from "./reads.js";
import type { Regime } from "./regime.js";
import { ForwardedChunk, type WaitingLine } from "./waiting-line.js";

/** What is asked of the loop itself. */
export interface PeerRequestsHost {
  /** Whether this node leads and has no room for more. */
  readonly isOverloaded: boolean;
  onCommitInterest(peer: NodeId, isInterested: boolean): void;
}

export interface PeerRequestsRooms {
  readonly regime: Regime;
  readonly line: WaitingLine;
  readonly forwarding: Forwarding;
  readonly reads: Reads;
  readonly logger: Logger;
  readonly send: (peer: NodeId, message: PeerMessage) => void;
}

export class PeerRequests {
  readonly #rooms: PeerRequestsRooms;
  readonly #host: PeerRequestsHost;

  constructor(rooms: PeerRequestsRooms, host: PeerRequestsHost) {
    this.#rooms = rooms;
    this.#host = host;
  }

  /** Once a turn, when the core has seen the messages of the turn. */
  read(inputs: readonly PeerInput[], nowMs: number): void {
    const { forwarding, reads, send } = this.#rooms;
    for (const { peer, message } of inputs) {
      switch (message.type) {
        case "forward":
          this.#takeForward(peer, message, nowMs);
          break;
        case "forwardRefused":
          forwarding.refused(message.id, message.reason, nowMs);
          break;
        case "readBarrier":
          if (this.#leads(message.term)) reads.addRemote(peer, message.id);
          else send(peer, { type: "readIndex", id: message.id, index: 0 });
          break;
        case "commitInterest":
          this.#host.onCommitInterest(peer, message.isInterested);
          break;
        case "readIndex":
          reads.onReadIndex(message.id, message.index);
          break;
      }
    }
  }

  refuse(chunk: ForwardedChunk, reason: "notLeader" | "busy"): void {
    this.#rooms.send(chunk.from, { type: "forwardRefused", id: chunk.id, reason });
  }

  #takeForward(peer: NodeId, message: PeerMessage & { type: "forward" }, nowMs: number): void {
    const { id, term, records } = message;
    if (!areWholeRecords(records)) {
      this.#rooms.logger("error", "forwarded records are cut", { peer, bytes: records.length });
      return;
    }
    const isOurs = this.#leads(term);
    const isTaken = isOurs && !this.#host.isOverloaded;
    const chunk = new ForwardedChunk(peer, id, records, isTaken ? decodeCommands(records, 0) : []);
    if (isTaken) this.#rooms.line.push(chunk, nowMs);
    else this.refuse(chunk, isOurs ? "busy" : "notLeader");
  }

  #leads(term: number): boolean {
    return this.#rooms.regime.isLeading && this.#rooms.regime.term === term;
  }
}
