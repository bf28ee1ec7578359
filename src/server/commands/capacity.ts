/**
 * How much more this node can take, and what its leader says about its own room
 * (docs/internals/semantics.md, 2.5). When room is short, strong commands and opens are refused;
 * everything else is admitted until there is none left, and the log keeps a reserve for it. A
 * leader that is short of room says so to the other nodes, which then refuse strong commands of
 * their clients for as long as it does. It still takes what they have admitted, because a refused
 * chunk would hold up the weak commands in it.
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import type { Lack, PeerMessage } from "../../net/index.js";
import { type Command, isStrong, OP } from "../../protocol/index.js";
import type { NodeId, Raft } from "../../raft/index.js";
import type { LogStore } from "../../storage/index.js";
import type { NodeTuning } from "../options.js";
import type { Memory } from "../ports.js";
import type { KeptCommands } from "./kept-commands.js";
import type { LeadershipHandOver } from "./leadership-hand-over.js";
import type { WaitingLine } from "./waiting-line.js";

type Limit = "soft" | "hard";

/** The hard limit of bytes is this many times the soft one. */
const HARD_FACTOR = 2;
/**
 * What the clients of one identity may have of each limit: together less than the soft one, so that
 * strong commands of others are still admitted.
 */
const IDENTITY_SHARE: Readonly<Record<Limit, number>> = { soft: 1 / 2, hard: 3 / 8 };
/**
 * Below this share of a segment nothing is taken any more. A log that finds no room for its next
 * segment reports that before half of the current one is used; entries for time and elections must
 * still fit into the rest.
 */
const RESERVE_SHARE = 1 / 8;

const ERROR_OF: Readonly<Record<Lack, ErrorNumber>> = {
  busy: ERROR_NUMBERS.BUSY,
  diskFull: ERROR_NUMBERS.DISK_FULL,
};

export interface CapacityParts {
  readonly raft: Pick<Raft, "role" | "uncommittedBytes">;
  readonly line: Pick<WaitingLine, "bytes">;
  readonly kept: Pick<KeptCommands, "bytes">;
  readonly handOver: Pick<LeadershipHandOver, "isDiskFull">;
  readonly log: Pick<LogStore, "freeBytes">;
  readonly memory: Memory;
  readonly clock: { nowMs(): number };
  readonly send: (peer: NodeId, message: PeerMessage) => void;
}

export class Capacity {
  readonly #parts: CapacityParts;
  readonly #bytesMax: Readonly<Record<Limit, number>>;
  readonly #reserveBytes: number;
  readonly #tellAgainMs: number;
  readonly #believeMs: number;
  /** What this leader last said to the other nodes, and when it says it again. */
  #told: Lack | undefined;
  #tellAtMs = 0;
  /** What the current leader said, and until when that holds. */
  #heard: Lack | undefined;
  #heardUntilMs = 0;

  constructor(parts: CapacityParts, tuning: NodeTuning) {
    this.#parts = parts;
    const { uncommittedBytesMax: soft } = tuning;
    this.#bytesMax = { soft, hard: HARD_FACTOR * soft };
    this.#reserveBytes = tuning.segmentBytes * RESERVE_SHARE;
    this.#tellAgainMs = tuning.heartbeatIntervalMs;
    this.#believeMs = tuning.electionTimeoutMs;
  }

  /**
   * Why a command that a client just sent is not admitted; `undefined`: it is admitted.
   *
   * @param keptOfIdentity bytes that are kept for its identity; 0 if that has no limits
   */
  refusalOf(command: Command, bytes: number, keptOfIdentity: number): ErrorNumber | undefined {
    let lack = this.#lack("hard", bytes, keptOfIdentity);
    if (isStrong(command) || command.op === OP.open) {
      lack ??= this.#lack("soft", bytes, keptOfIdentity) ?? this.#lackElsewhere();
    }
    return lack === undefined ? undefined : ERROR_OF[lack];
  }

  /** Why this node, as leader, takes nothing more from other nodes. */
  get leaderRefusal(): Lack | undefined {
    return this.#leaderLack("hard");
  }

  /** Called on a leader once a turn. */
  tell(peers: readonly NodeId[], nowMs: number): void {
    const lack = this.#leaderLack("soft");
    if (lack === this.#told && (lack === undefined || nowMs < this.#tellAtMs)) return;
    this.#told = lack;
    this.#tellAtMs = nowMs + this.#tellAgainMs;
    for (const peer of peers) this.#parts.send(peer, { type: "pressure", lack: lack ?? "none" });
  }

  /** The leader reported what it lacks. */
  onPressure(lack: Lack | "none", nowMs: number): void {
    this.#heard = lack === "none" ? undefined : lack;
    this.#heardUntilMs = nowMs + this.#believeMs;
  }

  /** Leader or term changed. */
  restart(): void {
    this.#told = undefined;
    this.#heard = undefined;
  }

  #lack(limit: Limit, bytes: number, keptOfIdentity: number): Lack | undefined {
    const bytesMax = this.#bytesMax[limit];
    if (this.#parts.kept.bytes + bytes > bytesMax) return "busy";
    if (keptOfIdentity > 0 && keptOfIdentity + bytes > IDENTITY_SHARE[limit] * bytesMax) {
      return "busy";
    }
    return this.#leaderLack(limit);
  }

  /** What keeps strong commands out although this node has room. */
  #lackElsewhere(): Lack | undefined {
    const { memory, clock } = this.#parts;
    if (this.#heard !== undefined && clock.nowMs() < this.#heardUntilMs) return this.#heard;
    return memory.isScarce ? "busy" : undefined;
  }

  #leaderLack(limit: Limit): Lack | undefined {
    const { raft, line, handOver, log } = this.#parts;
    if (raft.role !== "leader") return undefined;
    const hasReserve = limit === "hard" && log.freeBytes >= this.#reserveBytes;
    if (handOver.isDiskFull && !hasReserve) return "diskFull";
    return line.bytes + raft.uncommittedBytes > this.#bytesMax[limit] ? "busy" : undefined;
  }
}
