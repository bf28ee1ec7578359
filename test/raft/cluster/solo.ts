/**
 * One core under test; the test itself plays all other nodes. Turns with a clock, and messages
 * whose unimportant fields are filled in.
 */
import {
  type AppendReply,
  type AppendRequest,
  type Boot,
  type Configuration,
  type Effects,
  type Entry,
  type Input,
  type Message,
  membersOf,
  type NodeId,
  Raft,
  type RaftConfig,
  votersOf,
} from "../../../src/raft/index.js";
import { TEST_CONFIG } from "./cluster.js";
import { members } from "./configurations.js";

/** Entries 1 … of these terms, each with one byte. */
export function log(...terms: readonly number[]): Entry[] {
  return terms.map((term, at) => entry(at + 1, term));
}

export function entry(index: number, term: number, bytes = 1): Entry {
  return { index, term, kind: "command", data: new Uint8Array(bytes).fill(term) };
}

export interface SoloOptions {
  readonly entries?: readonly Entry[];
  readonly term?: number;
  readonly vote?: NodeId;
  readonly voters?: readonly NodeId[];
  readonly learners?: readonly NodeId[];
  /** In place of `voters` and `learners`. */
  readonly configuration?: Configuration;
  readonly baseIndex?: number;
  readonly baseTerm?: number;
  /** `baseIndex` unless told otherwise. */
  readonly snapshotIndex?: number;
  /** Connected to these; to every member unless told otherwise. */
  readonly peers?: readonly NodeId[];
  readonly config?: Partial<RaftConfig>;
}

/** Node 1 of 1, 2, 3 unless told otherwise; connected to all with epoch 10 × their number. */
export class Solo {
  readonly raft: Raft;
  nowMs = 1_000;

  constructor(options: SoloOptions = {}) {
    const entries = options.entries ?? [];
    const voters = options.voters ?? [1, 2, 3];
    const configuration = options.configuration ?? members(voters, options.learners);
    const boot: Boot = {
      hardState: {
        term: options.term ?? entries.at(-1)?.term ?? 0,
        vote: options.vote ?? 0,
      },
      baseIndex: options.baseIndex ?? 0,
      baseTerm: options.baseTerm ?? 0,
      entries,
      snapshotIndex: options.snapshotIndex ?? options.baseIndex ?? 0,
      configuration,
      lastSeq: 0,
    };
    this.raft = new Raft({ ...TEST_CONFIG, id: 1, ...options.config }, boot, () => 0.5);
    this.turn();
    for (const peer of options.peers ?? membersOf(configuration)) {
      if (peer !== 1) this.turn({ type: "peerUp", peer, epoch: peer * 10 });
    }
  }

  turn(...inputs: readonly Input[]): Effects {
    this.raft.step({ type: "tick", nowMs: this.nowMs });
    for (const input of inputs) this.raft.step(input);
    return this.raft.take();
  }

  receive(...messages: readonly Message[]): Effects {
    return this.turn(...messages.map((message) => ({ type: "message", message }) as const));
  }

  persisted(seq: number): Effects {
    return this.turn({ type: "persisted", seq });
  }

  propose(id: number, bytes = 1): Effects {
    return this.turn({ type: "propose", id, data: new Uint8Array(bytes) });
  }

  after(durationMs: number, ...inputs: readonly Input[]): Effects {
    this.nowMs += durationMs;
    return this.turn(...inputs);
  }

  /** Wins an election with every vote and makes its own durable. */
  becomeLeader(): Effects {
    const voters = votersOf(this.raft.configuration).filter((id) => id !== 1);
    this.after(150);
    const term = this.raft.term + 1;
    const asked = this.receive(...voters.map((id) => ballot("preVoteReply", id, term)));
    this.persisted(asked.write?.seq ?? 0);
    const won = this.receive(...voters.map((id) => ballot("voteReply", id, term)));
    if (this.raft.role !== "leader") throw new Error(`a ${this.raft.role} after its election`);
    return won;
  }
}

export function ballot(
  type: "preVoteReply" | "voteReply",
  from: NodeId,
  term: number,
  granted = true,
): Message {
  return { type, from, to: 1, term, epoch: from * 10, granted };
}

export function accept(from: NodeId, term: number, matchIndex: number, epoch = from * 10): Message {
  return { ...REPLY, from, term, epoch, success: true, matchIndex };
}

export function reject(
  from: NodeId,
  term: number,
  rejectedIndex: number,
  hintIndex: number,
  hintTerm: number,
): Message {
  return { ...REPLY, from, term, epoch: from * 10, rejectedIndex, hintIndex, hintTerm };
}

const REPLY = {
  type: "appendReply",
  to: 1,
  success: false,
  matchIndex: 0,
  rejectedIndex: 0,
  needsSnapshot: false,
  hintIndex: 0,
  hintTerm: 0,
} as const satisfies Partial<AppendReply>;

export function append(
  from: NodeId,
  term: number,
  prevLogIndex: number,
  prevLogTerm: number,
  entries: readonly Entry[],
  commitIndex = 0,
): AppendRequest {
  return {
    type: "append",
    from,
    to: 1,
    term,
    epoch: 7,
    prevLogIndex,
    prevLogTerm,
    commitIndex,
    entries,
  };
}

export function heartbeat(from: NodeId, term: number, commitIndex = 0, round = 1): Message {
  return { type: "heartbeat", from, to: 1, term, epoch: 7, commitIndex, round };
}

export function voteRequest(
  type: "preVote" | "vote",
  from: NodeId,
  term: number,
  lastLogIndex: number,
  lastLogTerm: number,
): Message {
  return { type, from, to: 1, term, epoch: 7, lastLogIndex, lastLogTerm, isTransfer: false };
}

export function heartbeatReply(from: NodeId, term: number, round: number): Message {
  return { type: "heartbeatReply", from, to: 1, term, epoch: from * 10, round };
}

/** The messages of one kind. */
export function ofType<Type extends Message["type"]>(
  messages: readonly Message[],
  type: Type,
): Extract<Message, { type: Type }>[] {
  return messages.filter((message) => message.type === type) as Extract<Message, { type: Type }>[];
}

/** The terms of a log, first entry first. */
export function termsOf(raft: Raft): number[] {
  return raft.entries(raft.baseIndex + 1, raft.lastIndex).map(({ term }) => term);
}
